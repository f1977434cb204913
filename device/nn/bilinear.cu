/* bilinear.cu : computes bilinear upscaling with the bits of host/nn/layers/layer_bilinear.c, and
 * its gradient in the CPU's order of sums. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"
#include "device/nn/pixel.cuh"
#include "hls/nn/bilinear.h"

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_bilinear(size_t n, nn_shape in, nn_shape out, const T *x, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const pixel p = pixel_of<V>(out, i);
    const bilinear v = bilinear_at(p.y, in.h, out.h), u = bilinear_at(p.x, in.w, out.w);
    float a[V], b[V], below_a[V], below_b[V];
    act_read<T, V>(x + pixel_element(in, p.image, v.first, u.first, p.c), a);
    act_read<T, V>(x + pixel_element(in, p.image, v.first, u.second, p.c), b);
    act_read<T, V>(x + pixel_element(in, p.image, v.second, u.first, p.c), below_a);
    act_read<T, V>(x + pixel_element(in, p.image, v.second, u.second, p.c), below_b);
#pragma unroll
    for (int j = 0; j < V; j++)
        a[j] = bilinear_mix(bilinear_mix(a[j], b[j], u.part),
                            bilinear_mix(below_a[j], below_b[j], u.part), v.part);
    act_store<T, V>(y + i * V, a);
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_bilinear_back(size_t n, nn_shape in, nn_shape out, const T *dy, T *dx)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const pixel p = pixel_of<V>(in, i);
    const int y_end = bilinear_end(p.y, in.h, out.h), x_end = bilinear_end(p.x, in.w, out.w);
    float sum[V] = {}, v[V];
    for (int oy = bilinear_begin(p.y, in.h, out.h); oy < y_end; oy++) {
        const float down = bilinear_share(oy, p.y, in.h, out.h);
        for (int ox = bilinear_begin(p.x, in.w, out.w); ox < x_end; ox++) {
            const float share = __fmul_rn(down, bilinear_share(ox, p.x, in.w, out.w));
            act_read<T, V>(dy + pixel_element(out, p.image, oy, ox, p.c), v);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] = __fadd_rn(sum[j], __fmul_rn(share, v[j]));
        }
    }
    act_store<T, V>(dx + i * V, sum);
}

template <typename T, int V>
static int forward_wide(struct dev_nn *d, nn_shape in, nn_shape out, int batch, const T *x, T *y)
{
    const size_t n = pixel_packs(out, batch, V);
    k_bilinear<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, in, out, x, y);
    return cu_check("bilinear");
}

template <typename T, int V>
static int backward_wide(struct dev_nn *d, nn_shape in, nn_shape out, int batch, const T *dy, T *dx)
{
    const size_t n = pixel_packs(in, batch, V);
    k_bilinear_back<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, in, out, dy, dx);
    return cu_check("bilinear backward");
}

template <typename T>
static int forward(struct dev_nn *d, nn_shape in, nn_shape out, int batch, const void *x, void *y)
{
    return act_wide<T>((size_t)in.c, x, y)
               ? forward_wide<T, ACT_LANES(T)>(d, in, out, batch, (const T *)x, (T *)y)
               : forward_wide<T, 1>(d, in, out, batch, (const T *)x, (T *)y);
}

template <typename T>
static int backward(struct dev_nn *d, nn_shape in, nn_shape out, int batch, const void *dy,
                    void *dx)
{
    return act_wide<T>((size_t)in.c, dy, dx)
               ? backward_wide<T, ACT_LANES(T)>(d, in, out, batch, (const T *)dy, (T *)dx)
               : backward_wide<T, 1>(d, in, out, batch, (const T *)dy, (T *)dx);
}

int nn_bilinear_forward(struct dev_nn *d, struct nn_shape in, struct nn_shape out, int batch,
                        const void *x, void *y)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, forward, d, in, out, batch, x, y);
}

int nn_bilinear_backward(struct dev_nn *d, struct nn_shape in, struct nn_shape out, int batch,
                         const void *dy, void *dx)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, backward, d, in, out, batch, dy, dx);
}
