/* level_lists.h : vectors as levels, as signs and as counts: how their codes lie, and lists of them,
 * as plain data that CPU and GPU backends share. Arithmetic: level.h.
 *
 *     levels    bucket     | fp32 scale | codes of its elements, packed as vec.h packs them |
 *     signs     column     | fp32 mean | fp32 mean of negatives | words of signs |
 *     counts    a sum of numbers -1, 0, 1 of n_ranks ranks, plus n_ranks: `bits` bits, packed
 *
 * Little endian all of it. */
#ifndef LEVEL_LISTS_H
#define LEVEL_LISTS_H
#include "hls/arith/level.h"
#include "hls/arith/rules.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- levels ---- */

struct levels_rule {
    struct level_scheme scheme;
    uint32_t bucket; /* elements: a multiple of LEVEL_BUCKET_UNIT, LEVEL_BUCKET_MAX at most */
    bool norm2;      /* the scale is the bucket's 2-norm; else its largest magnitude */
};

/* Codes of a bucket of which n elements are there: a vector's last one has a few more than those, not
 * as many as the others. */
LEVEL_FN size_t levels_codes_of(const struct levels_rule *r, size_t n)
{
    return n < r->bucket ? (n + LEVEL_BUCKET_UNIT - 1) / LEVEL_BUCKET_UNIT * LEVEL_BUCKET_UNIT
                         : r->bucket;
}

/* Bytes of n elements. */
LEVEL_FN size_t levels_bytes(const struct levels_rule *r, size_t n)
{
    const size_t rest = n % r->bucket, last = levels_codes_of(r, rest);
    return n / r->bucket * (sizeof(float) + r->bucket / 8 * r->scheme.bits) +
           (rest ? sizeof(float) + last / 8 * r->scheme.bits : 0);
}

/* Codes alone, by the sign scheme, on the grid of `scale`; magnitudes above `clip` are it. */
struct draw_span {
    const void *x; /* [n] of `type` */
    enum vec_type type;
    uint8_t *codes;   /* out: zero codes from n up to padded */
    size_t n, padded; /* multiples of 8 but for an n that ends a layer */
    size_t at;        /* index of x[0] in the stream `key`: a multiple of 4 */
    uint64_t key;
    float scale, clip;
};

/* ---- signs ---- */

struct signs_rule {
    size_t column, stride; /* > 0; a bucket of consecutive elements is a column of stride 1 */
};

LEVEL_FN size_t signs_column_bytes(const struct signs_rule *r)
{
    return 2 * sizeof(float) + (r->column + 31) / 32 * sizeof(uint32_t);
}

/* Columns of n elements, those that a run lacks included. */
LEVEL_FN size_t signs_columns(const struct signs_rule *r, size_t n)
{
    const size_t run = r->column * r->stride;
    return (n + run - 1) / run * r->stride;
}

/* Bytes of n elements. */
LEVEL_FN size_t signs_bytes(const struct signs_rule *r, size_t n)
{
    return signs_columns(r, n) * signs_column_bytes(r);
}

/* What encoding leaves of each element: as it was, as it becomes. NULL both: nothing is kept. */
struct signs_left {
    const float *was;
    float *next;
};

struct signs_span {
    const void *x; /* [n] of `type`; of sums: none */
    enum vec_type type;
    uint8_t *codes; /* out: [signs_bytes(padded)] */
    size_t n, padded;
    struct signs_rule rule;
    struct signs_left left;
    uint32_t absmax; /* out: fp32 bits of the largest |x| */
};

struct signs_out {
    void *x; /* out: [n] of `type` */
    enum vec_type type;
    const uint8_t *codes;
    size_t n;
    struct signs_rule rule;
};

/* ---- counts ---- */

struct counts_rule {
    int32_t n_ranks;
    uint32_t bits; /* of a sum: 2 to 24 */
};

struct counts_out {
    void *x; /* out: [n] of `type` = sum / n_ranks * max */
    enum vec_type type;
    const uint8_t *codes;
    size_t n;
    float max;
};

#endif
