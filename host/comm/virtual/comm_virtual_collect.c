/* comm_virtual_collect.c : collectives of fibers: the last rank that comes does the work of all, in
 * their memory. */
#include "base/err.h"
#include "comm/virtual/comm_virtual_inside.h"
#include <stdio.h>
#include <string.h>

static void tell(struct comm_virtual *v, int root, size_t bytes)
{
    for (int r = 0; r < v->n_ranks; r++)
        if (r != root && bytes > 0)
            memcpy(v->ranks[r].call.x, v->ranks[root].call.x, bytes);
}

/* What each rank handed in, where the last one has room for it. */
static void work_once(struct comm_virtual *v, struct virtual_rank *last)
{
    void **all = last->comm.book;
    for (int r = 0; r < v->n_ranks; r++)
        all[r] = v->ranks[r].call.x;
    last->call.work(all, v->n_ranks);
}

/* All have come, this one last. */
static void perform(struct comm_virtual *v, struct virtual_rank *last)
{
    const struct virtual_call *call = &last->call;
    switch (call->kind) {
    case VIRTUAL_BARRIER:
        break;
    case VIRTUAL_BCAST:
        tell(v, call->how, call->n);
        break;
    case VIRTUAL_REDUCE:
        for (int r = 1; r < v->n_ranks; r++)
            comm_combine((enum comm_reduce)call->how, call->n, v->ranks[0].call.x,
                         v->ranks[r].call.x);
        tell(v, 0, call->n * comm_reduce_bytes((enum comm_reduce)call->how));
        break;
    case VIRTUAL_ONCE:
        work_once(v, last);
    }
    v->n_called = 0;
    for (int r = 0; r < v->n_ranks; r++)
        if (v->ranks[r].waits == VIRTUAL_OTHERS)
            virtual_wake(&v->ranks[r]);
}

/* Is it the collective that another rank is in? */
static int check_alike(const struct virtual_rank *r)
{
    char text[160];
    const struct virtual_rank *other = r->job->ranks;
    while (other->waits != VIRTUAL_OTHERS)
        other++;
    const struct virtual_call *a = &other->call, *b = &r->call;
    if (a->kind == b->kind && a->how == b->how && a->n == b->n)
        return 0;
    snprintf(text, sizeof text,
             "ranks are in different collectives: rank %d to %s (%zu, %d), rank %d to %s (%zu, %d)",
             other->comm.rank, a->what, a->n, a->how, r->comm.rank, b->what, b->n, b->how);
    return virtual_break(r->job, -EPROTO, text);
}

/* Messages that are under way are waited for, too. */
static int collect(struct comm *c, struct virtual_call call)
{
    struct virtual_rank *r = virtual_rank(c);
    struct comm_virtual *v = r->job;
    if (v->broken)
        return v->broken;
    r->call = call;
    if (v->n_called > 0)
        TRY(check_alike(r));
    if (++v->n_called < v->n_ranks)
        TRY(virtual_block(r, VIRTUAL_OTHERS));
    else
        perform(v, r);
    return virtual_wait_all(c);
}

int virtual_barrier(struct comm *c)
{
    return collect(c, (struct virtual_call){.what = "meet them", .kind = VIRTUAL_BARRIER});
}

int virtual_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    return collect(
        c, (struct virtual_call){
               .what = "broadcast", .kind = VIRTUAL_BCAST, .how = root, .n = bytes, .x = buf});
}

int virtual_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    return collect(c, (struct virtual_call){
                          .what = what, .kind = VIRTUAL_REDUCE, .how = (int)how, .n = n, .x = x});
}

int comm_virtual_once(struct comm *c, void *mine, void (*work)(void *const *all, int n_ranks))
{
    return collect(c,
                   (struct virtual_call){
                       .what = "work once for all", .kind = VIRTUAL_ONCE, .x = mine, .work = work});
}
