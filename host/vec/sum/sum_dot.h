/* sum_dot.h : Plans exact sums of 8-bit codes by vpdpbusd, which adds four byte products
 * to 32 bits.
 *
 * A magnitude is a product of two factors, in one of two windows (three for e = 5):
 *
 *     |code| = (significand << j) * 2^i * 2^(start of its window)        <= 127, <= 128
 *
 * vpdpbusd adds +-(significand << j) of four ranks, side by side in a lane, times each one's 2^i (0
 * outside its window) to a window's sum. At the end the windows below the third are joined in 32
 * bits, and the sum becomes an fp32:
 *
 *     SUM_DOT_EXACT     two windows, 24 bits: as it is
 *     SUM_DOT_ODD       two windows, 32 bits: rounded to odd
 *     SUM_DOT_HIGH      three, the lower two have 24 bits: high * 2^start + low, rounded to odd
 *     SUM_DOT_CARRY     three, the lower two have 32 bits: bits above `start` first move to high
 *
 * Rounding to odd takes the odd one of the sums rounded down and up (sum_exact.h). */
#ifndef SUM_DOT_H
#define SUM_DOT_H
#include "vec/cast/cast_plan.h"
#include "vec/sum/sum_look.h"

enum { SUM_DOT_WINDOWS = 3 };
enum sum_dot_way { SUM_DOT_EXACT, SUM_DOT_ODD, SUM_DOT_HIGH, SUM_DOT_CARRY };

struct sum_dot_tables {
    struct mf_fmt fmt;
    int n_windows, start[SUM_DOT_WINDOWS];
    int special, nan; /* first magnitudes of inf and nan; their table entries are 0 */
    struct look sig, power[SUM_DOT_WINDOWS];
};

struct sum_dot {
    const struct sum_dot_tables *t;
    enum sum_dot_way way;
    struct enc_plan code; /* the sum's, in units of the smallest value; nearest, ENC_ADD */
};

/* Returns the tables of an 8-bit format with e <= 5 (fn: e = 4), else NULL. */
const struct sum_dot_tables *sum_dot_tables_of(struct mf_fmt fmt);

/* Returns false where the sum is too wide, or ENC_ADD cannot round it to `out`, which must
 * have 8 bits. */
bool sum_dot_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                  struct sum_dot *plan);

#endif
