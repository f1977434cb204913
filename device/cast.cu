/* cast.cu : fp32 to packed codes, all spans of a list by their own shifts in one launch. */
#include "device/cast_item.cuh"
#include "device/cast_list.cuh"
#include "device/vec.cuh"

enum { THREADS = 256, PER_SM = 4, LOADS = 4, TILE = THREADS * 4 * LOADS };

/* A span that a block works on: its constants, worked out by one thread. */
struct cast_job {
    struct cast_way way;
    struct cast_out out;
    const float *x;
    size_t n;
    bool whole; /* x lies on 16 bytes */
};

static __device__ void job_open(struct cast_job *job, const struct vec_cast *cast,
                                const struct vec_span *span)
{
    const uint32_t width = mf_width(cast->fmt);
    job->out.codes = span->codes;
    job->out.padded = span->padded;
    job->out.at = span->at;
    job->out.key = span->key;
    job->out.width = width;
    job->out.fast = !cast->trunc && (width == 4 || width == 8 || width == 16) &&
                    (uintptr_t)span->codes % (width / 2) == 0;
    job->x = span->x;
    job->n = span->n;
    job->whole = (uintptr_t)span->x % 16 == 0;
    job->way = cast_way_make(cast, span->shift, job->out.fast);
}

/* This thread's items of a tile; returns the largest magnitude among them if `scan`. LOADS_ of them
 * at a time. */
template <int W, enum way WAY, int LOADS_>
CAST_FN uint32_t cast_items(const struct cast_job *job, uint64_t tile, bool scan, uint32_t *words)
{
    const struct cast_way w = job->way;
    const struct cast_out o = job->out;
    const bool all = job->whole && (tile + 1) * TILE <= job->n;
    uint32_t largest = 0;
#pragma unroll 1
    for (int k = 0; k < LOADS; k += LOADS_) {
        const size_t first = tile * TILE + 4 * threadIdx.x + (size_t)k * 4 * THREADS;
        float4 x[LOADS_];
        if (all) {
#pragma unroll
            for (int i = 0; i < LOADS_; i++)
                x[i] = __ldcs((const float4 *)(job->x + first) + i * THREADS);
        } else {
#pragma unroll
            for (int i = 0; i < LOADS_; i++)
                x[i] = cast_load(job->x, first + (size_t)i * 4 * THREADS, job->n, job->whole);
        }
        if (scan) {
#pragma unroll
            for (int i = 0; i < LOADS_; i++)
                largest = max(largest, cast_largest(x[i]));
        }
#pragma unroll
        for (int i = 0; i < LOADS_; i++)
            cast_item<W, WAY>(&w, &job->way, &o, first + (size_t)i * 4 * THREADS, x[i], words);
    }
    return largest;
}

template <int W>
CAST_FN uint32_t cast_tile(const struct cast_job *job, uint64_t tile, bool scan, uint32_t *words)
{
    if (job->way.way == WAY_ADD)
        return cast_items<W, WAY_ADD, LOADS>(job, tile, scan, words);
    if (job->way.way == WAY_HARD && W == 8)
        return cast_items<W, WAY_HARD, LOADS>(job, tile, scan, words);
    if (job->way.way == WAY_CUT && (W == 0 || W == 16)) /* e = 8: codes of more than 8 bits */
        return cast_items<W, WAY_CUT, LOADS>(job, tile, scan, words);
    return cast_items<W, WAY_ANY, 1>(job, tile, scan, words);
}

/* The slower one, out of the way of the faster ones. */
CAST_APART uint32_t cast_tile_any(const struct cast_job *job, uint64_t tile, bool scan,
                                  uint32_t *words)
{
    return cast_tile<0>(job, tile, scan, words);
}

/* W: 4, 8, 16: that many bits, for spans whose codes lie well; 0: any. */
template <int W>
static __global__ void __launch_bounds__(THREADS, PER_SM)
    k_encode(struct vec_cast cast, struct vec_span *spans, int n_spans, bool scan)
{
    __shared__ struct span_list<struct vec_span> list;
    __shared__ struct cast_job job;
    __shared__ uint32_t warps[32];
    __shared__ __align__(16) uint32_t words[THREADS * 4];
    uint32_t *mine = words + threadIdx.x / 32 * 128;
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, true, TILE);
        int now = -1; /* the span that the job and `largest` are of */
        uint32_t largest = 0;
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            if (i != now) {
                if (scan && now >= 0)
                    block_max_to(&spans[from + now].absmax, largest, warps), largest = 0;
                __syncthreads();
                if (threadIdx.x == 0)
                    job_open(&job, &cast, &list.span[i]);
                __syncthreads();
                now = i;
            }
            const uint64_t within = span_list_within(&list, i, tile);
            const uint32_t l = W == 0         ? cast_tile<0>(&job, within, scan, mine)
                               : job.out.fast ? cast_tile<W>(&job, within, scan, mine)
                                              : cast_tile_any(&job, within, scan, mine);
            largest = max(largest, l);
        }
        if (scan && now >= 0)
            block_max_to(&spans[from + now].absmax, largest, warps);
        __syncthreads();
    }
}

static int encode(const struct vec_cast *cast, struct vec_span *spans, int n_spans, size_t n_elems,
                  bool scan, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    const size_t most = (size_t)cu_n_sms() * PER_SM, want = n_elems / TILE + (size_t)n_spans;
    const unsigned grid = (unsigned)(want < most ? want : most);
    const cudaStream_t on = cu_stream(s);
    switch (cast->trunc ? 0 : mf_width(cast->fmt)) {
    case 4:
        k_encode<4><<<grid, THREADS, 0, on>>>(*cast, spans, n_spans, scan);
        break;
    case 8:
        k_encode<8><<<grid, THREADS, 0, on>>>(*cast, spans, n_spans, scan);
        break;
    case 16:
        k_encode<16><<<grid, THREADS, 0, on>>>(*cast, spans, n_spans, scan);
        break;
    default:
        k_encode<0><<<grid, THREADS, 0, on>>>(*cast, spans, n_spans, scan);
    }
    return cu_check("cast");
}

int vec_gpu_encode(const struct vec_cast *cast, struct vec_span *spans, int n_spans, size_t n_elems,
                   struct dev_stream *s)
{
    return encode(cast, spans, n_spans, n_elems, false, s);
}

int vec_gpu_scan_encode(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                        size_t n_elems, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    const int rc = vec_gpu_absmax_clear(spans, n_spans, s);
    return rc < 0 ? rc : encode(cast, spans, n_spans, n_elems, true, s);
}
