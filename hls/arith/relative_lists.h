/* relative_lists.h : lists of vectors that are sent as multiples of a quantile. Plain data that CPU
 * and GPU backends share. Arithmetic: relative.h. */
#ifndef RELATIVE_LISTS_H
#define RELATIVE_LISTS_H
#include "hls/arith/relative.h"
#include "hls/arith/rules.h"

enum { RELATIVE_SAMPLES_MAX = 1 << 14 };

/* Settings of all vectors. */
struct relative_rule {
    float eps;        /* added to |w| */
    float share;      /* 1 to 2^31 */
    uint32_t samples; /* at most, per vector: 1 to RELATIVE_SAMPLES_MAX */
};

/* Extends a vector's vec_span (whose shift is 0) or vec_out. */
struct relative_part {
    const void *w; /* weights, [n] of `type`; NULL: x is sent undivided */
    enum vec_type type;
    struct relative_scale scale; /* zeros: zeros are sent */
    uint32_t rank;               /* of the quantile among the samples; 0: no quantile is needed */
};

/* Return how many of a vector's n elements are sampled. */
RELATIVE_FN uint32_t relative_looks(const struct relative_rule *r, uint64_t n)
{
    return n < r->samples ? (uint32_t)n : r->samples;
}

#endif
