/* vec_levels.h : vectors as buckets of levels: a scale and a few bits an element. The numbers are
 * those of hls/level.h, whatever the instruction set.
 *
 *     a bucket    | fp32 scale, little endian | codes of its elements, packed as vec.h packs them |
 *
 * The last bucket of a vector is as long as all others; codes of what it lacks are 0. */
#ifndef VEC_LEVELS_H
#define VEC_LEVELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/level.h"

struct levels_rule {
    struct level_scheme scheme;
    uint32_t bucket; /* elements: a multiple of LEVEL_BUCKET_UNIT, LEVEL_BUCKET_MAX at most */
    bool norm2;      /* the scale is the bucket's 2-norm; else its largest magnitude */
};

/* Bytes of n elements. */
static inline size_t levels_bytes(const struct levels_rule *r, size_t n)
{
    return (n + r->bucket - 1) / r->bucket * (sizeof(float) + r->bucket / 8 * r->scheme.bits);
}

/* One backend; as a struct vec_ops says of its own. Element i of x is element at + i of the stream
 * `key`: `at` is a multiple of the bucket. */
struct vec_levels {
    /* Codes of x [n], zero bytes from there on to levels_bytes(padded). Returns absmax of x: codes
     * of what is not finite mean nothing. */
    uint32_t (*encode)(const struct levels_rule *r, const float *x, size_t n, size_t padded,
                       size_t at, uint64_t key, uint8_t *codes);

    /* x [n] = value / divisor */
    void (*decode)(const struct levels_rule *r, const uint8_t *codes, size_t n, float divisor,
                   float *x);

    /* Codes of x [n] alone, by the sign scheme of so many bits, on the grid of `scale`; magnitudes
     * above `clip` are it. Zero codes from there on to `padded`: whole bytes. */
    void (*draw)(uint32_t bits, float scale, float clip, const float *x, size_t n, size_t padded,
                 size_t at, uint64_t key, uint8_t *codes);

    /* So many standard deviations, from 0, of x [n], n > 0, whose largest magnitude is max. */
    float (*deviations)(const float *x, size_t n, float max, float times);

    /* Values of the parts, each from its byte `skip` on, added in this order by level_add(), and
     * encoded; as encode. */
    void (*sum)(const struct levels_rule *r, const uint8_t *const *parts, int n_parts, size_t skip,
                size_t n, size_t padded, size_t at, uint64_t key, uint8_t *codes);
};

/* In plain C, for every CPU. */
extern const struct vec_levels levels_c;

#endif
