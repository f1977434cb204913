/* dev_vec.h : vectors on the GPU: largest magnitude, cast to packed codes and back, sums of codes.
 * The bits of hls/arith/mf.h, hls/arith/level.h and hls/arith/relative.h.
 *
 * Packed layout and the meaning of every operation: host/vec/vec.h, whose GPU backend is made of
 * these. fp32 vectors are device memory, 4-byte aligned (16 is faster), those of VEC_HALF on 2 bytes
 * (8); codes are reachable memory (dev.h). Lists of spans, of parts and of all else that a kernel is
 * told lie in device memory, where every block reads them (reachable memory is read over the bus, by
 * each). absmax of a list that a launch finds it for is
 * 0 before: kernels raise it, and nobody launches one to clear it. */
#ifndef DEV_VEC_H
#define DEV_VEC_H
#include "device/run/dev.h"
#include "hls/arith/level_lists.h"
#include "hls/arith/relative_lists.h"

/* What aps() does to find a layer's shift itself, without other ranks. */
struct dev_aps {
    struct vec_cast cast;
    bool tight;       /* aps-tight, else aps */
    uint32_t n_ranks; /* P of the head-room */
};

struct dev_vec_ops {
    /* absmax of every span, 0 before, all in one launch. n_elems: sum of their n. */
    int (*absmax)(struct vec_span *spans, int n_spans, size_t n_elems, struct dev_stream *s);
    /* codes of every span by its own shift, all in one launch. */
    int (*encode)(const struct vec_cast *cast, struct vec_span *spans, int n_spans, size_t n_elems,
                  struct dev_stream *s);
    /* Both in one pass over x. */
    int (*scan_encode)(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                       size_t n_elems, struct dev_stream *s);
    /* Of every span of floats absmax, the shift that follows from it, and the codes, all in one launch: x
     * is read from memory once where it fits the chip. absmax and shift: 0 before, out. n_elems: sum
     * of their padded. */
    int (*aps)(const struct dev_aps *aps, struct vec_span *spans, int n_spans, size_t n_elems,
               struct dev_stream *s);

    /* x = fp32(code) * 2^shift / divisor, or x += that (add). */
    int (*decode)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                  bool add, float *x, struct dev_stream *s);
    /* x of every span by its own shift, all in one launch. n_elems: sum of their n. */
    int (*decode_all)(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                      size_t n_elems, struct dev_stream *s);

    /* vec.h's fold, finish, add, sum, hop, spill, fold_wide. parts: [n_parts] list of reachable
     * vectors. */
    int (*fold)(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n, bool first,
                struct dev_stream *s);
    int (*finish)(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                  int shift, uint8_t *codes, struct dev_stream *s);
    int (*add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n,
               struct dev_stream *s);
    int (*sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
               struct mf_fmt out, int shift, uint8_t *codes, struct dev_stream *s);
    int (*hop)(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
               struct mf_fmt out, uint8_t *codes, struct dev_stream *s);
    /* *largest = the larger of itself and vec.h's peak: device memory, 0 before */
    int (*peak)(struct mf_fmt fmt, const uint8_t *codes, size_t n, uint32_t *largest,
                struct dev_stream *s);
    int (*spill)(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide,
                 struct dev_stream *s);
    int (*fold_wide)(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                     bool first, struct dev_stream *s);

    /* ---- levels, signs, counts: hls/arith/level_lists.h; what each does, host/vec/list/vec_levels.h,
     * vec_signs.h, vec_counts.h. All of a list in one launch. n_elems: sum of their n, of what is
     * encoded of their padded ---- */

    int (*levels_encode)(const struct levels_rule *r, struct vec_span *spans, int n_spans,
                         size_t n_elems, struct dev_stream *s);
    int (*levels_decode)(const struct levels_rule *r, float divisor, const struct vec_out *outs,
                         int n_outs, size_t n_elems, struct dev_stream *s);
    /* Span by span the parts from the byte on that its codes begin at behind `base`. */
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

    /* ---- multiples of a quantile: hls/arith/relative_lists.h; what each does, host/vec/list/vec_ratio.h.
     * with: [n_spans]. quantile() finds absmax filled ---- */

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
