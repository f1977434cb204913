/* lists_cuda.c : converts levels, signs and counts on the GPU. Each call launches and waits;
 * clipping launches twice. */
#include "vec/gpu/lists_cuda.h"
#include "device/vec/dev_vec.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include "vec/gpu/vec_cuda.h"

static void levels_encode(const struct vec_ops *ops, const struct levels_rule *r,
                          struct vec_span *spans, int n_spans)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    struct vec_span *list = lane ? gpu_lane_spans(lane, spans, n_spans) : NULL;
    const int rc = list ? gpu()->vec->levels_encode(r, list, n_spans,
                                                    GPU_LANE_SUM(spans, n_spans, n), lane->stream)
                        : 0;
    gpu_lane_absmax(lane, list, rc, spans, n_spans);
}

static void levels_decode(const struct vec_ops *ops, const struct levels_rule *r,
                          const struct vec_out *outs, int n_outs, float divisor)
{
    (void)ops;
    struct gpu_lane *lane = n_outs > 0 ? gpu_lane() : NULL;
    const struct vec_out *list = lane ? gpu_lane_outs(lane, outs, n_outs) : NULL;
    if (list)
        GPU_LANE_DO(lane, levels_decode, r, divisor, list, n_outs, GPU_LANE_SUM(outs, n_outs, n));
}

static void levels_sum(const struct vec_ops *ops, const struct levels_rule *r,
                       const uint8_t *const *parts, int n_parts, const struct vec_span *spans,
                       int n_spans, uint8_t *codes)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    struct vec_span *list = lane ? gpu_lane_spans(lane, spans, n_spans) : NULL;
    const uint8_t **from = list ? gpu_lane_parts(lane, parts, n_parts) : NULL;
    if (from)
        GPU_LANE_DO(lane, levels_sum, r, from, n_parts, list, n_spans,
                    GPU_LANE_SUM(spans, n_spans, n), codes);
}

static void clipped(const struct vec_ops *ops, float times, struct vec_span *spans, int n_spans)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    struct vec_span *list = lane ? gpu_lane_spans(lane, spans, n_spans) : NULL;
    int rc =
        list ? gpu()->vec->absmax(list, n_spans, GPU_LANE_SUM(spans, n_spans, n), lane->stream) : 0;
    if (list && rc == 0)
        rc = gpu()->vec->clip(times, list, n_spans, lane->stream);
    gpu_lane_absmax(lane, list, rc, spans, n_spans);
}

static void draw(const struct vec_ops *ops, const struct draw_span *spans, int n_spans)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    const struct draw_span *list =
        lane ? gpu_lane_items(lane, spans, n_spans, sizeof *spans) : NULL;
    if (list)
        GPU_LANE_DO(lane, draw, list, n_spans, GPU_LANE_SUM(spans, n_spans, padded));
}

static void signs_encode(const struct vec_ops *ops, struct signs_span *spans, int n_spans,
                         bool scan)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    for (int i = 0; i < n_spans && scan; i++)
        spans[i].absmax = 0;
    struct signs_span *list = lane ? gpu_lane_items(lane, spans, n_spans, sizeof *spans) : NULL;
    const int rc = list ? gpu()->vec->signs_encode(
                              list, n_spans, GPU_LANE_SUM(spans, n_spans, padded), lane->stream)
                        : 0;
    const struct signs_span *now = NULL;
    if (list && scan)
        now = gpu_lane_answer(lane, &lane->items, rc);
    else if (list)
        (void)gpu_lane_done(lane, rc);
    for (int i = 0; i < n_spans && scan; i++)
        spans[i].absmax = now ? now[i].absmax : GPU_NOT_FINITE;
}

static void signs_decode(const struct vec_ops *ops, const struct signs_out *outs, int n_outs,
                         float divisor)
{
    (void)ops;
    struct gpu_lane *lane = n_outs > 0 ? gpu_lane() : NULL;
    const struct signs_out *list = lane ? gpu_lane_items(lane, outs, n_outs, sizeof *outs) : NULL;
    if (list)
        GPU_LANE_DO(lane, signs_decode, divisor, list, n_outs, GPU_LANE_SUM(outs, n_outs, n));
}

static void signs_sum(const struct vec_ops *ops, const uint8_t *const *parts, int n_parts,
                      const struct signs_span *spans, int n_spans, uint8_t *codes)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    struct signs_span *list = lane ? gpu_lane_items(lane, spans, n_spans, sizeof *spans) : NULL;
    const uint8_t **from = list ? gpu_lane_parts(lane, parts, n_parts) : NULL;
    if (from)
        GPU_LANE_DO(lane, signs_sum, from, n_parts, list, n_spans,
                    GPU_LANE_SUM(spans, n_spans, padded), codes);
}

static void counts_sum(const struct counts_rule *r, const uint8_t *const *parts, int n_parts,
                       size_t n, uint8_t *codes)
{
    struct gpu_lane *lane = gpu_lane();
    const uint8_t **from = lane ? gpu_lane_parts(lane, parts, n_parts) : NULL;
    if (from)
        GPU_LANE_DO(lane, counts_sum, r, from, n_parts, n, codes);
}

static void counts_add(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                       size_t n, bool first)
{
    GPU_LANE_DO(gpu_lane(), counts_add, r, wide, acc, codes, n, first);
}

static void counts_spill(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes)
{
    GPU_LANE_DO(gpu_lane(), counts_spill, r, acc, n, codes);
}

static void counts_decode(const struct counts_rule *r, const struct counts_out *outs, int n_outs)
{
    struct gpu_lane *lane = n_outs > 0 ? gpu_lane() : NULL;
    const struct counts_out *list = lane ? gpu_lane_items(lane, outs, n_outs, sizeof *outs) : NULL;
    if (list)
        GPU_LANE_DO(lane, counts_decode, r, list, n_outs, GPU_LANE_SUM(outs, n_outs, n));
}

static void pinned_levels_sum(const struct vec_ops *ops, const struct levels_rule *r,
                              const uint8_t *const *parts, int n_parts,
                              const struct vec_span *spans, int n_spans, uint8_t *codes)
{
    size_t bytes = 0;
    for (int i = 0; i < n_spans; i++)
        bytes += (size_t)n_parts * levels_bytes(r, spans[i].n);
    if (bytes < VEC_CUDA_SUM_MIN)
        level_lists_each.sum(vec_best(), r, parts, n_parts, spans, n_spans, codes);
    else
        levels_sum(ops, r, parts, n_parts, spans, n_spans, codes);
}

static bool little(size_t n_words)
{
    return n_words * sizeof(int32_t) < VEC_CUDA_SUM_MIN;
}

static void pinned_counts_sum(const struct counts_rule *r, const uint8_t *const *parts, int n_parts,
                              size_t n, uint8_t *codes)
{
    const bool cpu = little((size_t)n_parts * n / 16);
    (cpu ? counts_c.sum : counts_sum)(r, parts, n_parts, n, codes);
}

static void pinned_counts_add(const struct counts_rule *r, bool wide, int32_t *acc,
                              const uint8_t *codes, size_t n, bool first)
{
    (little(n) ? counts_c.add : counts_add)(r, wide, acc, codes, n, first);
}

static void pinned_counts_spill(const struct counts_rule *r, const int32_t *acc, size_t n,
                                uint8_t *codes)
{
    (little(n) ? counts_c.spill : counts_spill)(r, acc, n, codes);
}

#define LEVELS .encode = levels_encode, .decode = levels_decode, .clipped = clipped, .draw = draw

const struct vec_level_lists level_lists_cuda = {LEVELS, .sum = levels_sum};
const struct vec_level_lists level_lists_pinned = {LEVELS, .sum = pinned_levels_sum};
const struct vec_sign_lists sign_lists_cuda = {
    .encode = signs_encode, .decode = signs_decode, .sum = signs_sum};
const struct vec_counts counts_cuda = {
    .sum = counts_sum, .add = counts_add, .spill = counts_spill, .decode = counts_decode};
const struct vec_counts counts_pinned = {.sum = pinned_counts_sum,
                                         .add = pinned_counts_add,
                                         .spill = pinned_counts_spill,
                                         .decode = counts_decode};
