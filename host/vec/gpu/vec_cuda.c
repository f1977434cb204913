/* vec_cuda.c : implements the table of vec.h on the GPU. */
#include "vec/gpu/vec_cuda.h"
#include "device/vec/dev_vec.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include "vec/gpu/lists_cuda.h"
#include <string.h>

enum pass { ABSMAX, ENCODE, SCAN_ENCODE };

/* list: the device's copy of spans */
static int launch(enum pass pass, const struct vec_cast *cast, const struct vec_span *spans,
                  struct vec_span *list, int n_spans, struct dev_stream *s)
{
    const struct dev_vec_ops *vec = gpu()->vec;
    if (pass == ABSMAX)
        return vec->absmax(list, n_spans, GPU_LANE_SUM(spans, n_spans, n), s);
    return (pass == SCAN_ENCODE ? vec->scan_encode
            : spans[0].group
                ? vec->encode_groups
                : vec->encode)(cast, list, n_spans, GPU_LANE_SUM(spans, n_spans, padded), s);
}

static void all_spans(enum pass pass, const struct vec_cast *cast, struct vec_span *spans,
                      int n_spans)
{
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    struct vec_span *list = lane ? gpu_lane_spans(lane, spans, n_spans) : NULL;
    const int rc = list ? launch(pass, cast, spans, list, n_spans, lane->stream) : 0;
    if (pass != ENCODE)
        gpu_lane_absmax(lane, list, rc, spans, n_spans);
    else if (list)
        (void)gpu_lane_done(lane, rc);
}

static void cuda_absmax_all(const struct vec_ops *ops, struct vec_span *spans, int n_spans)
{
    (void)ops;
    all_spans(ABSMAX, NULL, spans, n_spans);
}
static void cuda_encode_all(const struct vec_ops *ops, const struct vec_cast *cast,
                            struct vec_span *spans, int n_spans)
{
    (void)ops;
    all_spans(ENCODE, cast, spans, n_spans);
}
static void cuda_scan_encode_all(const struct vec_ops *ops, const struct vec_cast *cast,
                                 struct vec_span *spans, int n_spans)
{
    (void)ops;
    all_spans(SCAN_ENCODE, cast, spans, n_spans);
}

static uint32_t cuda_absmax(const float *x, size_t n)
{
    struct vec_span span = {.x = x, .n = n, .padded = n};
    all_spans(ABSMAX, NULL, &span, 1);
    return span.absmax;
}

static struct vec_span one_span(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                                int shift, uint8_t *codes)
{
    return (struct vec_span){
        .x = x, .codes = codes, .n = n, .padded = n, .at = at, .key = cast->key, .shift = shift};
}

static void cuda_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                        uint8_t *codes)
{
    struct vec_span span = one_span(cast, x, n, at, shift, codes);
    all_spans(ENCODE, cast, &span, 1);
}

static uint32_t cuda_scan_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                                 int shift, uint8_t *codes)
{
    struct vec_span span = one_span(cast, x, n, at, shift, codes);
    all_spans(SCAN_ENCODE, cast, &span, 1);
    return span.absmax;
}

static void cuda_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                        float *x)
{
    GPU_LANE_DO(gpu_lane(), decode, fmt, codes, n, shift, divisor, x);
}

static void cuda_decode_all(const struct vec_ops *ops, struct mf_fmt fmt,
                            const struct vec_out *spans, int n_spans, float divisor)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    const struct vec_out *list = lane ? gpu_lane_outs(lane, spans, n_spans) : NULL;
    if (list)
        (void)gpu_lane_done(
            lane, (spans[0].block   ? gpu()->vec->decode_blocks
                   : spans[0].group ? gpu()->vec->decode_groups
                                    : gpu()->vec->decode_all)(
                      fmt, divisor, list, n_spans, GPU_LANE_SUM(spans, n_spans, n), lane->stream));
}

static void cuda_exponents_all(const struct vec_ops *ops, const struct vec_scale *scale,
                               struct vec_span *spans, int n_spans)
{
    (void)ops;
    struct gpu_lane *lane = n_spans > 0 ? gpu_lane() : NULL;
    const struct vec_span *list = lane ? gpu_lane_spans(lane, spans, n_spans) : NULL;
    const int rc = list ? gpu()->vec->exponents(scale, list, n_spans,
                                                GPU_LANE_SUM(spans, n_spans, n), lane->stream)
                        : 0;
    const int8_t *found = list ? gpu_lane_answer(lane, &lane->exponents, rc) : NULL;
    for (int i = 0; i < n_spans; i++) {
        const size_t n = vec_n_groups(spans[i].n, scale->group);
        if (found)
            memcpy(spans[i].exponents, found, n), found += n;
        else
            memset(spans[i].exponents, VEC_NOT_FINITE, n);
    }
}

/* ---- sums, always on the GPU ---- */

static void cuda_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                            bool first)
{
    GPU_LANE_DO(gpu_lane(), accumulate, sum, acc, codes, n, first);
}

static void cuda_finish(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                        int shift, uint8_t *codes)
{
    GPU_LANE_DO(gpu_lane(), finish, sum, acc, n, out, shift, codes);
}

static void cuda_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    GPU_LANE_DO(gpu_lane(), add, sum, acc, codes, n);
}

static void cuda_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes)
{
    struct gpu_lane *lane = gpu_lane();
    const uint8_t **list = lane ? gpu_lane_parts(lane, parts, n_parts) : NULL;
    if (list)
        GPU_LANE_DO(lane, sum, sum, list, n_parts, n, out, shift, codes);
}

static void cuda_finish_blocks(const struct vec_ops *ops, const struct vec_sum *sum,
                               const uint64_t *acc, size_t n, uint8_t *blocks)
{
    (void)ops;
    GPU_LANE_DO(gpu_lane(), finish_blocks, sum, acc, n, blocks);
}

static void cuda_sum_blocks(const struct vec_ops *ops, const struct vec_sum *sum,
                            const uint8_t *const *parts, int n_parts, size_t n, uint8_t *blocks)
{
    (void)ops;
    struct gpu_lane *lane = gpu_lane();
    const uint8_t **list = lane ? gpu_lane_parts(lane, parts, n_parts) : NULL;
    if (list)
        GPU_LANE_DO(lane, sum_blocks, sum, list, n_parts, n, blocks);
}

static void cuda_hop(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends,
                     size_t n, struct mf_fmt out, uint8_t *codes)
{
    GPU_LANE_DO(gpu_lane(), hop, sum, partial, addends, n, out, codes);
}

static uint32_t cuda_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n)
{
    const struct vec_span none = {.absmax = 0};
    struct gpu_lane *lane = gpu_lane();
    struct vec_span *found = lane ? gpu_lane_spans(lane, &none, 1) : NULL;
    const int rc = found ? gpu()->vec->peak(fmt, codes, n, &found->absmax, lane->stream) : 0;
    const struct vec_span *now = found ? gpu_lane_answer(lane, &lane->spans, rc) : NULL;
    return now ? now->absmax : 0;
}

static void cuda_spill(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide)
{
    GPU_LANE_DO(gpu_lane(), spill, sum, acc, n, wide);
}

static void cuda_accumulate_wide(const struct vec_sum *sum, void *acc, const uint8_t *wide,
                                 size_t n, bool first)
{
    GPU_LANE_DO(gpu_lane(), accumulate_wide, sum, acc, wide, n, first);
}

/* ---- sums in pinned memory: small ones on the CPU ---- */

static bool little(size_t bytes)
{
    return bytes < VEC_CUDA_SUM_MIN;
}

static void pinned_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes, size_t n,
                              bool first)
{
    (little(vec_acc_bytes(sum, n)) ? vec_best()->accumulate : cuda_accumulate)(sum, acc, codes, n,
                                                                               first);
}

static void pinned_finish(const struct vec_sum *sum, const void *acc, size_t n, struct mf_fmt out,
                          int shift, uint8_t *codes)
{
    (little(vec_acc_bytes(sum, n)) ? vec_best()->finish : cuda_finish)(sum, acc, n, out, shift,
                                                                       codes);
}

static void pinned_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    (little(2 * vec_bytes(sum->in, n)) ? vec_best()->add : cuda_add)(sum, acc, codes, n);
}

static void pinned_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                       size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    const bool cpu = little((size_t)n_parts * vec_bytes(sum->in, n));
    (cpu ? vec_best()->sum : cuda_sum)(sum, parts, n_parts, n, out, shift, codes);
}

static void pinned_finish_blocks(const struct vec_ops *ops, const struct vec_sum *sum,
                                 const uint64_t *acc, size_t n, uint8_t *blocks)
{
    if (little(vec_acc_bytes(sum, n)))
        vec_best()->finish_blocks(vec_best(), sum, acc, n, blocks);
    else
        cuda_finish_blocks(ops, sum, acc, n, blocks);
}

static void pinned_sum_blocks(const struct vec_ops *ops, const struct vec_sum *sum,
                              const uint8_t *const *parts, int n_parts, size_t n, uint8_t *blocks)
{
    if (little((size_t)n_parts * vec_bytes(sum->in, n)))
        vec_best()->sum_blocks(vec_best(), sum, parts, n_parts, n, blocks);
    else
        cuda_sum_blocks(ops, sum, parts, n_parts, n, blocks);
}

static void pinned_hop(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends,
                       size_t n, struct mf_fmt out, uint8_t *codes)
{
    const bool cpu = little(vec_bytes(sum->in, n) + vec_bytes(sum->acc, n));
    (cpu ? vec_best()->hop : cuda_hop)(sum, partial, addends, n, out, codes);
}

static uint32_t pinned_peak(struct mf_fmt fmt, const uint8_t *codes, size_t n)
{
    return (little(vec_bytes(fmt, n)) ? vec_best()->peak : cuda_peak)(fmt, codes, n);
}

static void pinned_spill(const struct vec_sum *sum, const void *acc, size_t n, uint8_t *wide)
{
    (little(vec_acc_bytes(sum, n)) ? vec_best()->spill : cuda_spill)(sum, acc, n, wide);
}

static void pinned_accumulate_wide(const struct vec_sum *sum, void *acc, const uint8_t *wide,
                                   size_t n, bool first)
{
    (little(vec_acc_bytes(sum, n)) ? vec_best()->accumulate_wide
                                   : cuda_accumulate_wide)(sum, acc, wide, n, first);
}

static void *alloc_device(size_t bytes)
{
    return gpu()->run->alloc(bytes);
}
/* Codes may be shared with other processes (dev_run_ops.ipc_export). */
static void *alloc_shared(size_t bytes)
{
    return alloc_device(bytes < DEV_IPC_BYTES ? DEV_IPC_BYTES : bytes);
}
static void free_device(void *p)
{
    if (p)
        gpu()->run->free(p);
}
static void *alloc_pinned(size_t bytes)
{
    return gpu()->run->alloc_pinned(bytes);
}
static void free_pinned(void *p)
{
    if (p)
        gpu()->run->free_pinned(p);
}

static void cuda_copy(void *to, const void *from, size_t bytes)
{
    struct gpu_lane *lane = gpu_lane();
    if (lane)
        (void)gpu_lane_done(lane, gpu()->run->copy(to, from, bytes, lane->stream));
}

#define CASTS                                                                            \
    .absmax = cuda_absmax, .encode = cuda_encode, .scan_encode = cuda_scan_encode,       \
    .decode = cuda_decode, .absmax_all = cuda_absmax_all, .encode_all = cuda_encode_all, \
    .scan_encode_all = cuda_scan_encode_all, .decode_all = cuda_decode_all,              \
    .exponents_all = cuda_exponents_all

#define FLOATS .alloc_floats = alloc_device, .free_floats = free_device

static const struct vec_ops pinned = {
    .name = "cuda",
    CASTS,
    .accumulate = pinned_accumulate,
    .finish = pinned_finish,
    .add = pinned_add,
    .sum = pinned_sum,
    .finish_blocks = pinned_finish_blocks,
    .sum_blocks = pinned_sum_blocks,
    .hop = pinned_hop,
    .peak = pinned_peak,
    .spill = pinned_spill,
    .accumulate_wide = pinned_accumulate_wide,
    .level_lists = &level_lists_pinned,
    .sign_lists = &sign_lists_cuda,
    .counts = &counts_pinned,
    .ratio_lists = &ratio_lists_pinned,
    FLOATS,
    .alloc = alloc_pinned,
    .free = free_pinned,
    .copy = cuda_copy,
};

static const struct vec_ops device = {
    .name = "cuda, codes on the device",
    CASTS,
    .accumulate = cuda_accumulate,
    .finish = cuda_finish,
    .add = cuda_add,
    .sum = cuda_sum,
    .finish_blocks = cuda_finish_blocks,
    .sum_blocks = cuda_sum_blocks,
    .hop = cuda_hop,
    .peak = cuda_peak,
    .spill = cuda_spill,
    .accumulate_wide = cuda_accumulate_wide,
    .level_lists = &level_lists_cuda,
    .sign_lists = &sign_lists_cuda,
    .counts = &counts_cuda,
    .ratio_lists = &ratio_lists_cuda,
    FLOATS,
    .alloc = alloc_shared,
    .free = free_device,
    .copy = cuda_copy,
};

const struct vec_ops *vec_cuda(void)
{
    return &pinned;
}

const struct vec_ops *vec_cuda_device(void)
{
    return &device;
}
