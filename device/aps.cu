/* aps.cu : one layer: its largest magnitude, the shift that follows, its codes; floats wait on the
 * chip in between.
 *
 *     block b takes tiles    b, b + blocks, b + 2 * blocks, ...
 *     pass 1, upward         reads all of them for the largest magnitude; the last ones stay in
 *                            shared memory
 *     the whole grid meets   and every block works out the shift
 *     pass 2, downward
 *     casts them: first those in shared memory, then those read last, which the L2 still has
 *
 * A layer that fits the shared memory of all multiprocessors (some 28 MB) is read from memory
 * once. */
#include "device/cast_item.cuh"
#include "device/cast_list.cuh"
#include "device/vec.cuh"
#include <cooperative_groups.h>

enum { THREADS = 1024, TILE = THREADS * 4, LOADS = 4 };

struct aps_job {
    struct cast_way way;
    struct cast_out out;
    const float *x;
    size_t n;
    bool whole, fast;
};

/* codec_exponent() and codec_shift() of host/codec. */
static __device__ int aps_shift(const struct dev_aps *aps, uint32_t absmax)
{
    const struct mf_fmt f = aps->cast.fmt;
    if (absmax == 0 || absmax >= 0x7f800000u)
        return 0;
    const int e = aps->tight ? mf_exp_tight(f, absmax) : mf_exp_up_times(absmax, aps->n_ranks);
    return mf_bias(f) + (aps->tight ? f.fn : 0) - min(max(e, -126), 126);
}

/* By one thread: what is known of the layer before its maximum is. */
static __device__ void job_open(struct aps_job *job, const struct vec_cast *cast,
                                const struct vec_span *span)
{
    const uint32_t width = mf_width(cast->fmt);
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
}

/* Element of this thread's item in the block's k-th tile. */
CAST_FN size_t element_of(size_t k)
{
    return (blockIdx.x + k * gridDim.x) * TILE + 4 * threadIdx.x;
}

/* Pass 1 over tiles 0..tiles-1 of the block, of which those from `kept` on stay in keep. */
CAST_FN uint32_t aps_scan(const struct aps_job *job, size_t tiles, size_t kept, float4 *keep)
{
    uint32_t largest = 0;
#pragma unroll 1
    for (size_t k = 0; k < tiles; k += LOADS) {
        float4 x[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            x[i] = k + i < tiles
                       ? elements_get(job->x, VEC_FLOAT, element_of(k + i), job->n, job->whole)
                       : make_float4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            largest = max(largest, cast_largest(x[i]));
            if (k + i >= kept && k + i < tiles)
                keep[(k + i - kept) * THREADS + threadIdx.x] = x[i];
        }
    }
    return largest;
}

/* Pass 2. */
template <int W, enum way WAY, int LOADS_>
CAST_FN void aps_cast(const struct aps_job *job, size_t tiles, size_t kept, const float4 *keep,
                      uint32_t *words)
{
    const struct cast_way w = job->way;
    const struct cast_out o = job->out;
#pragma unroll 1
    for (size_t k = tiles; k > kept; k--)
        cast_item<W, WAY>(&w, &job->way, &o, element_of(k - 1),
                          keep[(k - 1 - kept) * THREADS + threadIdx.x], words);
#pragma unroll 1
    for (size_t k = kept; k > 0; k -= k < LOADS_ ? k : LOADS_) {
        float4 x[LOADS_];
#pragma unroll
        for (int i = 0; i < LOADS_; i++)
            x[i] = k > (size_t)i
                       ? elements_get(job->x, VEC_FLOAT, element_of(k - 1 - i), job->n, job->whole)
                       : make_float4(0, 0, 0, 0);
#pragma unroll
        for (int i = 0; i < LOADS_; i++)
            if (k > (size_t)i)
                cast_item<W, WAY>(&w, &job->way, &o, element_of(k - 1 - i), x[i], words);
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
    else if (job->way.way == WAY_CUT && (W == 0 || W == 16)) /* e = 8: codes of more than 8 bits */
        aps_cast<W, WAY_CUT, LOADS>(job, tiles, kept, keep, words);
    else
        aps_cast<W, WAY_ANY, 1>(job, tiles, kept, keep, words);
}

/* The slower one, out of the way of the faster ones. */
CAST_APART void aps_cast_any(const struct aps_job *job, size_t tiles, size_t kept,
                             const float4 *keep, uint32_t *words)
{
    aps_cast_by_way<0>(job, tiles, kept, keep, words);
}

/* W: 4, 8, 16: that many bits, for codes that lie well; 0: any. n_keep: tiles that shared memory
 * has room for. */
template <int W>
static __global__ void __launch_bounds__(THREADS, 1)
    k_aps(struct dev_aps aps, struct vec_span *span, uint32_t n_keep)
{
    __shared__ struct aps_job job;
    __shared__ uint32_t warps[32];
    __shared__ __align__(16) uint32_t words[THREADS * 4];
    CU_SHARED(float4, keep);
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();

    if (threadIdx.x == 0) {
        job_open(&job, &aps.cast, span);
        if (blockIdx.x == 0)
            span->absmax = 0;
    }
#ifdef __CUDA_ARCH__
    /* all blocks come by here long before the first one waits */
    const unsigned cleared = grid.barrier_arrive();
#else
    grid.sync();
#endif
    __syncthreads();
    const size_t whole_grid = (job.out.padded + TILE - 1) / TILE;
    const size_t tiles =
        whole_grid > blockIdx.x ? (whole_grid - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
    const size_t kept = tiles > n_keep ? tiles - n_keep : 0;
    const uint32_t largest = aps_scan(&job, tiles, kept, keep);
#ifdef __CUDA_ARCH__
    grid.barrier_wait(cooperative_groups::grid_group::arrival_token(cleared));
#endif
    block_max_to(&span->absmax, largest, warps);
    grid.sync();

    if (threadIdx.x == 0) {
        const int shift = aps_shift(&aps, __ldcg(&span->absmax));
        job.way = cast_way_make(&aps.cast, shift, job.fast);
        if (blockIdx.x == 0)
            span->shift = shift;
    }
    __syncthreads();
    uint32_t *mine = words + threadIdx.x / 32 * 128;
    if (W == 0)
        aps_cast_by_way<0>(&job, tiles, kept, keep, mine);
    else if (job.fast)
        aps_cast_by_way<W>(&job, tiles, kept, keep, mine);
    else
        aps_cast_any(&job, tiles, kept, keep, mine);
}

/* ---- launch ---- */

enum { STATIC_BYTES = 18 << 10 }; /* shared memory of the kernel itself, at most */

template <int W>
static int aps_launch(const struct dev_aps *aps, struct vec_span *span, size_t n,
                      struct dev_stream *s)
{
    int device = 0, shared = 0;
    int rc = cu_try(cudaGetDevice(&device), "device");
    if (rc == 0)
        rc =
            cu_try(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "shared memory");
    if (rc < 0)
        return rc;
    const size_t tiles = (n + TILE - 1) / TILE, sms = (size_t)cu_n_sms();
    const size_t grid = tiles < 1 ? 1 : tiles < sms ? tiles : sms;
    const size_t room = ((size_t)shared - STATIC_BYTES) / (TILE * sizeof(float)),
                 need = (tiles + grid - 1) / grid + 1;
    uint32_t n_keep = (uint32_t)(need < room ? need : room);
    const size_t bytes = n_keep * (TILE * sizeof(float));
    struct dev_aps by_value = *aps;
    void *args[] = {&by_value, &span, &n_keep};
    rc = cu_shared_most<k_aps<W>>(room * (TILE * sizeof(float)), "aps");
    if (rc < 0)
        return rc;
    return cu_try(cudaLaunchCooperativeKernel(k_aps<W>, dim3((unsigned)grid), dim3(THREADS), args,
                                              bytes, cu_stream(s)),
                  "aps");
}

int vec_gpu_aps(const struct dev_aps *aps, struct vec_span *span, size_t n, struct dev_stream *s)
{
    switch (aps->cast.trunc ? 0 : mf_width(aps->cast.fmt)) {
    case 4:
        return aps_launch<4>(aps, span, n, s);
    case 8:
        return aps_launch<8>(aps, span, n, s);
    case 16:
        return aps_launch<16>(aps, span, n, s);
    default:
        return aps_launch<0>(aps, span, n, s);
    }
}
