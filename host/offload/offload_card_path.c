/* offload_card_path.c : implements struct card_path_ops with cards. */
#include "base/clock.h"
#include "base/err.h"
#include "offload/offload_inside.h"

static const double reach_s = 0.2; /* time that a step may spend on reaching cards */

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

static int path_begin(void *card_path)
{
    struct offload *o = card_path;
    o->abandoned = false;
    o->abandon_why[0] = 0;
    return o->open && o->n_members == o->n_cards ? 1 : regain(o);
}

static int drive(struct offload *o)
{
    int rc = offload_drive(o, true);
    if (rc != CARD_PATH_ABANDONED)
        return rc;
    o->abandoned = true;
    if (o->abandon_why[0])
        TRY(comm_abandon(o->comm));
    return CARD_PATH_ABANDONED;
}

static int path_max(void *card_path, uint32_t tag, int8_t *x, size_t n)
{
    struct offload *o = card_path;
    if (!o->open || o->abandoned)
        return CARD_PATH_ABANDONED;
    int rc = 0;
    if (o->near > 1)
        TRY(offload_near_max(o, x, n));
    if (o->window) {
        window_start_max(o->window, tag, x, n, clock_s());
        TRY(rc = drive(o));
    }
    return o->near > 1 ? offload_near_tell(o, x, n, rc) : rc;
}

static int path_sum(void *card_path, const struct card_path_sum *sum)
{
    struct offload *o = card_path;
    if (!o->open || o->abandoned) {
        algo_need(&sum->flow, 0, sum->n);
        return CARD_PATH_ABANDONED;
    }
    struct card_path_sum own = *sum;
    int rc = 0;
    if (o->near > 1)
        TRY(offload_near_begin(o, &own));
    if (o->window) {
        window_start_sum(o->window, &own, clock_s());
        rc = drive(o);
        if (rc)
            window_need_rest(o->window);
    }
    return o->near > 1 ? offload_near_end(o, rc) : rc;
}

static uint64_t path_digest(const void *card_path)
{
    const struct offload *o = card_path;
    return o->window ? window_digest(o->window) : 0;
}

static int path_end(void *card_path, bool failed)
{
    struct offload *o = card_path;
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

static struct card_path_count path_counted(const void *card_path)
{
    return offload_counted(card_path);
}

const struct card_path_ops offload_card_path = {
    .begin = path_begin,
    .max = path_max,
    .sum = path_sum,
    .digest = path_digest,
    .end = path_end,
    .counted = path_counted,
};
