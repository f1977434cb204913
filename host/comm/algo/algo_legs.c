/* algo_legs.c : the steps of algo_step.c, and what goes through a rank's port in each of them. */
#include "comm/algo/algo_legs.h"

struct algo_leg algo_leg_ring(const struct algo_cut *cut)
{
    const uint64_t bytes = algo_cut_most(cut);
    return (struct algo_leg){
        .steps = cut->n_parts - 1, .sent = bytes, .got = bytes, .n_sent = 1, .n_got = 1};
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

int algo_leg_ring_reduce(struct algo_leg *legs, int n, const struct algo_cut *cut, bool inside)
{
    struct algo_leg first = algo_leg_ring(cut), others = first;
    const uint64_t sums = algo_hop_bytes(cut);
    if (first.steps == 0)
        return n;
    first.steps = 1;
    first.added_bytes = 2 * first.got;
    others.steps--;
    others.sent = others.got = sums;
    others.added_bytes = first.got + sums;
    n = algo_leg_add(legs, n, first, inside);
    return algo_leg_add(legs, n, others, inside);
}
