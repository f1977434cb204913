/* vec_levels.h : Converts vectors to buckets of levels and back.
 *
 * A bucket has a scale, and a few bits an element. hls/arith/level.h defines the values,
 * hls/arith/level_lists.h the layout. A vector's last bucket has codes only for its elements, with
 * zero codes up to a multiple of LEVEL_BUCKET_UNIT. */
#ifndef VEC_LEVELS_H
#define VEC_LEVELS_H
#include "hls/arith/level_lists.h"
#include "hls/arith/rules.h"

struct vec_ops;

/* One CPU backend, with the conventions of struct vec_ops. Element i of x uses random number at + i
 * of the stream `key`. at: a multiple of the bucket. */
struct vec_levels {
    /* codes [levels_bytes(n)] of x [n]. Returns absmax(x); if it is not finite, codes mean
     * nothing. */
    uint32_t (*encode)(const struct levels_rule *r, const float *x, size_t n, size_t at,
                       uint64_t key, uint8_t *codes);

    /* x [n] = value / divisor */
    void (*decode)(const struct levels_rule *r, const uint8_t *codes, size_t n, float divisor,
                   float *x);

    /* Codes of x [n] without scales: `bits` bits by the sign scheme, on the grid of `scale`. Larger
     * magnitudes are cut to `clip`. Zero codes follow up to `padded`, in whole bytes. */
    void (*draw)(uint32_t bits, float scale, float clip, const float *x, size_t n, size_t padded,
                 size_t at, uint64_t key, uint8_t *codes);

    /* Returns `times` standard deviations, around 0, of x [n], n > 0. max: its largest
     * magnitude. */
    float (*deviations)(const float *x, size_t n, float max, float times);

    /* Adds the parts' values in this order by level_add(), each part from its byte `skip` on, and
     * encodes the sums. */
    void (*sum)(const struct levels_rule *r, const uint8_t *const *parts, int n_parts, size_t skip,
                size_t n, size_t at, uint64_t key, uint8_t *codes);
};

extern const struct vec_levels levels_c;

/* The same for many vectors, one launch each on a GPU. ops: the table that they belong to. Codes of
 * vectors that are not finite mean nothing. */
struct vec_level_lists {
    /* Also fills absmax. `padded` is ignored: no codes follow those of a span's elements. */
    void (*encode)(const struct vec_ops *ops, const struct levels_rule *r, struct vec_span *spans,
                   int n_spans);
    void (*decode)(const struct vec_ops *ops, const struct levels_rule *r,
                   const struct vec_out *outs, int n_outs, float divisor);

    /* spans: of sums, with codes inside `codes`. A part's addends have the same place in that
     * part. */
    void (*sum)(const struct vec_ops *ops, const struct levels_rule *r, const uint8_t *const *parts,
                int n_parts, const struct vec_span *spans, int n_spans, uint8_t *codes);

    /* absmax after clipping at `times` deviations; unclipped where not finite. */
    void (*clipped)(const struct vec_ops *ops, float times, struct vec_span *spans, int n_spans);

    /* draw() with 2 bits. */
    void (*draw)(const struct vec_ops *ops, const struct draw_span *spans, int n_spans);
};

extern const struct vec_level_lists level_lists_each;

#endif
