/* comm_virtual_turn.c : whose turn it is: a rank that waits hands over to the next one that need not;
 * when there is none, nobody will ever go on. */
#include "comm/virtual/comm_virtual_inside.h"
#include <stdio.h>

static void queue_up(struct virtual_rank *r)
{
    struct comm_virtual *v = r->job;
    v->turns[(v->first + v->n_turns++) % v->n_ranks] = r->comm.rank;
}

void virtual_wake(struct virtual_rank *r)
{
    r->waits = VIRTUAL_NOTHING;
    queue_up(r);
}

/* Not among what a rank holds, which may never be said. */
int virtual_break(struct comm_virtual *v, int code, const char *text)
{
    struct err_lines *held = err_turn(v->outside_lines);
    v->broken = ERR(code, "%s", text);
    err_turn(held);
    for (int r = 0; r < v->n_ranks; r++)
        if (v->ranks[r].waits != VIRTUAL_NOTHING && v->ranks[r].waits != VIRTUAL_RUN)
            virtual_wake(&v->ranks[r]);
    return code;
}

/* The next rank's turn. The caller goes on when its own comes again. */
static void hand_over(struct virtual_rank *r)
{
    struct comm_virtual *v = r->job;
    char text[VIRTUAL_WHY_BYTES];
    if (v->n_turns == 0 && v->n_live > 0) {
        virtual_why(v, text);
        virtual_break(v, -EDEADLK, text);
    }
    if (v->n_live == 0) {
        err_turn(v->outside_lines);
        fiber_switch(&r->fiber, &v->outside);
        return;
    }
    struct virtual_rank *next = &v->ranks[v->turns[v->first]];
    v->first = (v->first + 1) % v->n_ranks;
    v->n_turns--;
    if (next == r)
        return;
    err_turn(&next->lines);
    fiber_switch(&r->fiber, &next->fiber);
}

int virtual_block(struct virtual_rank *r, enum virtual_wait until)
{
    r->waits = until;
    hand_over(r);
    return r->job->broken;
}

void virtual_yield(struct virtual_rank *r)
{
    queue_up(r);
    hand_over(r);
}

/* Buffers of messages that are under way would be gone. */
static void check_left(struct virtual_rank *r)
{
    char text[96];
    if (r->n_under_way == 0 || r->job->broken)
        return;
    snprintf(text, sizeof text, "rank %d ends while %zu of its messages are under way",
             r->comm.rank, r->n_under_way);
    virtual_break(r->job, -EIO, text);
}

void virtual_live(void *arg)
{
    struct virtual_rank *r = arg;
    for (;;) {
        r->rc = r->job->body(&r->comm, r->job->ctx);
        check_left(r);
        r->waits = VIRTUAL_RUN;
        r->job->n_live--;
        hand_over(r);
    }
}
