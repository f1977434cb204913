/* cast_tile.cuh : transforms fp32 and casts it to packed codes; all spans of a list in one launch.
 *
 * The transformation is a launch argument of type FROM. FROM::PER_SM blocks fit a multiprocessor's
 * registers. FROM::span is its state for one span, made by one thread. span.made(element, x)
 * transforms four elements x, the first of index `element`. */
#ifndef CAST_TILE_CUH
#define CAST_TILE_CUH
#include "device/vec/cast_item.cuh"
#include "device/vec/cast_list.cuh"

enum { CAST_THREADS = 256, CAST_LOADS = 4, CAST_TILE = CAST_THREADS * 4 * CAST_LOADS };
enum { DRAWS_PER_SM = 3 }; /* FROM::PER_SM of random rounding */

template <class FROM> struct cast_job {
    struct cast_way way;
    struct cast_out out;
    const void *x;
    enum vec_type type;
    size_t n;
    bool whole; /* elements_whole() of x */
    typename FROM::span from;
};

template <class FROM>
static __device__ void job_open(struct cast_job<FROM> *job, const struct vec_cast *cast,
                                const struct vec_span *span, const FROM *from, int i)
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
    job->type = span->type;
    job->n = span->n;
    job->whole = elements_whole(span->x, span->type);
    job->way = cast_way_make(cast, span->shift, job->out.fast);
    if (job->way.way == WAY_DRAW && span->at % 8 != 0) /* see cast_draw_pair() */
        job->way.way = WAY_ANY;
    job->from = from->of(span, i);
}

/* Casts this thread's items of a tile slowly, the first from element `first` on. Returns their
 * largest magnitude. W = 0: as for cast_put_any(). */
template <int W, class FROM>
CAST_APART uint32_t cast_again(const struct cast_job<FROM> *job, size_t first, uint32_t *words)
{
    uint32_t largest = 0;
#pragma unroll 1
    for (int i = 0; i < CAST_LOADS; i++) {
        const size_t element = first + (size_t)i * 4 * CAST_THREADS;
        float4 x = elements_get(job->x, job->type, element, job->n, job->whole);
        largest = max(largest, cast_largest(x));
        x = job->from.made(element, x);
        const float v[4] = {x.x, x.y, x.z, x.w};
        uint32_t code[4];
        cast_slow(&job->way, &job->out, element, v, code);
        if (W == 0)
            cast_put_any(&job->way, &job->out, element, v, code, words);
        else
            cast_put<W>(&job->way, &job->out, element, false, v, code);
    }
    return largest;
}

/* All items of a tile are aligned floats inside the span. */
template <class FROM> CAST_FN bool cast_all(const struct cast_job<FROM> *job, uint64_t tile)
{
    return job->type == VEC_FLOAT && job->whole && (tile + 1) * CAST_TILE <= job->n;
}

/* Casts this thread's items of a tile by a fast way. Returns their largest magnitude if `scan`.
 * ALL: cast_all(), which is else found at run time. M: see cast_code_draw(). */
template <int W, enum way WAY, bool ALL, int M, class FROM>
CAST_FN uint32_t cast_items(const struct cast_job<FROM> *job, uint64_t tile, bool scan,
                            uint32_t *words)
{
    const struct cast_way w = job->way;
    const struct cast_out o = job->out;
    const typename FROM::span &from = job->from; /* a copy would take registers */
    const bool all = ALL || cast_all(job, tile);
    const size_t first = tile * CAST_TILE + 4 * threadIdx.x;
    uint32_t largest = 0;
    float4 x[CAST_LOADS];
    if (all) {
#pragma unroll
        for (int i = 0; i < CAST_LOADS; i++)
            x[i] = ((const float4 *)((const float *)job->x + first))[i * CAST_THREADS];
    } else {
#pragma unroll
        for (int i = 0; i < CAST_LOADS; i++)
            x[i] = elements_get(job->x, job->type, first + (size_t)i * 4 * CAST_THREADS, job->n,
                                job->whole);
    }
    if (scan) {
#pragma unroll
        for (int i = 0; i < CAST_LOADS; i++)
            largest = max(largest, cast_largest(x[i]));
    }
#pragma unroll
    for (int i = 0; i < CAST_LOADS; i++)
        x[i] = from.made(first + (size_t)i * 4 * CAST_THREADS, x[i]);
    uint64_t key = o.key;
#ifdef __CUDA_ARCH__
    if (WAY == WAY_DRAW) /* or the keys of all ten rounds would stay in registers */
        asm volatile("" : "+l"(key));
#endif
    uint32_t not_random[2][2];
    bool right = true;
#pragma unroll
    for (int i = 0; i < CAST_LOADS; i++) {
        const size_t element = first + (size_t)i * 4 * CAST_THREADS;
        const uint64_t at[2] = {o.at + element, o.at + element + 4 * CAST_THREADS};
        if (WAY == WAY_DRAW && i % 2 == 0)
            cast_draw_pair(key, at, not_random);
        right &=
            cast_item<W, WAY, M>(&w, &job->way, &o, element, all, x[i], not_random[i % 2], words);
    }
    if (!right)
        (void)cast_again<W>(job, first, words);
    return largest;
}

/* Draws of the rarer formats and of tiles without cast_all(). */
template <int W, class FROM>
CAST_APART uint32_t cast_draw_some(const struct cast_job<FROM> *job, uint64_t tile, bool scan,
                                   uint32_t *words)
{
    return cast_items<W, WAY_DRAW, false, ANY_M>(job, tile, scan, words);
}

template <int W, class FROM>
CAST_FN uint32_t cast_draw(const struct cast_job<FROM> *job, uint64_t tile, bool scan,
                           uint32_t *words)
{
    const bool all = cast_all(job, tile);
    if constexpr (W == 8) {
        if (all && job->way.m == 2) /* e5m2 */
            return cast_items<W, WAY_DRAW, true, 2>(job, tile, scan, words);
        if (all && job->way.m == 3) /* e4m3 */
            return cast_items<W, WAY_DRAW, true, 3>(job, tile, scan, words);
    }
    if constexpr (W == 16)
        if (all)
            return cast_items<W, WAY_DRAW, true, ANY_M>(job, tile, scan, words);
    return cast_draw_some<W>(job, tile, scan, words);
}

/* DRAWS: random rounding, which needs more registers. */
template <int W, bool DRAWS, class FROM>
CAST_FN uint32_t cast_tile(const struct cast_job<FROM> *job, uint64_t tile, bool scan,
                           uint32_t *words)
{
    if (DRAWS && job->way.way == WAY_DRAW)
        return cast_draw<W>(job, tile, scan, words);
    if (!DRAWS && job->way.way == WAY_ADD)
        return cast_items<W, WAY_ADD, false, ANY_M>(job, tile, scan, words);
    if (!DRAWS && job->way.way == WAY_HARD && W == 8)
        return cast_items<W, WAY_HARD, false, ANY_M>(job, tile, scan, words);
    /* e = 8: codes of more than 8 bits */
    if (!DRAWS && job->way.way == WAY_CUT && (W == 0 || W == 16))
        return cast_items<W, WAY_CUT, false, ANY_M>(job, tile, scan, words);
    const uint32_t largest = cast_again<W>(job, tile * CAST_TILE + 4 * threadIdx.x, words);
    return scan ? largest : 0;
}

template <bool DRAWS, class FROM>
CAST_APART uint32_t cast_tile_any(const struct cast_job<FROM> *job, uint64_t tile, bool scan,
                                  uint32_t *words)
{
    return cast_tile<0, DRAWS>(job, tile, scan, words);
}

/* W: width of codes, stored directly where aligned; 0: any other. */
template <int W, bool DRAWS, class FROM>
static __global__ void __launch_bounds__(CAST_THREADS, DRAWS ? DRAWS_PER_SM : FROM::PER_SM)
    k_encode(struct vec_cast cast, struct vec_span *spans, int n_spans, bool scan, FROM what)
{
    __shared__ struct span_list<struct vec_span> list;
    __shared__ struct cast_job<FROM> job;
    __shared__ uint32_t warps[32];
    __shared__ __align__(16) uint32_t words[CAST_THREADS * 4];
    uint32_t *mine = words + threadIdx.x / 32 * 128;
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, true, CAST_TILE);
        int now = -1;
        uint32_t largest = 0;
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            if (i != now) {
                if (scan && now >= 0)
                    block_max_to(&spans[from + now].absmax, largest, warps), largest = 0;
                __syncthreads();
                if (threadIdx.x == 0)
                    job_open(&job, &cast, &list.span[i], &what, from + i);
                __syncthreads();
                now = i;
            }
            const uint64_t within = span_list_within(&list, i, tile);
            const uint32_t l = W == 0         ? cast_tile<0, DRAWS>(&job, within, scan, mine)
                               : job.out.fast ? cast_tile<W, DRAWS>(&job, within, scan, mine)
                                              : cast_tile_any<DRAWS>(&job, within, scan, mine);
            largest = max(largest, l);
        }
        if (scan && now >= 0)
            block_max_to(&spans[from + now].absmax, largest, warps);
        __syncthreads();
    }
}

template <int W, class FROM>
static void cast_launch(unsigned grid, cudaStream_t on, const struct vec_cast *cast,
                        struct vec_span *spans, int n_spans, bool scan, FROM what)
{
    if (cast->round == MF_STOCHASTIC)
        k_encode<W, true, FROM><<<grid, CAST_THREADS, 0, on>>>(*cast, spans, n_spans, scan, what);
    else
        k_encode<W, false, FROM><<<grid, CAST_THREADS, 0, on>>>(*cast, spans, n_spans, scan, what);
}

/* n_elems: sum of the spans' `padded`. scan: also raise absmax, which must be 0. */
template <class FROM>
static int cast_encode(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                       size_t n_elems, bool scan, FROM what, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    const int per_sm = cast->round == MF_STOCHASTIC ? (int)DRAWS_PER_SM : (int)FROM::PER_SM;
    const unsigned grid = span_list_grid(n_elems / CAST_TILE + (size_t)n_spans, per_sm, n_spans);
    const cudaStream_t on = cu_stream(s);
    switch (cast->trunc ? 0 : mf_width(cast->fmt)) {
    case 4:
        cast_launch<4>(grid, on, cast, spans, n_spans, scan, what);
        break;
    case 8:
        cast_launch<8>(grid, on, cast, spans, n_spans, scan, what);
        break;
    case 16:
        cast_launch<16>(grid, on, cast, spans, n_spans, scan, what);
        break;
    default:
        cast_launch<0>(grid, on, cast, spans, n_spans, scan, what);
    }
    return cu_check("cast");
}

#endif
