/* vec_signs.h : vectors as signs and two means a column: what is not negative becomes the mean of
 * all that is not, what is negative the mean of all that is. What that leaves is kept for the next
 * time. Arithmetic: hls/level.h, whatever the instruction set.
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
#include <stddef.h>
#include <stdint.h>
#include "hls/level.h"

struct signs_rule {
    size_t column, stride; /* > 0; a bucket of consecutive elements is a column of stride 1 */
};

static inline size_t signs_column_bytes(const struct signs_rule *r)
{
    return 2 * sizeof(float) + (r->column + 31) / 32 * sizeof(uint32_t);
}

/* Bytes of n elements. */
static inline size_t signs_bytes(const struct signs_rule *r, size_t n)
{
    const size_t run = r->column * r->stride;
    return (n + run - 1) / run * r->stride * signs_column_bytes(r);
}

/* What encoding leaves of each element: as it was, as it becomes. NULL both: nothing is kept. */
struct signs_left {
    const float *was;
    float *next;
};

/* One backend; as a struct vec_ops says of its own. Vectors begin with a column. */
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

#endif
