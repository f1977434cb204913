/* vec_signs.h : Converts vectors to signs and two means a column, and back (1bitSGD).
 *
 * Values that are not negative become their mean, negative values theirs. The residual (`struct
 * signs_left`) is added to the next vector. hls/arith/level.h defines the arithmetic. A column has
 * `column` elements, `stride` apart, so `stride` columns are interleaved:
 *
 *     elements    a0 b0 c0 a1 b1 c1 | d0 e0 f0 d1 ...     column = 2, stride = 3
 *     codes       a b c d ...         each | fp32 mean | fp32 mean of negatives | words of signs |
 *
 * A word is 32 signs, 1 for negative, the first element in the lowest bit. All is little endian.
 * Elements missing at the end of a vector do not count; their signs are 0. */
#ifndef VEC_SIGNS_H
#define VEC_SIGNS_H
#include "hls/arith/level_lists.h"

struct vec_ops;

/* One CPU backend, with the conventions of struct vec_ops. Vectors begin with a column. */
struct vec_signs {
    /* codes of x [n] + was [n], then zero bytes up to signs_bytes(padded) */
    void (*encode)(const struct signs_rule *r, const float *x, size_t n, size_t padded,
                   struct signs_left left, uint8_t *codes);

    /* x [n] = value / divisor */
    void (*decode)(const struct signs_rule *r, const uint8_t *codes, size_t n, float divisor,
                   float *x);

    /* as in struct vec_levels */
    void (*sum)(const struct signs_rule *r, const uint8_t *const *parts, int n_parts, size_t skip,
                size_t n, size_t padded, struct signs_left left, uint8_t *codes);
};

extern const struct vec_signs signs_c;

/* The same for many vectors, each with its own rule, one launch each on a GPU. ops: the table that
 * they belong to. */
struct vec_sign_lists {
    /* scan: also fills absmax */
    void (*encode)(const struct vec_ops *ops, struct signs_span *spans, int n_spans, bool scan);
    void (*decode)(const struct vec_ops *ops, const struct signs_out *outs, int n_outs,
                   float divisor);

    /* as in struct vec_level_lists */
    void (*sum)(const struct vec_ops *ops, const uint8_t *const *parts, int n_parts,
                const struct signs_span *spans, int n_spans, uint8_t *codes);
};

extern const struct vec_sign_lists sign_lists_each;

#endif
