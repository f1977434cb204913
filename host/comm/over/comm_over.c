/* comm_over.c : opens and leaves a job over the caller's transport. */
#include "comm/over/comm_over.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/over/comm_over_inside.h"
#include <stdlib.h>

static void fail(struct comm *c, int code)
{
    int none = 0;
    atomic_compare_exchange_strong(&comm_over(c)->asked, &none, code);
}

static int failed(const struct comm *c)
{
    const struct comm_over *o = (const struct comm_over *)c;
    const int code = atomic_load(&o->failed);
    return code ? code : atomic_load(&o->asked);
}

static void give_back(struct comm_over *o)
{
    comm_fini(&o->comm);
    free(o->messages);
    free(o->peers);
    free(o->heard);
    free(o->all);
    free(o);
}

static void leave(struct comm *c)
{
    over_notes_end(comm_over(c));
    give_back(comm_over(c));
}

static const struct comm_ops ops = {
    .make_room = over_make_room,
    .clear = over_clear,
    .send = over_send,
    .recv = over_recv,
    .done = over_done,
    .wait = over_wait,
    .some = over_some,
    .barrier = over_barrier,
    .bcast = comm_message_bcast,
    .reduce = over_reduce,
    .poll = over_poll,
    .abandon = over_abandon,
    .abandoned = over_abandoned,
    .forget = over_forget,
    .missing = over_missing,
    .fail = fail,
    .failed = failed,
    .leave = leave,
    .end = comm_exit,
};

static int check(const struct nc_transport *t, double deadline_s)
{
    if (!t)
        return ERR(-EINVAL, "cannot open a job over a transport: it is NULL");
    if (t->size < sizeof *t || t->size > 64 * sizeof *t || t->size % sizeof(void *))
        return ERR(-EINVAL, "cannot use a transport without a size: set its first field to "
                            "sizeof(struct nc_transport)");
    for (size_t i = sizeof *t; i < t->size; i++)
        if (((const char *)t)[i])
            return ERR(-EINVAL, "cannot use a transport of a later version than %s", NC_VERSION);
    for (size_t i = 0; i < sizeof t->reserved / sizeof *t->reserved; i++)
        if (t->reserved[i])
            return ERR(-EINVAL, "cannot use a transport whose reserved fields are not NULL");
    if (!t->isend || !t->irecv || !t->cancel)
        return ERR(-EINVAL, "cannot use a transport without isend, irecv and cancel");
    if (t->n_ranks < 1 || t->rank < 0 || t->rank >= t->n_ranks)
        return ERR(-EINVAL, "cannot use a transport of rank %d of %d: need 0 to n_ranks - 1",
                   t->rank, t->n_ranks);
    if (t->message_bytes > COMM_CHUNK_BYTES)
        return ERR(-EINVAL, "cannot use a transport with messages of %zu bytes: need at most %d",
                   t->message_bytes, COMM_CHUNK_BYTES);
    if (!(deadline_s > 0))
        return ERR(-EINVAL, "cannot use a deadline of %g s: need more than 0", deadline_s);
    return 0;
}

int comm_over_open(const struct nc_transport *t, double deadline_s, struct comm **out)
{
    TRY(check(t, deadline_s));
    const size_t n = (size_t)t->n_ranks;
    struct comm_over *o = buf_alloc(sizeof *o);
    if (!o)
        return -ENOMEM;
    o->t = *t;
    o->comm.ops = &ops;
    o->comm.threads = t->threads != 0;
    o->comm.message_bytes = t->message_bytes;
    o->comm.rank = t->rank;
    o->comm.n_ranks = t->n_ranks;
    o->comm.deadline_s = deadline_s;
    o->peers = buf_alloc(n * sizeof *o->peers);
    o->heard = buf_alloc(n * sizeof *o->heard);
    o->all = buf_alloc(n * COMM_BLOCK);
    int rc = o->peers && o->heard && o->all ? comm_init(&o->comm) : -ENOMEM;
    if (rc == 0)
        rc = over_notes_begin(o);
    if (rc < 0) {
        give_back(o);
        return rc;
    }
    rc = comm_check_version(&o->comm);
    if (rc < 0)
        comm_leave(&o->comm);
    else
        *out = &o->comm;
    return rc;
}
