/* sum_plan.h : selects the sums that step tables (sum_step.h) and exact sums of two make, for all
 * instruction sets. */
#ifndef SUM_PLAN_H
#define SUM_PLAN_H
#include "vec/sum/sum_exact.h"
#include "vec/sum/sum_step.h"
#include "vec/vec.h"

/* A format's constants for the step tables. Codes of every width have their sign in bit 7. */
struct sum_step_fmt {
    const struct sum_step *step;
    int inf, beyond, nan; /* magnitudes */
};

/* Returns false, except for formats of 8 and 4 bits with m <= 2. */
static inline bool sum_step_fmt(const struct vec_sum *sum, struct sum_step_fmt *out)
{
    const struct mf_fmt f = sum->in;
    const bool trunc = sum->rule == VEC_TRUNC;
    if ((mf_width(f) != 8 && mf_width(f) != 4) || f.m > 2 || f.flavour != MF_IEEE)
        return false;
    out->step = trunc ? &sum_step_trunc : &sum_step_nearest[f.m];
    out->inf = (int)mf_inf(f);
    out->beyond = (int)(trunc || sum->overflow == MF_SATURATE ? mf_max(f) : mf_inf(f));
    out->nan = (int)mf_nan(f) - trunc; /* trunc's own nan */
    return true;
}

/* other 8-bit formats: rounded sums of two are made as exact sums of two */
static inline bool sum_exact_add_plan(const struct vec_sum *sum, struct sum_exact *out)
{
    const struct vec_sum exact = {.rule = VEC_EXACT, .overflow = sum->overflow, .in = sum->in};
    return sum->rule == VEC_NEAREST && mf_width(sum->in) == 8 && sum->in.m > 2 &&
           sum_exact_plan(&exact, 2, sum->in, 0, out);
}

#endif
