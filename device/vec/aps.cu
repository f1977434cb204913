/* aps.cu : finds each layer's largest magnitude and shift, then encodes the layer; a whole list in
 * one launch.
 *
 * A layer gets so many blocks that a block's tiles, its share, fit half of its shared memory:
 *
 *     layer       |------ 0 ------|- 1 -|-------- 2 --------|
 *     block       0     1     2    3     0     1     2     3
 *     share       of block b of n: tiles b, b + n, b + 2n, ...
 *
 *     pass 1      upward: finds the share's maximum; its last tiles stay in shared memory
 *     meeting     of the layer's blocks; each first loads its next share into the other half
 *     pass 2      downward, as the L2 has the tiles read last: casts those in shared memory, then
 *                 the rest of a layer too large for all blocks' shared memory
 *
 * All blocks run at once (cooperative launch) and process layers in the same order: no deadlock.
 *
 * Counted, not measured, for resnet50's 161 layers (25.6 million floats, to 8 bits) on an H100
 * (132 multiprocessors, 3.35 TB/s, about 4 us per launch):
 *     two passes   9 bytes per element, 69 us; two launches, 8 us                           77 us
 *     aps.cu       5 bytes per element, 38 us; first and last share of a block overlap nothing,
 *                  5 us; last barrier, 1.5 us; launch, 4 us                                 49 us
 * One launch per layer would take 161 * 4 us. */
#include "device/vec/cast_item.cuh"
#include "device/vec/cast_list.cuh"
#include "device/vec/vec.cuh"
#include <cooperative_groups.h>

/* LIST: layers whose blocks are counted together. */
enum { THREADS = 1024, TILE = THREADS * 4, LOADS = 4, LIST = 512 };

struct aps_job {
    struct cast_way way;
    struct cast_out out;
    const float *x;
    size_t n, tiles; /* of the layer; of the share */
    struct vec_span *span;
    uint32_t blocks, me;
    uint32_t largest; /* of the share */
    bool whole, fast;
};

/* As codec_shift() of host/codec. */
static __device__ int aps_shift(const struct dev_aps *aps, uint32_t absmax)
{
    const struct vec_scale scale = {aps->cast.fmt, aps->tight, aps->n_ranks, 0};
    const int8_t e = vec_exponent(&scale, absmax);
    return e == VEC_ALL_ZERO || e == VEC_NOT_FINITE ? 0 : vec_aps_top(scale.fmt, scale.tight) - e;
}

/* One thread calls it. */
static __device__ void job_open(struct aps_job *job, const struct vec_cast *cast,
                                struct vec_span *span, uint32_t blocks, uint32_t me)
{
    const uint32_t width = mf_width(cast->fmt);
    const size_t all = (span->padded + TILE - 1) / TILE;
    job->out.codes = span->codes;
    job->out.padded = span->padded;
    job->out.at = span->at;
    job->out.key = span->key;
    job->out.width = width;
    job->fast = !cast->trunc && (width == 4 || width == 8 || width == 16) &&
                (uintptr_t)span->codes % (width / 2) == 0;
    job->x = (const float *)span->x;
    job->n = span->n;
    job->whole = elements_whole(span->x, VEC_FLOAT);
    job->span = span;
    job->blocks = blocks;
    job->me = me;
    job->tiles = all > me ? (all - me + blocks - 1) / blocks : 0;
}

CAST_FN size_t element_of(const struct aps_job *job, size_t k)
{
    return (job->me + k * job->blocks) * TILE + 4 * threadIdx.x;
}

/* tiles[kept..] stay in keep. Returns this thread's largest magnitude. */
CAST_FN uint32_t aps_scan(const struct aps_job *job, size_t tiles, size_t kept, float4 *keep)
{
    const bool all =
        job->whole && tiles > 0 && (job->me + (tiles - 1) * job->blocks + 1) * TILE <= job->n;
    uint32_t largest = 0;
#pragma unroll 1
    for (size_t k = 0; k < tiles; k += LOADS) {
        float4 x[LOADS];
        if (all && k + LOADS <= tiles) {
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                x[i] = *(const float4 *)(job->x + element_of(job, k + i));
        } else {
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                x[i] = k + i < tiles ? elements_get(job->x, VEC_FLOAT, element_of(job, k + i),
                                                    job->n, job->whole)
                                     : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            largest = max(largest, cast_largest(x[i]));
            if (k + i >= kept && k + i < tiles)
                keep[(k + i - kept) * THREADS + threadIdx.x] = x[i];
        }
    }
    return largest;
}

template <int W, enum way WAY, int LOADS_>
CAST_FN void aps_cast(const struct aps_job *job, size_t tiles, size_t kept, const float4 *keep,
                      uint32_t *words)
{
    const struct cast_way w = job->way;
    const struct cast_out o = job->out;
#pragma unroll 1
    for (size_t k = tiles; k > kept; k--)
        cast_item<W, WAY>(&w, &job->way, &o, element_of(job, k - 1),
                          keep[(k - 1 - kept) * THREADS + threadIdx.x], words);
#pragma unroll 1
    for (size_t k = kept; k > 0; k -= k < LOADS_ ? k : LOADS_) {
        float4 x[LOADS_];
#pragma unroll
        for (int i = 0; i < LOADS_; i++)
            x[i] = k > (size_t)i ? elements_get(job->x, VEC_FLOAT, element_of(job, k - 1 - i),
                                                job->n, job->whole)
                                 : make_float4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < LOADS_; i++)
            if (k > (size_t)i)
                cast_item<W, WAY>(&w, &job->way, &o, element_of(job, k - 1 - i), x[i], words);
    }
}

template <int W>
CAST_FN void aps_cast_by_way(const struct aps_job *job, size_t tiles, size_t kept,
                             const float4 *keep, uint32_t *words)
{
    if (job->way.way == WAY_ADD)
        aps_cast<W, WAY_ADD, LOADS>(job, tiles, kept, keep, words);
    else if (job->way.way == WAY_HARD && W == 8)
        aps_cast<W, WAY_HARD, LOADS>(job, tiles, kept, keep, words);
    /* e = 8: codes of more than 8 bits */
    else if (job->way.way == WAY_CUT && (W == 0 || W == 16))
        aps_cast<W, WAY_CUT, LOADS>(job, tiles, kept, keep, words);
    else
        aps_cast<W, WAY_ANY, 1>(job, tiles, kept, keep, words);
}

CAST_APART void aps_cast_any(const struct aps_job *job, size_t tiles, size_t kept,
                             const float4 *keep, uint32_t *words)
{
    aps_cast_by_way<0>(job, tiles, kept, keep, words);
}

/* Set ends[i] to the blocks of layers 0 to i. Blocks have at most n_keep tiles if possible. The
 * whole block calls it. */
static __device__ void count_blocks(const struct vec_span *spans, int n, uint32_t n_keep,
                                    uint32_t *ends)
{
    const int i = (int)threadIdx.x;
    if (i < n) {
        const size_t tiles = (spans[i].padded + TILE - 1) / TILE,
                     blocks = (tiles + n_keep - 1) / n_keep;
        ends[i] = blocks < 1 ? 1 : blocks < gridDim.x ? (uint32_t)blocks : gridDim.x;
    }
    for (int back = 1; back < LIST; back *= 2) {
        __syncthreads();
        const uint32_t before = i < n && i >= back ? ends[i - back] : 0;
        __syncthreads();
        if (i < n)
            ends[i] += before;
    }
    __syncthreads();
}

/* Until the shift is known, span->shift counts the blocks that have raised absmax plus those that
 * have read it. The whole block calls it. warps: [32]. */
static __device__ void arrive(struct aps_job *job, uint32_t largest, uint32_t *warps)
{
    largest = __reduce_max_sync(0xffffffffu, largest);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = largest;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (uint32_t i = 1; i < THREADS / 32; i++)
        largest = max(largest, warps[i]);
    job->largest = largest;
    if (job->blocks == 1)
        return;
    if (largest > 0)
        atomicMax(&job->span->absmax, largest);
    __threadfence();
    atomicAdd((uint32_t *)&job->span->shift, 1u);
}

/* Wait for the layer's other blocks. One thread calls it. */
static __device__ void settle(struct aps_job *job, const struct dev_aps *aps)
{
    struct vec_span *span = job->span;
    uint32_t *arrived = (uint32_t *)&span->shift, absmax = job->largest;
    if (job->blocks > 1) {
        while (*(volatile uint32_t *)arrived < job->blocks)
            __nanosleep(20);
        __threadfence();
        absmax = *(volatile uint32_t *)&span->absmax;
    }
    const int shift = aps_shift(aps, absmax);
    job->way = cast_way_make(&aps->cast, shift, job->fast);
    if (job->blocks == 1)
        span->absmax = absmax;
    if (job->blocks == 1 || atomicAdd(arrived, 1u) == 2 * job->blocks - 1)
        *(volatile int32_t *)&span->shift = shift;
}

/* The whole block calls it. Not inlined, as it has three callers. */
template <int W>
CAST_APART void aps_end(struct aps_job *job, const struct dev_aps *aps, size_t room,
                        const float4 *keep, uint32_t *words)
{
    if (threadIdx.x == 0)
        settle(job, aps);
    __syncthreads();
    const size_t kept = job->tiles > room ? job->tiles - room : 0;
    if (W == 0)
        aps_cast_by_way<0>(job, job->tiles, kept, keep, words);
    else if (job->fast)
        aps_cast_by_way<W>(job, job->tiles, kept, keep, words);
    else
        aps_cast_any(job, job->tiles, kept, keep, words);
}

/* W: width of aligned codes, else 0. n_keep: tiles in half of the shared memory. */
template <int W>
static __global__ void __launch_bounds__(THREADS, 1)
    k_aps(struct dev_aps aps, struct vec_span *spans, int n_spans, uint32_t n_keep)
{
    __shared__ struct aps_job jobs[2];
    __shared__ uint32_t ends[LIST], warps[32];
    __shared__ __align__(16) uint32_t words[THREADS * 4];
    CU_SHARED(float4, keep);
    float4 *const halves[2] = {keep, keep + (size_t)n_keep * THREADS};
    uint32_t *mine = words + threadIdx.x / 32 * 128;
    for (int from = 0; from < n_spans; from += LIST) {
        const int n = min(n_spans - from, (int)LIST);
        int half = 0;
        bool waits = false; /* another share is read but not cast */
        count_blocks(spans + from, n, n_keep, ends);
        for (int i = 0; i < n; i++) {
            const uint32_t first = i ? ends[i - 1] : 0, blocks = ends[i] - first,
                           me = (blockIdx.x + gridDim.x - first % gridDim.x) % gridDim.x;
            if (me >= blocks)
                continue;
            struct aps_job *job = &jobs[half], *other = &jobs[1 - half];
            /* Wait until the previous share of this half is cast. */
            __syncthreads();
            if (threadIdx.x == 0)
                job_open(job, &aps.cast, &spans[from + i], blocks, me);
            __syncthreads();
            const bool wide = job->tiles > n_keep;
            if (wide && waits)
                aps_end<W>(other, &aps, n_keep, halves[1 - half], mine), waits = false;
            __syncthreads();
            const size_t room = wide ? 2 * (size_t)n_keep : n_keep;
            float4 *const to = wide ? keep : halves[half];
            arrive(job, aps_scan(job, job->tiles, job->tiles > room ? job->tiles - room : 0, to),
                   warps);
            if (waits)
                aps_end<W>(other, &aps, n_keep, halves[1 - half], mine);
            if (wide)
                aps_end<W>(job, &aps, room, to, mine);
            waits = !wide;
            half = wide ? half : 1 - half;
        }
        if (waits)
            aps_end<W>(&jobs[1 - half], &aps, n_keep, halves[1 - half], mine);
        __syncthreads();
    }
}

enum { STATIC_BYTES = 20 << 10 };

template <int W>
static int aps_launch(const struct dev_aps *aps, struct vec_span *spans, int n_spans,
                      size_t n_elems, struct dev_stream *s)
{
    int device = 0, shared = 0;
    int rc = cu_try(cudaGetDevice(&device), "device");
    if (rc == 0)
        rc =
            cu_try(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "shared memory");
    if (rc < 0)
        return rc;
    const size_t want = n_elems / TILE + (size_t)n_spans, sms = (size_t)cu_n_sms(),
                 grid = want < sms ? want : sms;
    uint32_t n_keep = (uint32_t)(((size_t)shared - STATIC_BYTES) / (2 * TILE * sizeof(float)));
    const size_t bytes = 2 * n_keep * (TILE * sizeof(float));
    struct dev_aps by_value = *aps;
    void *args[] = {&by_value, &spans, &n_spans, &n_keep};
    rc = cu_shared_most<k_aps<W>>(bytes, "aps");
    if (rc < 0)
        return rc;
    return cu_try(cudaLaunchCooperativeKernel(k_aps<W>, dim3((unsigned)grid), dim3(THREADS), args,
                                              bytes, cu_stream(s)),
                  "aps");
}

int vec_gpu_aps(const struct dev_aps *aps, struct vec_span *spans, int n_spans, size_t n_elems,
                struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    switch (aps->cast.trunc ? 0 : mf_width(aps->cast.fmt)) {
    case 4:
        return aps_launch<4>(aps, spans, n_spans, n_elems, s);
    case 8:
        return aps_launch<8>(aps, spans, n_spans, n_elems, s);
    case 16:
        return aps_launch<16>(aps, spans, n_spans, n_elems, s);
    default:
        return aps_launch<0>(aps, spans, n_spans, n_elems, s);
    }
}
