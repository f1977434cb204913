/* sum_dot.h : plans exact sums of 8-bit codes by vpdpbusd, which adds four products of bytes to a
 * 32-bit lane.
 *
 * A window is a range of exponents with its own integer sum. There are two, or three for e = 5. A
 * code is a product of two bytes, scaled to the start of its window:
 *
 *     code = (significand << j) * +-2^i * 2^(start of its window)
 *             at most 255        at most 64
 *
 * The codes of four ranks lie side by side in a lane. For each window, vpdpbusd multiplies
 * significand << j by +-2^i (0 for codes of other windows) and adds the four products to the
 * window's sum. At the end the sums of the lower two windows are joined in 32 bits. The total
 * becomes an fp32:
 *
 *     SUM_DOT_EXACT     two windows, 24 bits: converted exactly
 *     SUM_DOT_ODD       two windows, 32 bits: rounded to odd
 *     SUM_DOT_HIGH      three windows, the lower two have 24 bits: high * 2^start + low, rounded to
 *                       odd
 *     SUM_DOT_CARRY     three windows, the lower two have 32 bits: the same, after bits above
 *                       `start` were moved to high
 *
 * To round to odd, the sum is rounded down and up, and the odd result is taken (sum_exact.h). */
#ifndef SUM_DOT_H
#define SUM_DOT_H
#include "vec/cast/cast_plan.h"
#include "vec/sum/sum_look.h"

enum { SUM_DOT_WINDOWS = 3 };
enum sum_dot_way { SUM_DOT_EXACT, SUM_DOT_ODD, SUM_DOT_HIGH, SUM_DOT_CARRY };

struct sum_dot_tables {
    struct mf_fmt fmt;
    int n_windows, start[SUM_DOT_WINDOWS];
    int special,
        nan; /* first magnitudes of inf and of nan, 128 for none; their table entries are 0 */
    struct look sig; /* indexed by magnitudes */
    /* Indexed by the sign and the exponent field, code >> m. Lookups use six bits, of which the
     * upper ones may belong to the next code, so the entries are repeated. */
    uint8_t power[SUM_DOT_WINDOWS][64];
};

struct sum_dot {
    const struct sum_dot_tables *t;
    enum sum_dot_way way;
    struct enc_plan code; /* encodes a sum in units of the smallest value; nearest, ENC_ADD */
};

/* Returns the tables of an 8-bit format with e <= 5 (fn: e = 4; f: e <= 4), else NULL. */
const struct sum_dot_tables *sum_dot_tables_of(struct mf_fmt fmt);

/* Returns true if sums of n_parts codes fit the windows: the lower two together in 31 bits. */
bool sum_dot_fits(const struct sum_dot_tables *t, int n_parts);

/* Fills *plan. Returns false if the sum is too wide, or ENC_ADD cannot round it to `out`, which
 * must have 8 bits. */
bool sum_dot_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                  struct sum_dot *plan);

#endif
