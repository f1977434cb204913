/* level_lists.h : layouts of codes (levels, signs, counts) and vectors to encode or decode, for
 * CPU and GPU backends. Codes are little endian:
 *
 *     levels   per bucket: | fp32 scale | codes of its elements, packed as in vec.h |
 *     signs    per column: | fp32 mean of non-negatives | fp32 mean of negatives | words of signs |
 *     counts   per element, in `bits` bits: | n_ranks + sum |     sum: of a -1, 0 or 1 per rank */
#ifndef LEVEL_LISTS_H
#define LEVEL_LISTS_H
#include "hls/arith/level.h"
#include "hls/arith/rules.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- levels ---- */

struct levels_rule {
    struct level_scheme scheme;
    uint32_t bucket; /* elements: a multiple of LEVEL_BUCKET_UNIT, at most LEVEL_BUCKET_MAX */
    bool norm2;      /* the scale is the bucket's 2-norm, else its largest magnitude */
};

/* Return the number of codes of a bucket with n elements. A vector's last bucket is padded only to
 * a multiple of LEVEL_BUCKET_UNIT. */
LEVEL_FN size_t levels_codes_of(const struct levels_rule *r, size_t n)
{
    return n < r->bucket ? (n + LEVEL_BUCKET_UNIT - 1) / LEVEL_BUCKET_UNIT * LEVEL_BUCKET_UNIT
                         : r->bucket;
}

LEVEL_FN size_t levels_bytes(const struct levels_rule *r, size_t n)
{
    const size_t rest = n % r->bucket, last = levels_codes_of(r, rest);
    return n / r->bucket * (sizeof(float) + r->bucket / 8 * r->scheme.bits) +
           (rest ? sizeof(float) + last / 8 * r->scheme.bits : 0);
}

/* A vector to encode in scheme `sign` with a scale that is not stored with the codes. Magnitudes
 * above `clip` become `clip`. */
struct draw_span {
    const void *x; /* [n] of `type` */
    enum vec_type type;
    uint8_t *codes;   /* out: n codes, then zero codes up to `padded` */
    size_t n, padded; /* multiples of 8, except n at the end of a layer */
    size_t at;        /* index of x[0]'s random word in stream `key`: a multiple of 4 */
    uint64_t key;
    float scale, clip;
};

/* ---- signs ---- */

struct signs_rule {
    /* > 0: elements of a column, and their distance. With stride 1, a column is a bucket of
     * consecutive elements. */
    size_t column, stride;
};

LEVEL_FN size_t signs_column_bytes(const struct signs_rule *r)
{
    return 2 * sizeof(float) + (r->column + 31) / 32 * sizeof(uint32_t);
}

/* Return the number of columns of n elements: `stride` in each run of column * stride elements,
 * even in an incomplete last run. */
LEVEL_FN size_t signs_columns(const struct signs_rule *r, size_t n)
{
    const size_t run = r->column * r->stride;
    return (n + run - 1) / run * r->stride;
}

LEVEL_FN size_t signs_bytes(const struct signs_rule *r, size_t n)
{
    return signs_columns(r, n) * signs_column_bytes(r);
}

/* Residuals: the encoding error of each element. was: from the previous step; next: output, from
 * this step. NULL: not kept. */
struct signs_left {
    const float *was;
    float *next;
};

struct signs_span {
    const void *x; /* [n] of `type`; unused if codes are summed */
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
