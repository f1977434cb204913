/* mean.cu : computes the mean over an image's pixels, and its gradient. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"

enum { MEAN_PIXELS = 8 }; /* loaded at once */

/* Pixels are added in ascending order, as on the CPU. */
template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_mean(size_t n_packs, int pixels, int c, const T *x, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n_packs)
        return;
    const int per_image = c / V;
    const size_t image = i / (unsigned)per_image;
    const int at = (int)(i - image * (unsigned)per_image) * V;
    const T *from = x + image * (size_t)pixels * (size_t)c + at;
    float sum[V] = {};
    for (int p = 0; p < pixels; p += MEAN_PIXELS) {
        act_pack<T, V> packs[MEAN_PIXELS];
#pragma unroll
        for (int u = 0; u < MEAN_PIXELS; u++)
            if (p + u < pixels)
                packs[u] = act_load<T, V>(from + (size_t)(p + u) * (size_t)c);
#pragma unroll
        for (int u = 0; u < MEAN_PIXELS; u++) {
            float v[V];
            if (p + u >= pixels)
                break;
            act_open<T, V>(packs[u], v);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] = __fadd_rn(sum[j], v[j]);
        }
    }
#pragma unroll
    for (int j = 0; j < V; j++)
        sum[j] = __fdiv_rn(sum[j], (float)pixels);
    act_store<T, V>(y + i * V, sum);
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_mean_back(size_t n_packs, int pixels, int c, float share, const T *dy, T *dx)
{
    const unsigned per_pixel = (unsigned)(c / V), per_image = per_pixel * (unsigned)pixels;
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n_packs)
        return;
    const size_t image = i / per_image;
    const unsigned at = (unsigned)(i - image * per_image) % per_pixel * V;
    float v[V];
    act_read<T, V>(dy + image * (size_t)c + at, v);
#pragma unroll
    for (int j = 0; j < V; j++)
        v[j] = __fmul_rn(v[j], share);
    act_store<T, V>(dx + i * V, v);
}

template <typename T>
static int forward(struct dev_nn *d, int batch, int pixels, int c, const void *x, void *y)
{
    const size_t n = (size_t)batch * (size_t)c, wide = n / ACT_LANES(T);
    const cudaStream_t s = cu_stream(d->s);
    const T *from = (const T *)x;
    if (act_wide<T>((size_t)c, x, y))
        k_mean<T, ACT_LANES(T)>
            <<<cu_blocks(wide), CU_THREADS, 0, s>>>(wide, pixels, c, from, (T *)y);
    else
        k_mean<T, 1><<<cu_blocks(n), CU_THREADS, 0, s>>>(n, pixels, c, from, (T *)y);
    return cu_check("mean over pixels");
}

template <typename T>
static int backward(struct dev_nn *d, int batch, int pixels, int c, const void *dy, void *dx)
{
    const size_t n = (size_t)batch * (size_t)pixels * (size_t)c, wide = n / ACT_LANES(T);
    const cudaStream_t s = cu_stream(d->s);
    const T *from = (const T *)dy;
    const float share = 1.0f / (float)pixels;
    if (act_wide<T>((size_t)c, dy, dx))
        k_mean_back<T, ACT_LANES(T)>
            <<<cu_blocks(wide), CU_THREADS, 0, s>>>(wide, pixels, c, share, from, (T *)dx);
    else
        k_mean_back<T, 1><<<cu_blocks(n), CU_THREADS, 0, s>>>(n, pixels, c, share, from, (T *)dx);
    return cu_check("mean over pixels backward");
}

int nn_mean_forward(struct dev_nn *d, int batch, int pixels, int c, const void *x, void *y)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, forward, d, batch, pixels, c, x, y);
}

int nn_mean_backward(struct dev_nn *d, int batch, int pixels, int c, const void *dy, void *dx)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, backward, d, batch, pixels, c, dy, dx);
}
