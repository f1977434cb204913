/* ratio_cuda.c : converts multiples of a quantile on the GPU. Each call launches and waits;
 * quantiles launch twice. */
#include "device/vec/dev_vec.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include "vec/gpu/lists_cuda.h"
#include "vec/gpu/vec_cuda.h"

/* spans: NULL if there is nothing to do, or after an error */
struct lists {
    struct gpu_lane *lane;
    struct vec_span *spans;
    const struct relative_part *with;
};

static struct lists lists_of(const struct vec_span *spans, const struct relative_part *with, int n)
{
    struct lists l = {.lane = n > 0 ? gpu_lane() : NULL};
    if (l.lane)
        l.with = gpu_lane_items(l.lane, with, n, sizeof *with);
    if (l.with)
        l.spans = gpu_lane_spans(l.lane, spans, n);
    return l;
}

static void quantile(const struct vec_ops *ops, const struct relative_rule *r,
                     struct vec_span *spans, const struct relative_part *with, int n)
{
    (void)ops;
    const struct lists l = lists_of(spans, with, n);
    bool sought = false;
    for (int i = 0; i < n; i++)
        sought = sought || with[i].rank;
    int rc =
        l.spans ? gpu()->vec->absmax(l.spans, n, GPU_LANE_SUM(spans, n, n), l.lane->stream) : 0;
    if (l.spans && rc == 0 && sought)
        rc = gpu()->vec->quantile(r, l.spans, l.with, n, l.lane->stream);
    gpu_lane_absmax(l.lane, l.spans, rc, spans, n);
}

static void encode(const struct vec_ops *ops, const struct relative_rule *r,
                   const struct vec_cast *cast, struct vec_span *spans,
                   const struct relative_part *with, int n, bool scan)
{
    (void)ops;
    const struct lists l = lists_of(spans, with, n);
    const int rc =
        l.spans ? gpu()->vec->ratio_encode(r, cast, l.spans, l.with, n,
                                           GPU_LANE_SUM(spans, n, padded), scan, l.lane->stream)
                : 0;
    if (scan)
        gpu_lane_absmax(l.lane, l.spans, rc, spans, n);
    else if (l.spans)
        (void)gpu_lane_done(l.lane, rc);
}

static void decode(const struct vec_ops *ops, const struct relative_rule *r, struct mf_fmt fmt,
                   const struct vec_out *outs, const struct relative_part *with, int n,
                   float divisor)
{
    (void)ops;
    struct gpu_lane *lane = n > 0 ? gpu_lane() : NULL;
    const struct relative_part *beside = lane ? gpu_lane_items(lane, with, n, sizeof *with) : NULL;
    const struct vec_out *list = beside ? gpu_lane_outs(lane, outs, n) : NULL;
    if (list)
        GPU_LANE_DO(lane, ratio_decode, r, fmt, divisor, list, beside, n, GPU_LANE_SUM(outs, n, n));
}

static void divide(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes, size_t n,
                   float divisor)
{
    (void)ops;
    GPU_LANE_DO(gpu_lane(), divide, cast, codes, n, divisor);
}

static void pinned_divide(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes,
                          size_t n, float divisor)
{
    if (2 * vec_bytes(cast->fmt, n) < VEC_CUDA_SUM_MIN)
        ratio_lists_each.divide(vec_best(), cast, codes, n, divisor);
    else
        divide(ops, cast, codes, n, divisor);
}

#define CASTS .quantile = quantile, .encode = encode, .decode = decode

const struct vec_ratio_lists ratio_lists_cuda = {CASTS, .divide = divide};
const struct vec_ratio_lists ratio_lists_pinned = {CASTS, .divide = pinned_divide};
