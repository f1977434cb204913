/* codec_lost.h : what casts to a narrow format lose of a gradient. */
#ifndef CODEC_LOST_H
#define CODEC_LOST_H
#include "vec/vec.h"

struct codec_lost {
    uint64_t underflow; /* elements not 0, and 0 once they are cast */
    uint64_t saturated; /* finite, and beyond the format's largest finite once they are rounded */
};

/* More elements: x[0..n) * 2^shift, which begin at index `at` of their layer, as cast does them. x: in the
 * CPU's memory. */
void codec_lost_add(struct codec_lost *lost, const struct vec_cast *cast, int shift, const float *x,
                    size_t n, size_t at);

#endif
