/* groups.cu : finds an exponent per group of elements, and casts by it, in one launch per list. A
 * group's elements are in neighbouring lanes of a warp, four in each. */
#include "device/vec/cast_tile.cuh"
#include "device/vec/uncast_tile.cuh"
#include "device/vec/vec.cuh"

struct by_group {
    const int8_t *exponents; /* of the span */
    size_t n;                /* elements */
    uint32_t group, lead;    /* lead: elements of the first group before the span */
    bool down;               /* times 2^-exponent */

    /* Beyond the end, 1. */
    __device__ float factor(size_t element) const
    {
        return element < n
                   ? __uint_as_float(vec_group_factor(exponents[(element + lead) / group], down))
                   : 1.0f;
    }
    __device__ float4 made(size_t element, float4 x) const
    {
        const float f = factor(element);
        return make_float4(times(x.x, f), times(x.y, f), times(x.z, f), times(x.w, f));
    }
};

struct to_groups {
    enum { PER_SM = 3 };
    typedef by_group span;
    __device__ span of(const struct vec_span *s, int) const
    {
        const span made_of = {s->exponents, s->n, s->group, (uint32_t)(s->at % s->group), true};
        return made_of;
    }
};

struct from_groups {
    enum { LOOKS = 1, PER_SM = 5 };
    typedef by_group span;
    __device__ span of(const struct vec_out *out, int) const
    {
        const span made_of = {out->exponents, out->n, out->group, out->lead, false};
        return made_of;
    }
};

int vec_gpu_encode_groups(const struct vec_cast *cast, struct vec_span *spans, int n_spans,
                          size_t n_elems, struct dev_stream *s)
{
    return cast_encode(cast, spans, n_spans, n_elems, false, to_groups(), s);
}

int vec_gpu_decode_groups(struct mf_fmt fmt, float divisor, const struct vec_out *spans,
                          int n_spans, size_t n_elems, struct dev_stream *s)
{
    return uncast_all(fmt, divisor, spans, n_spans, n_elems, from_groups(), s);
}

enum { GROUPS_TILE = LIST_SPANS * 4, GROUPS_PER_SM = 6 };

static __global__ void __launch_bounds__(LIST_SPANS)
    k_exponents(struct vec_scale scale, const struct vec_span *spans, int n_spans)
{
    __shared__ struct span_list<struct vec_span> list;
    for (int from = 0; from < n_spans; from += LIST_SPANS) {
        const int n = min(n_spans - from, (int)LIST_SPANS);
        const uint64_t tiles = span_list_load(&list, spans + from, n, false, GROUPS_TILE);
        for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int i = span_list_find(&list, n, tile);
            const struct vec_span *span = &list.span[i];
            const size_t element = span_list_within(&list, i, tile) * GROUPS_TILE + 4 * threadIdx.x;
            uint32_t largest = cast_largest(elements_get(span->x, span->type, element, span->n,
                                                         elements_whole(span->x, span->type)));
            for (uint32_t by = 1; by < scale.group / 4; by *= 2)
                largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, (int)by));
            if (element < span->n && element % scale.group == 0)
                span->exponents[element / scale.group] = vec_exponent(&scale, largest);
        }
        __syncthreads();
    }
}

int vec_gpu_exponents(const struct vec_scale *scale, const struct vec_span *spans, int n_spans,
                      size_t n_elems, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    const unsigned grid = cu_grid(n_elems / GROUPS_TILE + (size_t)n_spans, GROUPS_PER_SM);
    k_exponents<<<grid, LIST_SPANS, 0, cu_stream(s)>>>(*scale, spans, n_spans);
    return cu_check("exponents of groups");
}
