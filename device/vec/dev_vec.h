/* dev_vec.h : operations on vectors on the GPU: largest magnitude, casts to packed codes and back,
 * sums of codes, with the bits of hls/arith/mf.h, level.h and relative.h. host/vec/vec.h defines
 * layout and operations.
 *
 * Vectors are device memory, fp32 aligned to 4 bytes, VEC_HALF to 2; 16 or 8 bytes are faster.
 * Codes are reachable memory (dev.h). Lists of spans, parts and other arguments must be in device
 * memory, as every block reads them and pinned memory is across the bus. A span's absmax must be 0
 * before a launch that sets it: kernels only raise it. n_elems is the sum of all spans' n, or of
 * their `padded` if codes are written up to it. */
#ifndef DEV_VEC_H
#define DEV_VEC_H
#include "device/run/dev.h"
#include "hls/arith/level_lists.h"
#include "hls/arith/relative_lists.h"

struct dev_vec_ops {
    int (*absmax)(struct vec_span *spans, int n_spans, size_t n_elems, struct dev_stream *s);
    /* Encode every span by its own shift in one launch. */
    int (*encode)(const struct vec_cast *cast, struct vec_span *spans, int n_spans, size_t n_elems,
                  struct dev_stream *s);
    /* Do absmax() and encode() in one pass over x. */
    int (*scan_encode)(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                       size_t n_elems, struct dev_stream *s);

    /* Set x = fp32(code) * 2^shift / divisor. */
    int (*decode)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                  float *x, struct dev_stream *s);
    /* Decode every span by its own shift in one launch. */
    int (*decode_all)(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                      size_t n_elems, struct dev_stream *s);

    /* ---- exponents of groups of elements, and of blocks of results ---- */

    /* encode_groups, decode_groups: encode() and decode_all() for spans with groups. decode_blocks:
     * decode_all() for spans with blocks, perhaps also with groups. The others: as exponents_all,
     * sum_blocks and finish_blocks of vec.h. All spans of a list have groups (blocks) or none has.
     * Exponents are reachable memory. */
    int (*exponents)(const struct vec_scale *scale, const struct vec_span *spans, int n_spans,
                     size_t n_elems, struct dev_stream *s);
    int (*encode_groups)(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                         size_t n_elems, struct dev_stream *s);
    int (*decode_groups)(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                         size_t n_elems, struct dev_stream *s);
    int (*decode_blocks)(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                         size_t n_elems, struct dev_stream *s);
    int (*sum_blocks)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      uint8_t *blocks, struct dev_stream *s);
    int (*finish_blocks)(const struct vec_sum *sum, const uint64_t *acc, size_t n, uint8_t *blocks,
                         struct dev_stream *s);

    /* accumulate to hop, spill and accumulate_wide are those of vec.h. parts: n_parts vectors in
     * reachable memory. */
    int (*accumulate)(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                      bool first, struct dev_stream *s);
    int (*finish)(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                  int shift, uint8_t *codes, struct dev_stream *s);
    int (*add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n,
               struct dev_stream *s);
    int (*sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
               struct mf_fmt out, int shift, uint8_t *codes, struct dev_stream *s);
    int (*hop)(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
               struct mf_fmt out, uint8_t *codes, struct dev_stream *s);
    /* Raise *largest to the result of vec.h's peak. largest: device memory, 0 before. */
    int (*peak)(struct mf_fmt fmt, const uint8_t *codes, size_t n, uint32_t *largest,
                struct dev_stream *s);
    int (*spill)(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide,
                 struct dev_stream *s);
    int (*accumulate_wide)(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                           bool first, struct dev_stream *s);

    /* ---- levels, signs, counts ---- */

    /* hls/arith/level_lists.h defines the lists; vec_levels.h, vec_signs.h and vec_counts.h of
     * host/vec/list the operations. One launch per list. */

    int (*levels_encode)(const struct levels_rule *r, struct vec_span *spans, int n_spans,
                         size_t n_elems, struct dev_stream *s);
    int (*levels_decode)(const struct levels_rule *r, float divisor, const struct vec_out *outs,
                         int n_outs, size_t n_elems, struct dev_stream *s);
    /* Set every span to the sum of the parts. A span's codes begin at some offset from `base`, its
     * addends at the same offset from the beginning of each part. */
    int (*levels_sum)(const struct levels_rule *r, const uint8_t *const *parts, int n_parts,
                      struct vec_span *spans, int n_spans, size_t n_elems, const uint8_t *base,
                      struct dev_stream *s);

    int (*signs_encode)(struct signs_span *spans, int n_spans, size_t n_elems,
                        struct dev_stream *s);
    int (*signs_decode)(float divisor, const struct signs_out *outs, int n_outs, size_t n_elems,
                        struct dev_stream *s);
    int (*signs_sum)(const uint8_t *const *parts, int n_parts, struct signs_span *spans,
                     int n_spans, size_t n_elems, const uint8_t *base, struct dev_stream *s);

    int (*clip)(float times, struct vec_span *spans, int n_spans, struct dev_stream *s);
    int (*draw)(const struct draw_span *spans, int n_spans, size_t n_elems, struct dev_stream *s);
    int (*counts_decode)(const struct counts_rule *r, const struct counts_out *outs, int n_outs,
                         size_t n_elems, struct dev_stream *s);
    int (*counts_sum)(const struct counts_rule *r, const uint8_t *const *parts, int n_parts,
                      size_t n, uint8_t *codes, struct dev_stream *s);
    int (*counts_add)(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                      size_t n, bool first, struct dev_stream *s);
    int (*counts_spill)(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes,
                        struct dev_stream *s);

    /* ---- multiples of a quantile ---- */

    /* hls/arith/relative_lists.h defines the lists, host/vec/list/vec_ratio.h the operations. with:
     * one element per span. quantile() needs the spans' absmax. */

    int (*quantile)(const struct relative_rule *r, struct vec_span *spans,
                    const struct relative_part *with, int n_spans, struct dev_stream *s);
    int (*ratio_encode)(const struct relative_rule *r, const struct vec_cast *cast,
                        struct vec_span *spans, const struct relative_part *with, int n_spans,
                        size_t n_elems, bool scan, struct dev_stream *s);
    int (*ratio_decode)(const struct relative_rule *r, struct mf_fmt fmt, float divisor,
                        const struct vec_out *outs, const struct relative_part *with, int n_outs,
                        size_t n_elems, struct dev_stream *s);
    int (*divide)(const struct vec_cast *cast, uint8_t *codes, size_t n, float divisor,
                  struct dev_stream *s);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_vec_ops dev_vec;

#endif
