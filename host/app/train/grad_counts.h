/* grad_counts.h : what a layer's gradient is made of: how many values of each exponent, and what a
 * cast to a narrow format loses of them. All counts are doubles, so that ranks add them up. */
#ifndef GRAD_COUNTS_H
#define GRAD_COUNTS_H
#include <stddef.h>
#include "hls/arith/rules.h"

/* floor(log2|x|) of an fp32 that is finite and not 0 */
enum { GRAD_EXPONENT_MIN = -149, GRAD_EXPONENT_MAX = 127, GRAD_BINS = 277 };

struct grad_counts {
    double zero, not_finite;
    double underflow, saturate; /* as codec_lost.h has them */
    double bins[GRAD_BINS];
};
enum { GRAD_COUNTS = GRAD_BINS + 4 }; /* doubles in it */

/* n more values. */
void grad_counts_add(struct grad_counts *c, const float *x, size_t n);

/* What the cast of x * 2^shift loses: underflow, saturate. at: index of x[0] in its layer. */
void grad_counts_cast(struct grad_counts *c, const struct vec_cast *cast, int shift, const float *x,
                      size_t n, size_t at);

#endif
