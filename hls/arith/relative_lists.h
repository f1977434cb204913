/* relative_lists.h : lists of vectors that are sent as multiples of a quantile, as plain data that CPU
 * and GPU backends share. Arithmetic: relative.h. */
#ifndef RELATIVE_LISTS_H
#define RELATIVE_LISTS_H
#include "hls/arith/relative.h"
#include "hls/arith/rules.h"

enum { RELATIVE_SAMPLES_MAX = 1 << 14 };

/* Of all vectors. */
struct relative_rule {
    float eps;        /* beside weights */
    float share;      /* 1 to 2^31 */
    uint32_t samples; /* of a vector, at most: 1 to RELATIVE_SAMPLES_MAX */
};

/* What there is of a vector besides its vec_span, whose shift is 0, or its vec_out. */
struct relative_part {
    const void *w; /* [n] of `type`, beside x; NULL: x is sent as it is */
    enum vec_type type;
    struct relative_scale scale; /* zeroes: zeroes are sent */
    uint32_t rank;               /* of the quantile among its samples; 0: none is sought */
};

/* How many of a vector's n elements are looked at. */
RELATIVE_FN uint32_t relative_looks(const struct relative_rule *r, uint64_t n)
{
    return n < r->samples ? (uint32_t)n : r->samples;
}

#endif
