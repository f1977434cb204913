/* vec.cuh : declares one function for each slot of dev_vec.h. */
#ifndef VEC_CUH
#define VEC_CUH
#include "device/run/cu.cuh"
#include "device/vec/dev_vec.h"

int vec_gpu_absmax(struct vec_span *spans, int n_spans, size_t n_elems, struct dev_stream *s);
int vec_gpu_encode(const struct vec_cast *cast, struct vec_span *spans, int n_spans, size_t n_elems,
                   struct dev_stream *s);
int vec_gpu_scan_encode(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                        size_t n_elems, struct dev_stream *s);
int vec_gpu_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                   float *x, struct dev_stream *s);
int vec_gpu_decode_all(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                       size_t n_elems, struct dev_stream *s);

int vec_gpu_exponents(const struct vec_scale *scale, const struct vec_span *spans, int n_spans,
                      size_t n_elems, struct dev_stream *s);
int vec_gpu_encode_groups(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                          size_t n_elems, struct dev_stream *s);
int vec_gpu_decode_groups(struct mf_fmt fmt, float divisor, const struct vec_out *spans,
                          int n_spans, size_t n_elems, struct dev_stream *s);
int vec_gpu_decode_blocks(struct mf_fmt fmt, float divisor, const struct vec_out *spans,
                          int n_spans, size_t n_elems, struct dev_stream *s);
int vec_gpu_sum_blocks(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                       size_t n, uint8_t *blocks, struct dev_stream *s);
int vec_gpu_finish_blocks(const struct vec_sum *sum, const uint64_t *acc, size_t n, uint8_t *blocks,
                          struct dev_stream *s);

int vec_gpu_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                       bool first, struct dev_stream *s);
int vec_gpu_finish(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                   int shift, uint8_t *codes, struct dev_stream *s);
int vec_gpu_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n,
                struct dev_stream *s);
int vec_gpu_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                struct mf_fmt out, int shift, uint8_t *codes, struct dev_stream *s);
int vec_gpu_hop(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
                struct mf_fmt out, uint8_t *codes, struct dev_stream *s);
int vec_gpu_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n, uint32_t *largest,
                 struct dev_stream *s);
int vec_gpu_spill(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide,
                  struct dev_stream *s);
int vec_gpu_accumulate_wide(const struct vec_sum *sum, void *acc, const uint8_t *wide, size_t n,
                            bool first, struct dev_stream *s);

int vec_gpu_levels_encode(const struct levels_rule *r, struct vec_span *spans, int n_spans,
                          size_t n_elems, struct dev_stream *s);
int vec_gpu_levels_decode(const struct levels_rule *r, float divisor, const struct vec_out *outs,
                          int n_outs, size_t n_elems, struct dev_stream *s);
int vec_gpu_levels_sum(const struct levels_rule *r, const uint8_t *const *parts, int n_parts,
                       struct vec_span *spans, int n_spans, size_t n_elems, const uint8_t *base,
                       struct dev_stream *s);
int vec_gpu_signs_encode(struct signs_span *spans, int n_spans, size_t n_elems,
                         struct dev_stream *s);
int vec_gpu_signs_decode(float divisor, const struct signs_out *outs, int n_outs, size_t n_elems,
                         struct dev_stream *s);
int vec_gpu_signs_sum(const uint8_t *const *parts, int n_parts, struct signs_span *spans,
                      int n_spans, size_t n_elems, const uint8_t *base, struct dev_stream *s);
int vec_gpu_clip(float times, struct vec_span *spans, int n_spans, struct dev_stream *s);
int vec_gpu_draw(const struct draw_span *spans, int n_spans, size_t n_elems, struct dev_stream *s);
int vec_gpu_counts_decode(const struct counts_rule *r, const struct counts_out *outs, int n_outs,
                          size_t n_elems, struct dev_stream *s);
int vec_gpu_counts_sum(const struct counts_rule *r, const uint8_t *const *parts, int n_parts,
                       size_t n, uint8_t *codes, struct dev_stream *s);
int vec_gpu_counts_add(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                       size_t n, bool first, struct dev_stream *s);
int vec_gpu_counts_spill(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes,
                         struct dev_stream *s);

int vec_gpu_quantile(const struct relative_rule *r, struct vec_span *spans,
                     const struct relative_part *with, int n_spans, struct dev_stream *s);
int vec_gpu_ratio_encode(const struct relative_rule *r, const struct vec_cast *cast,
                         struct vec_span *spans, const struct relative_part *with, int n_spans,
                         size_t n_elems, bool scan, struct dev_stream *s);
int vec_gpu_ratio_decode(const struct relative_rule *r, struct mf_fmt fmt, float divisor,
                         const struct vec_out *outs, const struct relative_part *with, int n_outs,
                         size_t n_elems, struct dev_stream *s);
int vec_gpu_divide(const struct vec_cast *cast, uint8_t *codes, size_t n, float divisor,
                   struct dev_stream *s);

#endif
