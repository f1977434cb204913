/* sum_look.h : tables of 128 entries that add two codes of 8 bits: what a CPU with VBMI looks up in
 * two registers at once.
 *
 * Magnitudes become numbers as in sum_step.h: subnormals count on below the normals as if binades
 * went on, and 0 lies far below all. Then, for m <= 2,
 *
 *     number(A + B) = number(A) + step[signs differ? | A's mantissa | number(A) - number(B)]      |A| >= |B|
 *
 * one table of 2 * 4 * 16 steps. For m = 3 the smaller one is aligned instead:
 *
 *     w = 8 * A's significand +- B's * 8 >> distance, rounded to odd       0 .. 240
 *     number(A + B) = (binade of A) + rounded[w]
 *
 * Three bits below A's last one are what rounding to odd needs: one where signs are the same, one
 * more where a binade is lost, and the odd one. Made from mf.h once; test_vec_add.c holds every pair
 * against it. */
#ifndef SUM_LOOK_H
#define SUM_LOOK_H
#include <stdint.h>
#include "hls/arith/mf.h"

/* By the low seven bits of a byte. */
struct look {
    uint8_t of[128];
};

struct sum_look {
    struct mf_fmt fmt;
    struct look number; /* of a magnitude */
    int lowest;         /* number of the smallest value; what is below is 0 */
    int max, inf, nan;  /* magnitudes; of what is no number from inf on */
    /* m <= 2 */
    struct look step, code; /* see above; the magnitude of a number */
    /* m = 3: of (number(B) - binade of A) in 6 bits and signs differ; of w below and from 128 on */
    struct look aligned, rounded[2];
    uint8_t code_low[64]; /* the magnitude of a number in 6 bits, -17 .. 7 */
};

enum {
    LOOK_FAR = 16,       /* m <= 2: no step from this distance on */
    LOOK_FAR_3 = -48,    /* m = 3: what lies below the binade of A by this is odd dust */
    LOOK_LOW_3 = -17,    /* m = 3: this number and all below it are zero */
    LOOK_NORMAL_3 = 8,   /* m = 3: numbers from here on are their magnitudes */
    LOOK_SIGNIFICAND = 8 /* m = 3 */
};

/* The tables of a format; NULL where there are none: e5m2, e6m1, e7m0, e4m3 and e4m3fn have them. */
const struct sum_look *sum_look_of(struct mf_fmt fmt);

#endif
