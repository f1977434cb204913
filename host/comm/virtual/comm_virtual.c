/* comm_virtual.c : opens, runs and closes a job whose ranks are fibers of one thread. */
#include "comm/virtual/comm_virtual.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/virtual/comm_virtual_inside.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 512 << 10 };

static void clear(struct comm *c, size_t at, size_t n)
{
    (void)c, (void)at, (void)n; /* places without a message are empty */
}

static int nodes(struct comm *c, int *rank, int32_t *lowest)
{
    *rank = virtual_rank(c)->job->on_node;
    for (int r = 0; r < c->n_ranks && lowest; r++)
        lowest[r] = 0;
    return virtual_barrier(c);
}

static bool poll(struct comm *c)
{
    virtual_yield(virtual_rank(c));
    return false;
}

/* A rank one vote ahead may abandon the card path of a step that others have not reached. */
static int abandon(struct comm *c)
{
    struct virtual_rank *r = virtual_rank(c);
    r->abandoned_in = r->n_votes + 1;
    return r->job->below ? virtual_far_abandon(r->job, r->abandoned_in) : 0;
}

static bool abandoned(struct comm *c)
{
    const struct virtual_rank *me = virtual_rank(c);
    for (int i = 0; i < me->job->n_here; i++)
        if (&me->job->ranks[i] != me && me->job->ranks[i].abandoned_in == me->n_votes + 1)
            return true;
    if (me->job->below && comm_abandoned(me->job->below))
        return true;
    return me->job->broken; /* after a failure of the run it need not wait */
}

static int forget(struct comm *c, const uint64_t *abandoned)
{
    struct virtual_rank *r = virtual_rank(c);
    r->n_votes++;
    if (!r->job->below)
        return 0;
    const int rc = virtual_far_forget(r->job, r->n_votes, abandoned);
    if (rc < 0)
        return virtual_fail(r->job, rc);
    virtual_end_far(r->job);
    return 0;
}

static int missing(struct comm *c)
{
    char text[VIRTUAL_WHY_BYTES];
    struct comm_virtual *v = virtual_rank(c)->job;
    if (v->caller) {
        const int rc = comm_missing(v->caller);
        return virtual_fail(v, rc < 0 ? rc : -ETIMEDOUT);
    }
    virtual_why(v, text);
    err_release(false);
    comm_abort(c,
               ERR(-ETIMEDOUT, "rank %d of %d has waited too long: %s", c->rank, c->n_ranks, text));
}

static int lowest_here(const struct comm *c, int rank)
{
    const struct comm_virtual *v = ((const struct virtual_rank *)c)->job;
    return v->below ? virtual_lowest_of(v, virtual_process_of(v, rank)) : 0;
}

static int failed(const struct comm *c)
{
    const struct comm *caller = ((const struct virtual_rank *)c)->job->caller;
    return caller ? comm_failed(caller) : 0;
}

static void __attribute__((noreturn)) end(struct comm *c, int code)
{
    struct comm *caller = virtual_rank(c)->job->caller;
    if (caller)
        comm_abort(caller, code);
    comm_exit(c, code);
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
    .failed = failed,
    .lowest_here = lowest_here,
    .end = end,
};

static int open_rank(struct comm_virtual *v, int index)
{
    struct virtual_rank *r = &v->ranks[index];
    r->job = v;
    r->comm.ops = &ops;
    r->comm.rank = v->lowest + index;
    r->comm.n_ranks = v->n_ranks;
    r->comm.deadline_s = HUGE_VAL;
    r->comm.message_bytes = v->below ? v->below->message_bytes : 0;
    if (v->caller)
        r->comm.near = v->lowest, r->comm.n_near = v->n_here;
    TRY(comm_init(&r->comm));
    return fiber_init(&r->fiber, STACK_BYTES, virtual_live, r);
}

static void place(struct comm_virtual *v, int n_ranks, struct comm *below)
{
    v->n_ranks = v->n_here = n_ranks;
    v->caller = below;
    if (!below || below->n_ranks == 1)
        return;
    v->below = below;
    v->lowest = virtual_lowest_of(v, below->rank);
    v->n_here = virtual_lowest_of(v, below->rank + 1) - v->lowest;
}

int comm_virtual_open(int n_ranks, struct comm *below, struct comm_virtual **out)
{
    const int least = below ? below->n_ranks : 1;
    if (n_ranks < 1)
        return ERR(-EINVAL, "cannot open a job of %d virtual ranks: need at least 1", n_ranks);
    if (n_ranks < least)
        return ERR(-EINVAL,
                   "cannot open a job of %d virtual ranks in %d processes: need at least %d",
                   n_ranks, least, least);
    struct comm_virtual *v = buf_alloc(sizeof *v);
    if (!v)
        return -ENOMEM;
    place(v, n_ranks, below);
    const size_t n = (size_t)v->n_here;
    v->ranks = buf_alloc(n * sizeof *v->ranks);
    v->turns = buf_alloc(n * sizeof *v->turns);
    v->queues = calloc(COMM_TAGS * n * n, sizeof *v->queues); /* only touched pages take memory */
    int rc = v->ranks && v->turns && v->queues
                 ? 0
                 : ERR(-ENOMEM, "cannot open a job of %d virtual ranks: out of memory", n_ranks);
    for (int i = 0; i < v->n_here && rc == 0; i++)
        rc = open_rank(v, i);
    if (v->below)
        rc = virtual_far_open(v, rc);
    if (rc < 0)
        comm_virtual_close(v);
    else
        *out = v;
    return rc;
}

void comm_virtual_close(struct comm_virtual *v)
{
    if (v)
        virtual_far_drop(v);
    for (int r = 0; v && v->ranks && r < v->n_here; r++) {
        fiber_fini(&v->ranks[r].fiber);
        comm_fini(&v->ranks[r].comm);
        free(v->ranks[r].messages);
    }
    if (v)
        free(v->ranks), free(v->turns), free(v->queues), free(v->streams), free(v->parts);
    free(v);
}

struct comm *comm_virtual_rank(struct comm_virtual *v, int rank)
{
    return &v->ranks[virtual_index(v, rank)].comm;
}

int comm_virtual_n_here(const struct comm_virtual *v)
{
    return v->n_here;
}
int comm_virtual_lowest(const struct comm_virtual *v)
{
    return v->lowest;
}

static void mend(struct comm_virtual *v)
{
    const size_t n = (size_t)v->n_here;
    for (int i = 0; i < v->n_here; i++) {
        struct virtual_rank *r = &v->ranks[i];
        memset(r->messages, 0, r->comm.room * sizeof *r->messages);
        r->lines = (struct err_lines){.held = false};
        r->comm.n_req = r->n_under_way = r->n_news = 0;
        r->comm.abandoned = false;
        r->n_votes = r->abandoned_in = 0;
    }
    memset(v->queues, 0, COMM_TAGS * n * n * sizeof *v->queues);
    virtual_far_drop(v);
    v->n_called = v->broken = 0;
}

static void join_lines(struct comm_virtual *v, const struct err_lines *outside)
{
    for (int i = 0; i < v->n_here && outside; i++) {
        v->ranks[i].lines.to = outside->to;
        v->ranks[i].lines.arg = outside->arg;
        v->ranks[i].lines.first[0] = 0;
    }
}

static void hand_error(struct comm_virtual *v, struct err_lines *outside)
{
    for (int i = 0; i < v->n_here && outside; i++)
        if (!outside->first[0])
            memcpy(outside->first, v->ranks[i].lines.first, sizeof outside->first);
}

int comm_virtual_run(struct comm_virtual *v, int (*body)(struct comm *c, void *ctx), void *ctx)
{
    assert(v->n_live == 0);
    v->body = body;
    v->ctx = ctx;
    v->n_live = v->n_here;
    for (int r = 1; r < v->n_here; r++)
        virtual_wake(&v->ranks[r]);
    v->ranks[0].waits = VIRTUAL_NOTHING;
    if (v->below)
        v->below->n_req = v->n_places;
    v->outside_lines = err_turn(&v->ranks[0].lines);
    join_lines(v, v->outside_lines);
    fiber_switch(&v->outside, &v->ranks[0].fiber);
    if (v->below)
        v->below->n_req = 0;
    hand_error(v, v->outside_lines);
    int rc = v->broken;
    for (int r = v->n_here - 1; r >= 0; r--)
        if (v->ranks[r].rc < 0 && v->ranks[r].rc != v->broken)
            rc = v->ranks[r].rc;
    if (v->broken)
        mend(v);
    return rc;
}
