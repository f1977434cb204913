/* vec_signs.h : converts vectors to signs and two means per column, and back (1bitSGD).
 *
 * In each column, negative values become their mean, and the others become theirs. The error (the
 * residual, `struct signs_left`) is added to the next step's vector (hls/arith/level.h). A column
 * has `column` elements, `stride` apart, so `stride` columns are interleaved:
 *
 *     elements    a0 b0 c0 a1 b1 c1 | d0 e0 f0 d1 ...     column = 2, stride = 3
 *     codes       a b c d ...         each | fp32 mean | fp32 mean of negatives | words of signs |
 *
 * A word has 32 signs, 1 for negative, the first element in the lowest bit. Fields are little
 * endian. The last columns may lack elements: e and f lack one if the vector above ends with d1.
 * Missing elements have the sign 0 and do not count in the means. */
#ifndef VEC_SIGNS_H
#define VEC_SIGNS_H
#include "hls/arith/level_lists.h"

struct vec_ops;

/* One CPU backend (conventions: struct vec_ops). A vector begins with a whole column. */
struct vec_signs {
    /* Encodes x[n] + left.was[n], then zero bytes up to signs_bytes(padded). Sets the new residual,
     * left.next[n]. */
    void (*encode)(const struct signs_rule *r, const float *x, size_t n, size_t padded,
                   struct signs_left left, uint8_t *codes);

    /* x[n] = value of the code / divisor */
    void (*decode)(const struct signs_rule *r, const uint8_t *codes, size_t n, float divisor,
                   float *x);

    /* as vec_levels.sum(), with residuals as in encode */
    void (*sum)(const struct signs_rule *r, const uint8_t *const *parts, int n_parts, size_t skip,
                size_t n, size_t padded, struct signs_left left, uint8_t *codes);
};

extern const struct vec_signs signs_c;

/* Many vectors, each with its own rule. */
struct vec_sign_lists {
    /* scan: also set the absmax of every span */
    void (*encode)(const struct vec_ops *ops, struct signs_span *spans, int n_spans, bool scan);
    void (*decode)(const struct vec_ops *ops, const struct signs_out *outs, int n_outs,
                   float divisor);

    /* as vec_level_lists.sum() */
    void (*sum)(const struct vec_ops *ops, const uint8_t *const *parts, int n_parts,
                const struct signs_span *spans, int n_spans, uint8_t *codes);
};

extern const struct vec_sign_lists sign_lists_each;

#endif
