/* offload_way.c : Implements struct way_ops with cards. */
#include "base/clock.h"
#include "base/err.h"
#include "offload/offload_inside.h"

static const double reach_s = 0.2;

/* Reopens the path if a card that was out is back. */
static int regain(struct offload *o)
{
    const bool first = comm_rank(o->comm) == 0;
    int8_t n_back = first ? (int8_t)offload_reach(o, reach_s) : 0;
    if (o->open) {
        TRY(comm_bcast(o->comm, &n_back, sizeof n_back, 0));
        if (!n_back)
            return 1;
        offload_leave(o);
    }
    const int rc = offload_join(o);
    if (rc >= 0 && first)
        offload_say_state(o);
    return rc;
}

static int way_begin(void *way)
{
    struct offload *o = way;
    o->gave_up = false;
    o->gave_up_why[0] = 0;
    return o->open && o->n_members == o->n_cards ? 1 : regain(o);
}

/* Drives the window. If this rank has its own reason to abandon the step, tells the others. */
static int drive(struct offload *o)
{
    int rc = offload_drive(o, true);
    if (rc != WAY_GAVE_UP)
        return rc;
    o->gave_up = true;
    if (o->gave_up_why[0])
        TRY(comm_give_up(o->comm));
    return WAY_GAVE_UP;
}

static int way_max(void *way, uint32_t tag, int8_t *x, size_t n)
{
    struct offload *o = way;
    if (!o->open || o->gave_up)
        return WAY_GAVE_UP;
    window_start_max(o->window, tag, x, n, clock_s());
    return drive(o);
}

static int way_sum(void *way, const struct way_sum *sum)
{
    struct offload *o = way;
    if (!o->open || o->gave_up) {
        algo_need(&sum->flow, 0, sum->n);
        return WAY_GAVE_UP;
    }
    window_start_sum(o->window, sum, clock_s());
    int rc = drive(o);
    if (rc)
        window_need_rest(o->window);
    return rc;
}

static uint64_t way_digest(const void *way)
{
    const struct offload *o = way;
    return o->open ? window_digest(o->window) : 0;
}

static int way_end(void *way, bool failed)
{
    struct offload *o = way;
    if (!failed || !o->open)
        return 0;
    TRY(offload_learn_why(o));
    if (comm_rank(o->comm) == 0 && (o->blamed || !o->group_failed))
        offload_blame(o, o->blamed, 0);
    offload_leave(o);
    if (comm_rank(o->comm) == 0 && !offload_n_reached(o))
        offload_say_state(o);
    return 0;
}

static struct way_count way_counted(const void *way)
{
    return offload_counted(way);
}

const struct way_ops offload_way = {
    .begin = way_begin,
    .max = way_max,
    .sum = way_sum,
    .digest = way_digest,
    .end = way_end,
    .counted = way_counted,
};
