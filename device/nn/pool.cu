/* pool.cu : computes max and average pooling with the CPU's order of sums and choices. In the
 * backward pass, each input pixel visits the windows that cover it. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"
#include "device/nn/pixel.cuh"

/* Lines y0 to y1 - 1 and columns x0 to x1 - 1, of input or output pixels. */
struct patch {
    int y0, y1, x0, x1;
};
static __device__ inline patch patch_under(const nn_window &g, int oy, int ox)
{
    const int y = oy * g.stride - g.pad, x = ox * g.stride - g.pad;
    const patch p = {max(y, 0), min(y + g.k, g.in.h), max(x, 0), min(x + g.k, g.in.w)};
    return p;
}
/* Returns the first window that covers a coordinate. at: counted from the start of the padding. */
static __device__ inline int first_over(int at, int k, int stride)
{
    return at < k ? 0 : (at - k) / stride + 1;
}
static __device__ inline patch patch_over(const nn_window &g, int iy, int ix)
{
    const int y = iy + g.pad, x = ix + g.pad;
    const patch p = {first_over(y, g.k, g.stride), min(y / g.stride + 1, g.out.h),
                     first_over(x, g.k, g.stride), min(x / g.stride + 1, g.out.w)};
    return p;
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_pool_max(size_t n, nn_window g, const T *x, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const pixel o = pixel_of<V>(g.out, i);
    const patch p = patch_under(g, o.y, o.x);
    float top[V];
    act_read<T, V>(x + pixel_element(g.in, o.image, p.y0, p.x0, o.c), top);
    for (int iy = p.y0; iy < p.y1; iy++)
        for (int ix = p.x0; ix < p.x1; ix++) {
            float v[V];
            act_read<T, V>(x + pixel_element(g.in, o.image, iy, ix, o.c), v);
#pragma unroll
            for (int j = 0; j < V; j++)
                top[j] = v[j] <= top[j] ? top[j] : v[j];
        }
    act_store<T, V>(y + i * V, top);
}

/* The first of equal maxima in row order gets the gradient. */
template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_pool_max_back(size_t n, nn_window g, const T *x, const T *y, const T *dy, T *dx)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const pixel in = pixel_of<V>(g.in, i);
    const patch windows = patch_over(g, in.y, in.x);
    float own[V], sum[V] = {};
    act_read<T, V>(x + i * V, own);
    for (int oy = windows.y0; oy < windows.y1; oy++)
        for (int ox = windows.x0; ox < windows.x1; ox++) {
            const size_t out = pixel_element(g.out, in.image, oy, ox, in.c);
            float top[V], v[V];
            unsigned mine = 0;
            act_read<T, V>(y + out, top);
#pragma unroll
            for (int j = 0; j < V; j++)
                mine |= (unsigned)(own[j] >= top[j]) << j;
            const patch p = patch_under(g, oy, ox);
            for (int iy = p.y0; iy <= in.y && mine; iy++)
                for (int ix = p.x0; ix < (iy < in.y ? p.x1 : in.x) && mine; ix++) {
                    act_read<T, V>(x + pixel_element(g.in, in.image, iy, ix, in.c), v);
#pragma unroll
                    for (int j = 0; j < V; j++)
                        mine &= ~((unsigned)(v[j] >= top[j]) << j);
                }
            if (!mine)
                continue;
            act_read<T, V>(dy + out, v);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] = mine >> j & 1 ? __fadd_rn(sum[j], v[j]) : sum[j];
        }
    act_store<T, V>(dx + i * V, sum);
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_pool_avg(size_t n, nn_window g, float share, const T *x, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const pixel o = pixel_of<V>(g.out, i);
    const patch p = patch_under(g, o.y, o.x);
    float sum[V] = {}, v[V];
    for (int iy = p.y0; iy < p.y1; iy++)
        for (int ix = p.x0; ix < p.x1; ix++) {
            act_read<T, V>(x + pixel_element(g.in, o.image, iy, ix, o.c), v);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] = __fadd_rn(sum[j], v[j]);
        }
#pragma unroll
    for (int j = 0; j < V; j++)
        sum[j] = __fmul_rn(sum[j], share);
    act_store<T, V>(y + i * V, sum);
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_pool_avg_back(size_t n, nn_window g, float share, const T *dy, T *dx, bool add)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const pixel in = pixel_of<V>(g.in, i);
    const patch windows = patch_over(g, in.y, in.x);
    float sum[V] = {}, v[V];
    if (add)
        act_read<T, V>(dx + i * V, sum);
    for (int oy = windows.y0; oy < windows.y1; oy++)
        for (int ox = windows.x0; ox < windows.x1; ox++) {
            act_read<T, V>(dy + pixel_element(g.out, in.image, oy, ox, in.c), v);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] = __fadd_rn(sum[j], __fmul_rn(v[j], share));
        }
    act_store<T, V>(dx + i * V, sum);
}

static float share_of(const struct nn_window *g)
{
    return 1.0f / (float)(g->k * g->k);
}

template <typename T, int V>
static int max_forward(struct dev_nn *d, const struct nn_window *g, int batch, const T *x, T *y)
{
    const size_t n = pixel_packs(g->out, batch, V);
    k_pool_max<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, *g, x, y);
    return cu_check("max pooling");
}

template <typename T, int V>
static int max_backward(struct dev_nn *d, const struct nn_window *g, int batch, const T *x,
                        const T *y, const T *dy, T *dx)
{
    const size_t n = pixel_packs(g->in, batch, V);
    k_pool_max_back<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, *g, x, y, dy, dx);
    return cu_check("max pooling backward");
}

template <typename T, int V>
static int avg_forward(struct dev_nn *d, const struct nn_window *g, int batch, const T *x, T *y)
{
    const size_t n = pixel_packs(g->out, batch, V);
    k_pool_avg<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, *g, share_of(g), x, y);
    return cu_check("average pooling");
}

template <typename T, int V>
static int avg_backward(struct dev_nn *d, const struct nn_window *g, int batch, const T *dy, T *dx,
                        bool add)
{
    const size_t n = pixel_packs(g->in, batch, V);
    k_pool_avg_back<T, V>
        <<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, *g, share_of(g), dy, dx, add);
    return cu_check("average pooling backward");
}

#define POOL_BY_WIDTH(launch, g, wide, ...)                    \
    (wide) ? launch<T, ACT_LANES(T)>(d, g, batch, __VA_ARGS__) \
           : launch<T, 1>(d, g, batch, __VA_ARGS__)

template <typename T>
static int max_of(struct dev_nn *d, const struct nn_window *g, int batch, const void *x, void *y)
{
    const bool wide = act_wide<T>((size_t)g->in.c, x, y);
    return POOL_BY_WIDTH(max_forward, g, wide, (const T *)x, (T *)y);
}

template <typename T>
static int max_back_of(struct dev_nn *d, const struct nn_window *g, int batch, const void *x,
                       const void *y, const void *dy, void *dx)
{
    const bool wide = act_wide<T>((size_t)g->in.c, x, y, dy, dx);
    return POOL_BY_WIDTH(max_backward, g, wide, (const T *)x, (const T *)y, (const T *)dy, (T *)dx);
}

template <typename T>
static int avg_of(struct dev_nn *d, const struct nn_window *g, int batch, const void *x, void *y)
{
    const bool wide = act_wide<T>((size_t)g->in.c, x, y);
    return POOL_BY_WIDTH(avg_forward, g, wide, (const T *)x, (T *)y);
}

template <typename T>
static int avg_back_of(struct dev_nn *d, const struct nn_window *g, int batch, const void *dy,
                       void *dx, bool add)
{
    const bool wide = act_wide<T>((size_t)g->in.c, dy, dx);
    return POOL_BY_WIDTH(avg_backward, g, wide, (const T *)dy, (T *)dx, add);
}

int nn_pool_max_forward(struct dev_nn *d, const struct nn_window *g, int batch, const void *x,
                        void *y)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, max_of, d, g, batch, x, y);
}

int nn_pool_max_backward(struct dev_nn *d, const struct nn_window *g, int batch, const void *x,
                         const void *y, const void *dy, void *dx)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, max_back_of, d, g, batch, x, y, dy, dx);
}

int nn_pool_avg_forward(struct dev_nn *d, const struct nn_window *g, int batch, const void *x,
                        void *y)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, avg_of, d, g, batch, x, y);
}

int nn_pool_avg_backward(struct dev_nn *d, const struct nn_window *g, int batch, const void *dy,
                         void *dx, bool add)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, avg_back_of, d, g, batch, dy, dx, add);
}
