/* relative_lists.h : vectors sent as multiples of a quantile (relative.h), for CPU and GPU
 * backends. */
#ifndef RELATIVE_LISTS_H
#define RELATIVE_LISTS_H
#include "hls/arith/relative.h"
#include "hls/arith/rules.h"

enum { RELATIVE_SAMPLES_MAX = 1 << 14 };

struct relative_rule {
    float eps;        /* added to |w| */
    float share;      /* 1 to 2^31 */
    uint32_t samples; /* per vector: 1 to RELATIVE_SAMPLES_MAX */
};

/* Data of a vector that its vec_span (with shift 0) or vec_out lacks. */
struct relative_part {
    const void *w; /* weights, [n] of `type`; NULL: x is sent undivided */
    enum vec_type type;
    struct relative_scale scale; /* both factors 0: zeros are sent */
    uint32_t rank;               /* of the quantile among the samples; 0: none is needed */
};

/* Return the number of samples of a vector with n elements. */
RELATIVE_FN uint32_t relative_looks(const struct relative_rule *r, uint64_t n)
{
    return n < r->samples ? (uint32_t)n : r->samples;
}

#endif
