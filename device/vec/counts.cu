/* counts.cu : makes, adds and decodes stochastic codes -1, 0, 1 (TernGrad), with the bits of
 * hls/arith/level.h.
 *
 * level.h defines a deviation by 16 sequential sums, each of every 16th square. A layer has one
 * block: all threads load and square, 16 add. That takes about 4 clocks per 64 bytes (counted, not
 * measured), a third of a millisecond for resnet50's largest layer (2.4 million elements). */
#include "device/vec/cast_list.cuh"
#include "device/vec/eight.cuh"
#include "device/vec/levels_item.cuh"
#include "device/vec/vec.cuh"

enum { THREADS = 256, PER_SM = 8, LOADS = 4, TILE = THREADS * 4 * LOADS, DRAW_BITS = 2 };

static __device__ inline size_t span_length(const struct draw_span *span, bool)
{
    return span->padded;
}
static __device__ inline size_t span_length(const struct counts_out *out, bool)
{
    return out->n;
}

static __global__ void __launch_bounds__(THREADS)
    k_clip(float times, struct vec_span *spans, int n_spans)
{
    __shared__ __align__(16) float squares[TILE];
    for (int i = (int)blockIdx.x; i < n_spans; i += (int)gridDim.x) {
        const struct vec_span s = spans[i];
        const float max = __uint_as_float(s.absmax);
        const bool whole = elements_whole(s.x, s.type);
        float sum = 0; /* of lane threadIdx.x % 16 */
        if (s.absmax == 0 || s.absmax >= 0x7f800000u)
            continue;
        const struct level_power p = level_power_of(max);
        float4 x[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            x[k] = elements_get(s.x, s.type, 4 * ((size_t)k * THREADS + threadIdx.x), s.n, whole);
        for (size_t at = 0; at < s.n; at += TILE) {
            /* Wait until the previous squares are added. */
            __syncthreads();
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const size_t e = 4 * ((size_t)k * THREADS + threadIdx.x);
                const float a = level_times(x[k].x, p.up), b = level_times(x[k].y, p.up),
                            c = level_times(x[k].z, p.up), d = level_times(x[k].w, p.up);
                *(float4 *)(squares + e) = make_float4(level_times(a, a), level_times(b, b),
                                                       level_times(c, c), level_times(d, d));
                x[k] = elements_get(s.x, s.type, at + TILE + e, s.n, whole);
            }
            __syncthreads();
            if (threadIdx.x < 32)
#pragma unroll 16
                for (uint32_t e = threadIdx.x % LEVEL_LANES; e < TILE; e += LEVEL_LANES)
                    sum += squares[e];
        }
        if (threadIdx.x < 32) {
            const float clip = level_deviations(times, half_join(sum), (float)s.n, p);
            if (threadIdx.x == 0 && clip < max)
                spans[i].absmax = __float_as_uint(clip);
        }
    }
}

int vec_gpu_clip(float times, struct vec_span *spans, int n_spans, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    k_clip<<<(unsigned)n_spans, THREADS, 0, cu_stream(s)>>>(times, spans, n_spans);
    return cu_check("clip");
}

static __global__ void __launch_bounds__(THREADS) k_draw(const struct draw_span *spans, int n_spans)
{
    __shared__ struct span_list<struct draw_span> list;
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, true, TILE);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct draw_span *s = &list.span[i];
            const struct level_scheme scheme = {DRAW_BITS, 0};
            const struct level_grid grid = level_grid_of(scheme, s->scale);
            const bool whole = elements_whole(s->x, s->type);
            const size_t first = span_list_within(&list, i, tile) * TILE + 4 * threadIdx.x;
            float4 x[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                x[k] = elements_get(s->x, s->type, first + (size_t)k * 4 * THREADS, s->n, whole);
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const size_t e = first + (size_t)k * 4 * THREADS;
                if (e >= s->padded)
                    continue;
                const float v[4] = {x[k].x, x[k].y, x[k].z, x[k].w};
                const struct philox_block random = words_at(s->key, s->at + e);
                uint32_t codes = 0;
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const uint32_t bits = __float_as_uint(v[j]);
                    const float size = __uint_as_float(bits & 0x7fffffffu),
                                less = size < s->clip ? size : s->clip;
                    const uint32_t code =
                        level_code_sign(DRAW_BITS, grid, less, bits >> 31, random.w[j]);
                    codes |= (e + j < s->n ? code : 0) << DRAW_BITS * j;
                }
                s->codes[e / 4] = (uint8_t)codes;
            }
        }
        __syncthreads();
    }
}

static unsigned grid_for(size_t n_elems, int n_spans)
{
    return cu_grid(n_elems / TILE + (size_t)n_spans, PER_SM);
}

int vec_gpu_draw(const struct draw_span *spans, int n_spans, size_t n_elems, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    k_draw<<<grid_for(n_elems, n_spans), THREADS, 0, cu_stream(s)>>>(spans, n_spans);
    return cu_check("draws");
}

static __global__ void __launch_bounds__(THREADS)
    k_counts_decode(struct counts_rule r, const struct counts_out *outs, int n_outs)
{
    __shared__ struct span_list<struct counts_out> list;
    const float n_ranks = (float)r.n_ranks;
    for (int from = 0; from < n_outs; from += LIST_SPANS) {
        const int n = min(n_outs - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, outs + from, n, false, EIGHT * THREADS);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int which = span_list_find(&list, n, tile);
            const struct counts_out *out = &list.span[which];
            const bool whole = elements_whole(out->x, out->type);
            const size_t i = span_list_within(&list, which, tile) * THREADS + threadIdx.x;
            uint32_t code[EIGHT];
            float v[EIGHT];
            if (EIGHT * i >= out->n)
                continue;
            eight_get(out->codes, r.bits, i, out->n, code);
#pragma unroll
            for (int j = 0; j < EIGHT; j++)
                v[j] =
                    __fmul_rn(__fdiv_rn((float)((int32_t)code[j] - r.n_ranks), n_ranks), out->max);
            elements_put(out->x, out->type, EIGHT * i, out->n, whole,
                         make_float4(v[0], v[1], v[2], v[3]));
            elements_put(out->x, out->type, EIGHT * i + 4, out->n, whole,
                         make_float4(v[4], v[5], v[6], v[7]));
        }
        __syncthreads();
    }
}

int vec_gpu_counts_decode(const struct counts_rule *r, const struct counts_out *outs, int n_outs,
                          size_t n_elems, struct dev_stream *s)
{
    if (n_outs <= 0)
        return 0;
    k_counts_decode<<<grid_for(2 * n_elems, n_outs), THREADS, 0, cu_stream(s)>>>(*r, outs, n_outs);
    return cu_check("counts to floats");
}

struct counts_job {
    struct counts_rule rule;
    const uint8_t *const *parts; /* NULL: only `part` */
    const uint8_t *part;         /* NULL: none */
    int n_parts;
    bool wide;          /* parts are sums, else 2-bit codes */
    const int32_t *was; /* added to the sum; NULL: 0 */
    int32_t *acc;       /* out, or NULL */
    uint8_t *codes;     /* out, or NULL */
    size_t n;
};

static __global__ void __launch_bounds__(THREADS) k_counts(struct counts_job job)
{
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; EIGHT * i < job.n;
         i += (size_t)gridDim.x * THREADS) {
        int32_t sum[EIGHT];
        uint32_t code[EIGHT];
#pragma unroll
        for (int j = 0; j < EIGHT; j++)
            sum[j] = job.was && EIGHT * i + j < job.n ? job.was[EIGHT * i + j] : 0;
        for (int p = 0; p < job.n_parts; p++) {
            eight_get(job.parts ? job.parts[p] : job.part, job.wide ? job.rule.bits : DRAW_BITS, i,
                      job.n, code);
#pragma unroll
            for (int j = 0; j < EIGHT; j++)
                sum[j] += job.wide ? (int32_t)code[j] - job.rule.n_ranks
                                   : (int32_t)(code[j] & 1) - (int32_t)(code[j] & code[j] >> 1) * 2;
        }
#pragma unroll
        for (int j = 0; j < EIGHT; j++) {
            if (job.acc && EIGHT * i + j < job.n)
                job.acc[EIGHT * i + j] = sum[j];
            code[j] = (uint32_t)(sum[j] + job.rule.n_ranks);
        }
        if (job.codes)
            eight_put(job.codes, job.rule.bits, i, job.n, code);
    }
}

static int counts(const struct counts_job *job, struct dev_stream *s)
{
    if (job->n == 0)
        return 0;
    k_counts<<<cu_blocks_most((job->n + 7) / 8, PER_SM), THREADS, 0, cu_stream(s)>>>(*job);
    return cu_check("counts");
}

int vec_gpu_counts_sum(const struct counts_rule *r, const uint8_t *const *parts, int n_parts,
                       size_t n, uint8_t *codes, struct dev_stream *s)
{
    const struct counts_job job = {*r, parts, NULL, n_parts, false, NULL, NULL, codes, n};
    return counts(&job, s);
}

int vec_gpu_counts_add(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                       size_t n, bool first, struct dev_stream *s)
{
    const struct counts_job job = {*r, NULL, codes, 1, wide, first ? NULL : acc, acc, NULL, n};
    return counts(&job, s);
}

int vec_gpu_counts_spill(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes,
                         struct dev_stream *s)
{
    const struct counts_job job = {*r, NULL, NULL, 0, false, acc, NULL, codes, n};
    return counts(&job, s);
}
