/* comm_virtual.c : Opens, runs and closes a job whose ranks are fibers of one thread. */
#include "comm/virtual/comm_virtual.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/virtual/comm_virtual_inside.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 512 << 10 };

static void clear(struct comm *c, size_t n)
{
    (void)c, (void)n; /* places without a message are empty */
}

static int nodes(struct comm *c, int *rank, int32_t *lowest)
{
    *rank = c->rank;
    for (int r = 0; r < c->n_ranks && lowest; r++)
        lowest[r] = 0;
    return virtual_barrier(c);
}

static bool poll(struct comm *c)
{
    virtual_yield(virtual_rank(c));
    return false;
}

/* A rank may be a vote ahead of another, and abandon the card path of a step that the other has not
 * reached. The number of the vote is therefore stored. */
static int abandon(struct comm *c)
{
    virtual_rank(c)->abandoned_in = virtual_rank(c)->n_votes + 1;
    return 0;
}

static bool abandoned(struct comm *c)
{
    const struct virtual_rank *me = virtual_rank(c);
    for (int r = 0; r < c->n_ranks; r++)
        if (r != c->rank && me->job->ranks[r].abandoned_in == me->n_votes + 1)
            return true;
    return me->job->broken; /* after a failure of the run it need not wait */
}

static int forget(struct comm *c, const uint64_t *abandoned)
{
    (void)abandoned;
    virtual_rank(c)->n_votes++;
    return 0;
}

static int missing(struct comm *c)
{
    char text[VIRTUAL_WHY_BYTES];
    virtual_why(virtual_rank(c)->job, text);
    err_release(false);
    comm_exit(c,
              ERR(-ETIMEDOUT, "rank %d of %d has waited too long: %s", c->rank, c->n_ranks, text));
}

static const struct comm_ops ops = {
    .is_virtual = true,
    .make_room = virtual_make_room,
    .clear = clear,
    .send = virtual_send,
    .recv = virtual_recv,
    .done = virtual_done,
    .wait = virtual_wait_all,
    .some = virtual_some,
    .barrier = virtual_barrier,
    .bcast = virtual_bcast,
    .reduce = virtual_reduce,
    .nodes = nodes,
    .poll = poll,
    .abandon = abandon,
    .abandoned = abandoned,
    .forget = forget,
    .missing = missing,
    .end = comm_exit,
};

static int open_rank(struct comm_virtual *v, int rank)
{
    struct virtual_rank *r = &v->ranks[rank];
    r->job = v;
    r->comm.ops = &ops;
    r->comm.rank = rank;
    r->comm.n_ranks = v->n_ranks;
    r->comm.deadline_s = HUGE_VAL;
    TRY(comm_init(&r->comm));
    return fiber_init(&r->fiber, STACK_BYTES, virtual_live, r);
}

int comm_virtual_open(int n_ranks, struct comm_virtual **out)
{
    if (n_ranks < 1)
        return ERR(-EINVAL, "cannot open a job of %d virtual ranks: need at least 1", n_ranks);
    const size_t n = (size_t)n_ranks;
    struct comm_virtual *v = buf_alloc(sizeof *v);
    if (!v)
        return -ENOMEM;
    v->n_ranks = n_ranks;
    v->ranks = buf_alloc(n * sizeof *v->ranks);
    v->turns = buf_alloc(n * sizeof *v->turns);
    v->queues = calloc(COMM_TAGS * n * n, sizeof *v->queues); /* only touched pages take memory */
    int rc = v->ranks && v->turns && v->queues
                 ? 0
                 : ERR(-ENOMEM, "cannot open a job of %d virtual ranks: out of memory", n_ranks);
    for (int r = 0; r < n_ranks && rc == 0; r++)
        rc = open_rank(v, r);
    if (rc < 0)
        comm_virtual_close(v);
    else
        *out = v;
    return rc;
}

void comm_virtual_close(struct comm_virtual *v)
{
    for (int r = 0; v && v->ranks && r < v->n_ranks; r++) {
        fiber_fini(&v->ranks[r].fiber);
        comm_fini(&v->ranks[r].comm);
        free(v->ranks[r].messages);
    }
    if (v)
        free(v->ranks), free(v->turns), free(v->queues);
    free(v);
}

struct comm *comm_virtual_rank(struct comm_virtual *v, int rank)
{
    return &v->ranks[rank].comm;
}

/* Clears messages in flight, held lines and abandoned card paths after a broken run. */
static void mend(struct comm_virtual *v)
{
    const size_t n = (size_t)v->n_ranks;
    for (int i = 0; i < v->n_ranks; i++) {
        struct virtual_rank *r = &v->ranks[i];
        memset(r->messages, 0, r->comm.room * sizeof *r->messages);
        r->lines = (struct err_lines){.held = false};
        r->comm.n_req = r->n_under_way = r->n_news = 0;
        r->comm.abandoned = false;
        r->n_votes = r->abandoned_in = 0;
    }
    memset(v->queues, 0, COMM_TAGS * n * n * sizeof *v->queues);
    v->n_called = v->broken = 0;
}

int comm_virtual_run(struct comm_virtual *v, int (*body)(struct comm *c, void *ctx), void *ctx)
{
    assert(v->n_live == 0); /* must not be called from within a run */
    v->body = body;
    v->ctx = ctx;
    v->n_live = v->n_ranks;
    for (int r = 1; r < v->n_ranks; r++)
        virtual_wake(&v->ranks[r]);
    v->ranks[0].waits = VIRTUAL_NOTHING;
    v->outside_lines = err_turn(&v->ranks[0].lines);
    fiber_switch(&v->outside, &v->ranks[0].fiber);
    int rc = v->broken;
    for (int r = v->n_ranks - 1; r >= 0; r--)
        if (v->ranks[r].rc < 0 && v->ranks[r].rc != v->broken)
            rc = v->ranks[r].rc;
    if (v->broken)
        mend(v);
    return rc;
}
