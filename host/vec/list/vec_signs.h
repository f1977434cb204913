/* vec_signs.h : vectors as signs and two means a column: what is not negative becomes the mean of
 * all that is not, what is negative the mean of all that is. What that leaves is kept for the next
 * time. Arithmetic: hls/arith/level.h, whatever the instruction set.
 *
 * A column has `column` elements, `stride` apart; `stride` columns stand side by side:
 *
 *     elements    a0 b0 c0 a1 b1 c1 | d0 e0 f0 d1 ...     column = 2, stride = 3
 *     codes       a b c d ...                             each | fp32 mean | fp32 mean of negatives | words of signs |
 *
 * A word is 32 signs, 1 for negative, the first element's lowest; little endian all of it. Elements
 * that a vector lacks at its end count for nothing; their signs are 0. */
#ifndef VEC_SIGNS_H
#define VEC_SIGNS_H
#include "hls/arith/level_lists.h"

struct vec_ops;

/* One of the CPU's backends; as a struct vec_ops says of its own. Vectors begin with a column. */
struct vec_signs {
    /* Codes of x [n] + was [n], and zero bytes from there on to signs_bytes(padded). */
    void (*encode)(const struct signs_rule *r, const float *x, size_t n, size_t padded,
                   struct signs_left left, uint8_t *codes);

    /* x [n] = value / divisor */
    void (*decode)(const struct signs_rule *r, const uint8_t *codes, size_t n, float divisor,
                   float *x);

    /* Values of the parts, each from its byte `skip` on, added in this order by level_add(), and
     * encoded; as encode. */
    void (*sum)(const struct signs_rule *r, const uint8_t *const *parts, int n_parts, size_t skip,
                size_t n, size_t padded, struct signs_left left, uint8_t *codes);
};

/* In plain C, for every CPU. */
extern const struct vec_signs signs_c;

/* The same over many vectors, each with a rule of its own, for codecs: a launch each on a GPU. ops:
 * the table that they are of. */
struct vec_sign_lists {
    /* scan: fills absmax as well. */
    void (*encode)(const struct vec_ops *ops, struct signs_span *spans, int n_spans, bool scan);
    void (*decode)(const struct vec_ops *ops, const struct signs_out *outs, int n_outs,
                   float divisor);

    /* As struct vec_level_lists has it. */
    void (*sum)(const struct vec_ops *ops, const uint8_t *const *parts, int n_parts,
                const struct signs_span *spans, int n_spans, uint8_t *codes);
};

/* Loops over the CPU's own operations. */
extern const struct vec_sign_lists sign_lists_each;

#endif
