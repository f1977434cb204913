/* vec_levels.h : converts vectors to buckets of levels and back.
 *
 * A bucket has one scale, and a few bits per element (values: hls/arith/level.h, layout:
 * level_lists.h). A vector's last bucket may be shorter; zero codes follow it up to a multiple of
 * LEVEL_BUCKET_UNIT. */
#ifndef VEC_LEVELS_H
#define VEC_LEVELS_H
#include "hls/arith/level_lists.h"
#include "hls/arith/rules.h"

struct vec_ops;

/* One CPU backend (conventions: struct vec_ops). Element i of x is rounded with random number at +
 * i of the stream `key`. at: a multiple of the bucket's length, for draw() of 4. */
struct vec_levels {
    /* Encodes x[n] to codes[levels_bytes(n)]. Returns absmax(x); if it is not finite, codes are
     * undefined. */
    uint32_t (*encode)(const struct levels_rule *r, const float *x, size_t n, size_t at,
                       uint64_t key, uint8_t *codes);

    /* x[n] = value of the code / divisor */
    void (*decode)(const struct levels_rule *r, const uint8_t *codes, size_t n, float divisor,
                   float *x);

    /* Encodes x[n] without scales, to `bits` bits by the sign scheme on the grid of `scale`.
     * Magnitudes above `clip`, at most `scale`, become `clip`; LEVEL_FLT_MAX for no limit, if no
     * magnitude is above `scale`. Writes zero codes from n to `padded`. */
    void (*draw)(uint32_t bits, float scale, float clip, const float *x, size_t n, size_t padded,
                 size_t at, uint64_t key, uint8_t *codes);

    /* Returns `times` standard deviations of x[n] around 0. n > 0. max: absmax(x) as a float. */
    float (*deviations)(const float *x, size_t n, float max, float times);

    /* Adds the values of the parts in this order, by level_add(), and encodes the sums. Codes begin
     * at byte `skip` of each part. */
    void (*sum)(const struct levels_rule *r, const uint8_t *const *parts, int n_parts, size_t skip,
                size_t n, size_t at, uint64_t key, uint8_t *codes);
};

extern const struct vec_levels levels_c;

/* Many vectors. Codes of a vector with an inf or nan are undefined. */
struct vec_level_lists {
    /* Encodes every span to levels_bytes(n) bytes and sets its absmax. Ignores `padded`. */
    void (*encode)(const struct vec_ops *ops, const struct levels_rule *r, struct vec_span *spans,
                   int n_spans);
    void (*decode)(const struct vec_ops *ops, const struct levels_rule *r,
                   const struct vec_out *outs, int n_outs, float divisor);

    /* Sets the codes of every span, which lie inside `codes`, to the sums of the parts at the same
     * offset. */
    void (*sum)(const struct vec_ops *ops, const struct levels_rule *r, const uint8_t *const *parts,
                int n_parts, const struct vec_span *spans, int n_spans, uint8_t *codes);

    /* Sets every absmax to the span's largest magnitude, at most `times` standard deviations. A
     * span with an inf or nan is not clipped. */
    void (*clipped)(const struct vec_ops *ops, float times, struct vec_span *spans, int n_spans);

    /* vec_levels.draw() with 2 bits for every span */
    void (*draw)(const struct vec_ops *ops, const struct draw_span *spans, int n_spans);
};

extern const struct vec_level_lists level_lists_each;

#endif
