/* lrn.cu : computes local response normalisation across channels, with the bits of
 * host/nn/layers/layer_lrn.c. A thread computes V channels of a pixel. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"
#include "hls/nn/layer.h"

/* v[0]: channel first - BESIDE. Zeros outside of the pixel's c channels. */
template <typename T, int V, int BESIDE>
static __device__ inline void read_beside(int c, int first, const T *x, float *v)
{
    act_read<T, V>(x + first, v + BESIDE);
#pragma unroll
    for (int j = 1; j <= BESIDE; j++) {
        v[BESIDE - j] = first >= j ? act_float(x[first - j]) : 0;
        v[BESIDE + V - 1 + j] = first + V - 1 + j < c ? act_float(x[first + V - 1 + j]) : 0;
    }
}

static __device__ inline float sum_beside(const float *v)
{
    return __fadd_rn(__fadd_rn(__fadd_rn(v[0], v[1]), __fadd_rn(v[3], v[4])), v[2]);
}

/* squares: of five channels. */
static __device__ inline float scale_of(const float *squares, float share)
{
    return __fadd_rn(1.0f, __fmul_rn(share, sum_beside(squares)));
}

static __device__ inline float power(float s)
{
    const float root = __fsqrt_rn(s);
    return __fdiv_rn(1.0f, __fmul_rn(root, __fsqrt_rn(root)));
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lrn(size_t n_packs, int c, float share, const T *x, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n_packs)
        return;
    const size_t per_pixel = (size_t)(c / V), pixel = i / per_pixel;
    const int first = (int)(i - pixel * per_pixel) * V;
    float v[V + 2 * LRN_REACH], square[V + 2 * LRN_REACH], out[V];
    read_beside<T, V, LRN_REACH>(c, first, x + pixel * (size_t)c, v);
#pragma unroll
    for (int j = 0; j < V + 2 * LRN_REACH; j++)
        square[j] = __fmul_rn(v[j], v[j]);
#pragma unroll
    for (int j = 0; j < V; j++)
        out[j] = __fmul_rn(v[j + LRN_REACH], power(scale_of(square + j, share)));
    act_store<T, V>(y + i * V, out);
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lrn_back(size_t n_packs, int c, float share, const T *x, const T *dy, T *dx)
{
    enum { BESIDE = 2 * LRN_REACH, WIDE = V + 2 * LRN_REACH };
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n_packs)
        return;
    const size_t per_pixel = (size_t)(c / V), pixel = i / per_pixel;
    const int first = (int)(i - pixel * per_pixel) * V;
    const float factor = __fmul_rn(1.5f, share);
    float v[V + 2 * BESIDE], square[V + 2 * BESIDE], d[WIDE], p[WIDE], ratio[WIDE], out[V];
    read_beside<T, V, BESIDE>(c, first, x + pixel * (size_t)c, v);
    read_beside<T, V, LRN_REACH>(c, first, dy + pixel * (size_t)c, d);
#pragma unroll
    for (int j = 0; j < V + 2 * BESIDE; j++)
        square[j] = __fmul_rn(v[j], v[j]);
#pragma unroll
    for (int j = 0; j < WIDE; j++) {
        const float s = scale_of(square + j, share);
        p[j] = power(s);
        ratio[j] = __fdiv_rn(__fmul_rn(d[j], __fmul_rn(v[j + LRN_REACH], p[j])), s);
    }
#pragma unroll
    for (int j = 0; j < V; j++) {
        const float other = __fmul_rn(__fmul_rn(factor, v[j + BESIDE]), sum_beside(ratio + j));
        out[j] = __fsub_rn(__fmul_rn(d[j + LRN_REACH], p[j + LRN_REACH]), other);
    }
    act_store<T, V>(dx + i * V, out);
}

template <typename T>
static int forward(struct dev_nn *d, size_t n, int c, float share, const void *x, void *y)
{
    const cudaStream_t s = cu_stream(d->s);
    const size_t all = n * (size_t)c, wide = all / ACT_LANES(T);
    const T *from = (const T *)x;
    if (act_wide<T>((size_t)c, x, y))
        k_lrn<T, ACT_LANES(T)><<<cu_blocks(wide), CU_THREADS, 0, s>>>(wide, c, share, from, (T *)y);
    else
        k_lrn<T, 1><<<cu_blocks(all), CU_THREADS, 0, s>>>(all, c, share, from, (T *)y);
    return cu_check("response normalisation");
}

template <typename T>
static int backward(struct dev_nn *d, size_t n, int c, float share, const void *x, const void *dy,
                    void *dx)
{
    const cudaStream_t s = cu_stream(d->s);
    const size_t all = n * (size_t)c, wide = all / ACT_LANES(T);
    const T *from = (const T *)x, *up = (const T *)dy;
    if (act_wide<T>((size_t)c, x, dy, dx))
        k_lrn_back<T, ACT_LANES(T)>
            <<<cu_blocks(wide), CU_THREADS, 0, s>>>(wide, c, share, from, up, (T *)dx);
    else
        k_lrn_back<T, 1><<<cu_blocks(all), CU_THREADS, 0, s>>>(all, c, share, from, up, (T *)dx);
    return cu_check("response normalisation backward");
}

int nn_lrn_forward(struct dev_nn *d, size_t n, int c, double alpha, const void *x, void *y)
{
    const float share = (float)(alpha / LRN_CHANNELS);
    return n == 0 ? 0 : NN_BY_TYPE(d, forward, d, n, c, share, x, y);
}

int nn_lrn_backward(struct dev_nn *d, size_t n, int c, double alpha, const void *x, const void *dy,
                    void *dx)
{
    const float share = (float)(alpha / LRN_CHANNELS);
    return n == 0 ? 0 : NN_BY_TYPE(d, backward, d, n, c, share, x, dy, dx);
}
