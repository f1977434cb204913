/* dev_vec.h : vectors on the GPU: largest magnitude, cast to packed codes and back, sums of codes.
 * The bits of hls/mf.h.
 *
 * Packed layout and the meaning of every operation: host/vec/vec.h, whose GPU backend is made of
 * these. fp32 vectors are device memory, 4-byte aligned (16 is faster); codes, lists of spans and
 * results are reachable memory (dev.h). */
#ifndef DEV_VEC_H
#define DEV_VEC_H
#include "device/dev.h"
#include "hls/rules.h"

/* What aps() does to find a layer's shift itself, without other ranks. */
struct dev_aps {
    struct vec_cast cast;
    bool tight;       /* aps-tight, else aps */
    uint32_t n_ranks; /* P of the head-room */
};

struct dev_vec_ops {
    /* absmax of every span, all in one launch. n_elems: sum of their n. */
    int (*absmax)(struct vec_span *spans, int n_spans, size_t n_elems, struct dev_stream *s);
    /* codes of every span by its own shift, all in one launch. */
    int (*encode)(const struct vec_cast *cast, struct vec_span *spans, int n_spans, size_t n_elems,
                  struct dev_stream *s);
    /* Both in one pass over x. */
    int (*scan_encode)(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                       size_t n_elems, struct dev_stream *s);
    /* absmax, the shift that follows from it (left in span.shift), and the codes: x is read from
     * memory once where it fits the chip. One span. */
    int (*aps)(const struct dev_aps *aps, struct vec_span *span, size_t n, struct dev_stream *s);

    /* x = fp32(code) * 2^shift / divisor, or x += that (add). */
    int (*decode)(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                  bool add, float *x, struct dev_stream *s);
    /* x of every span by its own shift, all in one launch. n_elems: sum of their n. */
    int (*decode_all)(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                      size_t n_elems, struct dev_stream *s);

    /* vec.h's fold, finish, add, sum, spill, fold_wide. parts: [n_parts] reachable list of
     * reachable vectors. */
    int (*fold)(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n, bool first,
                struct dev_stream *s);
    int (*finish)(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                  int shift, uint8_t *codes, struct dev_stream *s);
    int (*add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n,
               struct dev_stream *s);
    int (*sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
               struct mf_fmt out, int shift, uint8_t *codes, struct dev_stream *s);
    int (*spill)(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide,
                 struct dev_stream *s);
    int (*fold_wide)(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                     bool first, struct dev_stream *s);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_vec_ops dev_vec;

#endif
