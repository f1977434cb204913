/* error_tally.h : tallies errors of means: the steps' mean L2, mean and median of all quotients
 * (vec/round_off.h). */
#ifndef ERROR_TALLY_H
#define ERROR_TALLY_H
#include "vec/round_off.h"

struct tally {
    double l2; /* sum over steps */
    struct round_off off;
};

static inline int tally_open(struct tally *t)
{
    t->l2 = 0;
    return round_off_open(&t->off);
}
static inline void tally_close(struct tally *t)
{
    round_off_close(&t->off);
}
static inline void tally_clear(struct tally *t)
{
    t->l2 = 0;
    round_off_clear(&t->off);
}

static inline void tally_add(struct tally *t, const double *ref, const float *mean, size_t n)
{
    t->off.diff2 = t->off.ref2 = 0; /* L2 is per step, quotients over all */
    round_off_add(&t->off, ref, mean, n);
    t->l2 += round_off_l2(&t->off);
}

static inline double tally_l2(const struct tally *t, uint64_t n_steps)
{
    return t->l2 / (double)n_steps;
}

#endif
