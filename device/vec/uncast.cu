/* uncast.cu : decodes codes to scaled fp32. */
#include "device/vec/uncast_tile.cuh"
#include "device/vec/vec.cuh"

struct as_it_is {
    enum { LOOKS = 0, PER_SM = UNCAST_PER_SM };
    struct span {
        __device__ float4 made(size_t, float4 x) const { return x; }
    };
    __device__ span of(const struct vec_out *, int) const { return span(); }
};

template <int W>
static __global__ void __launch_bounds__(UNCAST_THREADS,
                                         W == UNCAST_WIDE ? UNCAST_WIDE_PER_SM : UNCAST_PER_SM)
    k_uncast(struct uncast u, struct uncast_shift by, const uint8_t *codes, size_t n, float *x)
{
    for (size_t tile = blockIdx.x; tile * UNCAST_TILE < n; tile += gridDim.x)
        uncast_tile<W>(&u, &by, codes, n, x, VEC_FLOAT, tile, as_it_is::span());
}

int vec_gpu_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                   float *x, struct dev_stream *s)
{
    if (n == 0)
        return 0;
    const struct uncast u = uncast_make(fmt, divisor);
    const struct uncast_shift by = uncast_shift_make(&u, shift);
    const size_t tiles = (n + UNCAST_TILE - 1) / UNCAST_TILE, most = 1u << 30;
    const unsigned grid = (unsigned)(tiles < most ? tiles : most);
    const cudaStream_t on = cu_stream(s);
    switch (u.width) {
    case 4:
        k_uncast<4><<<grid, UNCAST_THREADS, 0, on>>>(u, by, codes, n, x);
        break;
    case 8:
        k_uncast<8><<<grid, UNCAST_THREADS, 0, on>>>(u, by, codes, n, x);
        break;
    case 16:
        k_uncast<16><<<grid, UNCAST_THREADS, 0, on>>>(u, by, codes, n, x);
        break;
    default:
        if (u.width <= UNCAST_NARROW)
            k_uncast<UNCAST_NARROW><<<grid, UNCAST_THREADS, 0, on>>>(u, by, codes, n, x);
        else
            k_uncast<UNCAST_WIDE><<<grid, UNCAST_THREADS, 0, on>>>(u, by, codes, n, x);
    }
    return cu_check("uncast");
}

int vec_gpu_decode_all(struct mf_fmt fmt, float divisor, const struct vec_out *spans, int n_spans,
                       size_t n_elems, struct dev_stream *s)
{
    return uncast_all(fmt, divisor, spans, n_spans, n_elems, as_it_is(), s);
}
