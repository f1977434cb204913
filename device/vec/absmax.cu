/* absmax.cu : finds the largest magnitude of each span of a list. */
#include "device/vec/cast_item.cuh"
#include "device/vec/cast_list.cuh"
#include "device/vec/vec.cuh"

enum { THREADS = 512, PER_SM = 4, LOADS = 4, TILE = THREADS * 4 * LOADS };

CAST_FN uint32_t tile_largest(const struct vec_span *span, uint64_t tile)
{
    const enum vec_type type = span->type;
    const bool whole = elements_whole(span->x, type);
    const size_t first = tile * TILE + 4 * threadIdx.x;
    float4 x[LOADS];
    uint32_t largest = 0;
    if (type == VEC_FLOAT && whole && (tile + 1) * TILE <= span->n) {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            x[i] = __ldcs((const float4 *)((const float *)span->x + first) + i * THREADS);
    } else {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            x[i] = elements_get(span->x, type, first + (size_t)i * 4 * THREADS, span->n, whole);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        largest = max(largest, cast_largest(x[i]));
    return largest;
}

static __global__ void __launch_bounds__(THREADS, PER_SM)
    k_absmax(struct vec_span *spans, int n_spans)
{
    __shared__ struct span_list<struct vec_span> list;
    __shared__ uint32_t warps[32];
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, false, TILE);
        struct span_max found = {-1, 0};
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            span_max_at(&found, i, spans + from, warps);
            found.largest =
                max(found.largest, tile_largest(&list.span[i], span_list_within(&list, i, tile)));
        }
        span_max_at(&found, -1, spans + from, warps);
        __syncthreads();
    }
}

int vec_gpu_absmax(struct vec_span *spans, int n_spans, size_t n_elems, struct dev_stream *s)
{
    if (n_spans <= 0 || n_elems == 0)
        return 0;
    const unsigned grid = span_list_grid(n_elems / TILE + (size_t)n_spans, PER_SM, n_spans);
    k_absmax<<<grid, THREADS, 0, cu_stream(s)>>>(spans, n_spans);
    return cu_check("largest magnitude");
}
