/* sum_step.h : defines tables that add two codes of 8 bits with m <= 2, by lookups of
 * 16 entries.
 *
 * Codes grow like logarithms: twice the value is 2^m codes further. So for normals, |A| >= |B|,
 *
 *     code(A + B) = A + step,
 *     with a step that depends on the mantissa of A, on A - B, and on whether the signs differ.
 *
 * The step is 0 from a distance A - B of 16 on; with trunc it is -1 for some distances more.
 * Subnormals obey the same rule if renumbered as normals with smaller exponents. 0 gets a number
 * far below all others:
 *
 *     e5m2    code  0     1     2     3     4 = the smallest normal
 *             here  -52   -4    0     2     4
 *
 * Sums of subnormals need no rounding, so a sum's number below 4 is always one in this table.
 * test_vec_add.c checks every pair of every format against mf_add() and mf_e5m2_trunc_add(). */
#ifndef SUM_STEP_H
#define SUM_STEP_H
#include "vec/vec.h"
#include <stdint.h>

/* the step of A - A, which leads far below all numbers */
enum { STEP_LOST = -128 };

struct sum_step {
    int8_t renumber[16]; /* added to magnitudes 0..15 */
    int8_t back[16];     /* [n + 4]: magnitude of a number n < 4; 0 for others */
    /* steps for equal and for different signs, by [last two bits of A][A - B] */
    int8_t same[4][16];
    int8_t differ[4][16];
    /* [last two bits of A]: if the signs differ, the step is -1 for 16 <= A - B < minus_one */
    uint8_t minus_one[16];
};

#define STEP_LOW_0 .renumber = {-52}, .back = {[5] = 1, [6] = 2, [7] = 3}
#define STEP_LOW_1 .renumber = {-52, -1}, .back = {[4] = 1, [6] = 2, [7] = 3}
#define STEP_LOW_2 .renumber = {-52, -5, -2, -1}, .back = {[0] = 1, [4] = 2, [6] = 3}

/* clang-format off */
#define STEP_S0 {1, 1}
#define STEP_D0 {STEP_LOST, -1}
#define STEP_S10 {2, 2, 1, 1}
#define STEP_S11 {2, 1, 1, 1, 1, 1}
#define STEP_D10 {STEP_LOST, -4, -2, -2, -1, -1}
#define STEP_D11 {STEP_LOST, -3, -2, -1, -1, -1}

/* tables of nearest, indexed by m */
static const struct sum_step sum_step_nearest[3] = {
    {STEP_LOW_0,
     .same = {STEP_S0, STEP_S0, STEP_S0, STEP_S0},
     .differ = {STEP_D0, STEP_D0, STEP_D0, STEP_D0}},
    {STEP_LOW_1,
     .same = {STEP_S10, STEP_S11, STEP_S10, STEP_S11},
     .differ = {STEP_D10, STEP_D11, STEP_D10, STEP_D11}},
    {STEP_LOW_2,
     .same = {{4, 4, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1},
              {4, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1},
              {4, 4, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1},
              {4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
     .differ = {{STEP_LOST, -12, -8, -6, -4, -4, -3, -2, -2, -2, -2, -1, -1, -1, -1, -1},
                {STEP_LOST, -9, -7, -5, -4, -3, -3, -2, -1, -1, -1, -1, -1, -1},
                {STEP_LOST, -10, -6, -5, -4, -3, -2, -2, -2, -1, -1, -1, -1, -1},
                {STEP_LOST, -11, -7, -5, -4, -3, -3, -2, -2, -1, -1, -1, -1, -1, -1, -1}}},
};

/* tables of trunc, the rule of the fp8 paper for e5m2 */
static const struct sum_step sum_step_trunc = {
    STEP_LOW_2,
    .same = {{4, 3, 3, 2, 2, 1, 1, 1, 1},
             {4, 3, 3, 3, 2, 2, 1, 1, 1, 1},
             {4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1},
             {4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1}},
    .differ = {{STEP_LOST, -12, -8, -6, -4, -4, -3, -3, -2, -2, -2, -2, -1, -1, -1, -1},
               {STEP_LOST, -9, -7, -5, -4, -3, -3, -2, -2, -1, -1, -1, -1, -1, -1, -1},
               {STEP_LOST, -10, -6, -5, -4, -3, -2, -2, -2, -2, -1, -1, -1, -1, -1, -1},
               {STEP_LOST, -11, -7, -5, -4, -3, -3, -2, -2, -2, -2, -1, -1, -1, -1, -1}},
    .minus_one = {48, 45, 46, 47},
};
/* clang-format on */

/* A format's constants for the step tables. */
struct sum_step_fmt {
    const struct sum_step *step;
    int inf, beyond, nan; /* magnitudes */
};

/* Returns false, except for IEEE formats of 8 bits with m <= 2. */
static inline bool sum_step_fmt(const struct vec_sum *sum, struct sum_step_fmt *out)
{
    const struct mf_fmt f = sum->in;
    const bool trunc = sum->rule == VEC_TRUNC;
    if (mf_width(f) != 8 || f.m > 2 || f.flavour != MF_IEEE)
        return false;
    out->step = trunc ? &sum_step_trunc : &sum_step_nearest[f.m];
    out->inf = (int)mf_inf(f);
    out->beyond = (int)(trunc || sum->overflow == MF_SATURATE ? mf_max(f) : mf_inf(f));
    out->nan = (int)mf_nan(f) - trunc; /* trunc's own nan */
    return true;
}

#endif
