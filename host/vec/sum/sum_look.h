/* sum_look.h : declares tables of 128 entries that add two 8-bit codes with VBMI.
 *
 * Magnitudes are replaced by numbers as in sum_step.h: subnormals' numbers continue below those of
 * normals, and the number of 0 is far below all. A and B are magnitudes, |A| >= |B|. For m <= 2,
 * one table of 2 * 4 * 16 steps is enough:
 *
 *     number(A + B) = number(A) + step[signs differ? | mantissa of A | number(A) - number(B)]
 *
 * For m = 3 the smaller addend is aligned instead:
 *
 *     w = 8 * significand of A +- (8 * significand of B >> distance), rounded to odd    0 .. 240
 *     number(A + B) = (binade of A) + rounded[w]
 *
 * The distance is the difference of exponents. The binade of A is its number without the mantissa.
 * Rounding to odd needs three bits below A's last one: a bit to round at, one if the sum has a
 * smaller exponent than A, and the odd bit. test_vec_add.c checks every pair of codes against
 * mf.h. */
#ifndef SUM_LOOK_H
#define SUM_LOOK_H
#include <stdint.h>
#include "hls/arith/mf.h"

/* indexed by the low seven bits of a byte */
struct look {
    uint8_t of[128];
};

struct sum_look {
    struct mf_fmt fmt;
    struct look number; /* number of each magnitude */
    int lowest;         /* number of the smallest value; lower numbers mean 0 */
    int max, inf;       /* magnitudes; from inf on they are not numbers */
    /* m <= 2. step: see above; code: the magnitude of each number */
    struct look step, code;
    /* m = 3. aligned: indexed by number(B) - binade of A (6 bits) and whether the signs differ.
     * rounded: indexed by w, in two halves. */
    struct look aligned, rounded[2];
    uint8_t code_low[64]; /* m = 3: magnitude of a number -17 .. 7, in 6 bits */
};

enum {
    LOOK_FAR = 16,       /* m <= 2: the step is 0 from this distance on */
    LOOK_FAR_3 = -48,    /* m = 3: from here down, B only sets the odd bit */
    LOOK_LOW_3 = -17,    /* m = 3: numbers from here down mean zero */
    LOOK_NORMAL_3 = 8,   /* m = 3: from here on, numbers equal magnitudes */
    LOOK_SIGNIFICAND = 8 /* m = 3: the leading bit of a significand */
};

/* Returns the tables of e5m2, e6m1, e7m0, e4m3 or e4m3fn; NULL for other formats. */
const struct sum_look *sum_look_of(struct mf_fmt fmt);

#endif
