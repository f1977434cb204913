/* algo_legs.c : the steps of algo_step.c, and what goes through a rank's port in each of them. */
#include "comm/algo_legs.h"

struct algo_leg algo_leg_ring(const struct algo_cut *cut, bool adds)
{
    const uint64_t bytes = algo_cut_most(cut);
    return (struct algo_leg){.steps = cut->n_parts - 1,
                             .sent = bytes,
                             .got = bytes,
                             .n_sent = 1,
                             .n_got = 1,
                             .added_bytes = adds ? 2 * bytes : 0};
}

struct algo_leg algo_leg_all(const struct algo_cut *cut, bool adds)
{
    const uint64_t bytes = algo_cut_most(cut);
    const int others = cut->n_parts - 1;
    return (struct algo_leg){.steps = others > 0,
                             .sent = (uint64_t)others * bytes,
                             .got = (uint64_t)others * bytes,
                             .n_sent = others,
                             .n_got = others,
                             .added_bytes = adds ? (uint64_t)cut->n_parts * bytes : 0};
}

int algo_leg_add(struct algo_leg *legs, int n, struct algo_leg leg, bool inside)
{
    if (leg.steps == 0)
        return n;
    leg.inside = inside;
    legs[n] = leg;
    return n + 1;
}
