/* vec_ratio.h : vectors as multiples of a quantile, and of the weights beside them: what is cast, and
 * what casts are made back of. The numbers are those of hls/relative.h, whatever the instruction set. */
#ifndef VEC_RATIO_H
#define VEC_RATIO_H
#include <stddef.h>
#include "hls/relative.h"

/* One backend; as a struct vec_ops says of its own. w: [n], or NULL: x is sent as it is, and eps
 * means nothing. */
struct vec_ratio {
    /* out [n] = what is sent of x [n]; share: 1 to 2^31 */
    void (*send)(const float *x, const float *w, size_t n, float eps, struct relative_scale s,
                 float share, float *out);

    /* x [n]: of what the sums gave, in place */
    void (*back)(const float *w, size_t n, float eps, struct relative_scale s, float *x);
};

/* In plain C, for every CPU. */
extern const struct vec_ratio ratio_c;

#endif
