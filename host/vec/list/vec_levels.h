/* vec_levels.h : vectors as buckets of levels: a scale and a few bits an element. The numbers are
 * those of hls/arith/level.h, the layout that of hls/arith/level_lists.h, whatever the instruction set.
 *
 * The last bucket of a vector has codes for its elements, up to a multiple of LEVEL_BUCKET_UNIT; codes
 * of what it lacks are 0. */
#ifndef VEC_LEVELS_H
#define VEC_LEVELS_H
#include "hls/arith/level_lists.h"
#include "hls/arith/rules.h"

struct vec_ops;

/* One of the CPU's backends; as a struct vec_ops says of its own. Element i of x is element at + i of the stream
 * `key`: `at` is a multiple of the bucket. */
struct vec_levels {
    /* Codes of x [n]: levels_bytes(n). Returns absmax of x: codes of what is not finite mean
     * nothing. */
    uint32_t (*encode)(const struct levels_rule *r, const float *x, size_t n, size_t at,
                       uint64_t key, uint8_t *codes);

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
                size_t n, size_t at, uint64_t key, uint8_t *codes);
};

/* In plain C, for every CPU. */
extern const struct vec_levels levels_c;

/* The same over many vectors, for codecs: a launch each on a GPU. ops: the table that they are of.
 * Codes of what is not finite mean nothing. */
struct vec_level_lists {
    /* Fills absmax on the way. A span has no codes behind its elements': padded means nothing. */
    void (*encode)(const struct vec_ops *ops, const struct levels_rule *r, struct vec_span *spans,
                   int n_spans);
    void (*decode)(const struct vec_ops *ops, const struct levels_rule *r,
                   const struct vec_out *outs, int n_outs, float divisor);

    /* spans: of sums, whose codes are in `codes`; each of the parts has its addends where `codes`
     * has the sums. */
    void (*sum)(const struct vec_ops *ops, const struct levels_rule *r, const uint8_t *const *parts,
                int n_parts, const struct vec_span *spans, int n_spans, uint8_t *codes);

    /* absmax of what clipping at so many deviations leaves; of what is not finite as it is. */
    void (*clipped)(const struct vec_ops *ops, float times, struct vec_span *spans, int n_spans);

    /* draw() of 2 bits. */
    void (*draw)(const struct vec_ops *ops, const struct draw_span *spans, int n_spans);
};

/* Loops over the CPU's own operations. */
extern const struct vec_level_lists level_lists_each;

#endif
