/* sum_look.h : Tables of 128 entries that add two 8-bit codes, for VBMI's lookups in two registers.
 *
 * Magnitudes become numbers as in sum_step.h: subnormals continue below the normals, and 0 is far
 * below all. Then, for m <= 2, one table of 2 * 4 * 16 steps does:
 *
 *     number(A + B) = number(A) + step[signs differ? | A's mantissa | number(A) - number(B)]
 *                                                                               |A| >= |B|
 *
 * For m = 3 the smaller addend is aligned instead:
 *
 *     w = 8 * A's significand +- B's * 8 >> distance, rounded to odd       0 .. 240
 *     number(A + B) = (binade of A) + rounded[w]
 *
 * Rounding to odd needs three bits below A's last one: one where signs are the same, one where a
 * binade is lost, and the odd one. test_vec_add.c checks every pair against mf.h. */
#ifndef SUM_LOOK_H
#define SUM_LOOK_H
#include <stdint.h>
#include "hls/arith/mf.h"

/* Indexed by the low seven bits of a byte. */
struct look {
    uint8_t of[128];
};

struct sum_look {
    struct mf_fmt fmt;
    struct look number; /* of a magnitude */
    int lowest;         /* number of the smallest value; 0 below */
    int max, inf, nan;  /* magnitudes; no numbers from inf on */
    /* m <= 2 */
    struct look step, code; /* step: see above; code: magnitude of a number */
    /* m = 3. aligned: by number(B) - binade of A (6 bits) and whether signs differ. rounded: by
     * w, in halves. */
    struct look aligned, rounded[2];
    uint8_t code_low[64]; /* m = 3: magnitude of a number -17 .. 7, in 6 bits */
};

enum {
    LOOK_FAR = 16,       /* m <= 2: no step from this distance on */
    LOOK_FAR_3 = -48,    /* m = 3: B only sets the odd bit */
    LOOK_LOW_3 = -17,    /* m = 3: zero from here down */
    LOOK_NORMAL_3 = 8,   /* m = 3: numbers are magnitudes from here on */
    LOOK_SIGNIFICAND = 8 /* m = 3 */
};

/* Returns the tables of e5m2, e6m1, e7m0, e4m3 or e4m3fn; NULL for other formats. */
const struct sum_look *sum_look_of(struct mf_fmt fmt);

#endif
