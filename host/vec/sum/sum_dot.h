/* sum_dot.h : exact sums of several ranks' codes of 8 bits by vpdpbusd, which adds four products of
 * bytes to 32 bits: the plan, and its tables.
 *
 * A magnitude is two factors and the window that their product belongs to:
 *
 *     |code| = (significand << j) * 2^i * 2^(start of its window)        <= 127, <= 128
 *
 * so +-(significand << j) of four ranks, side by side in a lane, times 2^i of each (0 in windows
 * that are not its own) is added to that window's sum. Windows are two, or three for e = 5. At the
 * end those below the last one are put together, in 32 bits, and the sum becomes an fp32:
 *
 *     SUM_DOT_EXACT     two windows, 24 bits: as it is
 *     SUM_DOT_ODD       two windows, 32 bits: rounded to odd
 *     SUM_DOT_HIGH      three, the lower two have 24 bits: high * 2^start + low, rounded to odd
 *     SUM_DOT_CARRY     three, the lower two have 32 bits: what is above `start` goes to high before
 *
 * Rounded to odd: of the sums rounded down and up the one whose last bit is set (sum_exact.h says
 * why that is enough). Source of the shape: products of 8 bits that are added without loss. */
#ifndef SUM_DOT_H
#define SUM_DOT_H
#include "vec/cast/cast_plan.h"
#include "vec/sum/sum_look.h"

enum { SUM_DOT_WINDOWS = 3 };
enum sum_dot_way { SUM_DOT_EXACT, SUM_DOT_ODD, SUM_DOT_HIGH, SUM_DOT_CARRY };

/* One format's. */
struct sum_dot_tables {
    struct mf_fmt fmt;
    int n_windows, start[SUM_DOT_WINDOWS];
    int special, nan; /* the first magnitude that is no number, that is nan; both 0 in all tables */
    struct look sig, power[SUM_DOT_WINDOWS];
};

struct sum_dot {
    const struct sum_dot_tables *t;
    enum sum_dot_way way;
    struct enc_plan code; /* of the sum in units of the smallest value; nearest, ENC_ADD */
};

/* The tables of a format of 8 bits; NULL where there are none: e <= 5 have them, fn for e = 4. */
const struct sum_dot_tables *sum_dot_tables_of(struct mf_fmt fmt);

/* Can it be done so? Returns false where the sum is too wide, or the result is not of 8 bits or has
 * too few exponents about it. */
bool sum_dot_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                  struct sum_dot *plan);

#endif
