/* sum_step.h : Tables that add two codes with m <= 2 of at most 8 bits, by AVX2's
 * and AVX-512's shuffles.
 *
 * Codes grow like logarithms: the same mantissa one binade higher is 2^m codes further.
 * So for normals
 *
 *     code(A + B) = A + step,
 *     step a function of A's mantissa, of A - B, and of whether the signs differ,
 *
 * and the step is 0 from a distance of 16 on (trunc: -1 for a while). Subnormals join in when they
 * are renumbered as normals of lower binades, with 0 far below all:
 *
 *     e5m2    code  0     1     2     3     4 = the smallest normal
 *             here  -52   -4    0     2     4
 *
 * Sums of subnormals need no rounding, and give no other number below 4. test_vec_sum.c checks
 * every pair of every format against mf_add() and mf_e5m2_trunc_add(). */
#ifndef SUM_STEP_H
#define SUM_STEP_H
#include <stdint.h>

/* A - A: saturates far below */
enum { STEP_LOST = -128 };

struct sum_step {
    int8_t renumber[16]; /* added to magnitudes 0..15 */
    int8_t back[16];     /* [n + 4]: magnitude of a number n < 4; 0 for others */
    int8_t same[4][16];  /* [last two bits of A][A - B] */
    int8_t differ[4][16];
    /* [last two bits of A]: if signs differ, the step is -1 for 16 <= A - B < this */
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

/* nearest, by m */
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

/* the fp8 paper's rule for e5m2 */
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

#endif
