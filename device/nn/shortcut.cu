/* shortcut.cu : computes the shortcut without parameters (He et al., option A): every second pixel,
 * with zeros in new channels. */
#include "device/nn/nn.cuh"
#include "device/nn/act.cuh"

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_shortcut(size_t n, nn_shape in, int out_c, const T *x, T *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const unsigned per_pixel = (unsigned)(out_c / V), w = (unsigned)(in.w + 1) / 2,
                   h = (unsigned)(in.h + 1) / 2;
    const size_t pixel = i / per_pixel, line = pixel / w, image = line / h;
    const int c = (int)(i - pixel * per_pixel) * V;
    const size_t ox = pixel - line * w, oy = line - image * h;
    float v[V] = {};
    if (c < in.c)
        act_read<T, V>(
            x + ((image * (unsigned)in.h + 2 * oy) * (unsigned)in.w + 2 * ox) * (unsigned)in.c + c,
            v);
    act_store<T, V>(y + i * V, v);
}

template <typename T, int V>
static __global__ void __launch_bounds__(CU_THREADS)
    k_shortcut_back(size_t n, nn_shape in, int out_c, const T *dy, T *dx)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    const unsigned per_pixel = (unsigned)(in.c / V), w = (unsigned)(in.w + 1) / 2,
                   h = (unsigned)(in.h + 1) / 2;
    const size_t pixel = i / per_pixel, line = pixel / (unsigned)in.w,
                 image = line / (unsigned)in.h;
    const int c = (int)(i - pixel * per_pixel) * V;
    const size_t ix = pixel - line * (unsigned)in.w, iy = line - image * (unsigned)in.h;
    float v[V] = {};
    if (ix % 2 == 0 && iy % 2 == 0 && c < out_c)
        act_read<T, V>(dy + ((image * h + iy / 2) * w + ix / 2) * (unsigned)out_c + c, v);
    act_store<T, V>(dx + i * V, v);
}

template <typename T, int V>
static int forward_wide(struct dev_nn *d, struct nn_shape in, int out_c, int batch, const T *x,
                        T *y)
{
    const size_t pixels = (size_t)batch * (size_t)((in.h + 1) / 2) * (size_t)((in.w + 1) / 2);
    const size_t n = pixels * (size_t)(out_c / V);
    k_shortcut<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, in, out_c, x, y);
    return cu_check("shortcut");
}

template <typename T, int V>
static int backward_wide(struct dev_nn *d, struct nn_shape in, int out_c, int batch, const T *dy,
                         T *dx)
{
    const size_t n = (size_t)batch * (size_t)in.h * (size_t)in.w * (size_t)(in.c / V);
    k_shortcut_back<T, V><<<cu_blocks(n), CU_THREADS, 0, cu_stream(d->s)>>>(n, in, out_c, dy, dx);
    return cu_check("shortcut backward");
}

template <typename T>
static int forward(struct dev_nn *d, struct nn_shape in, int out_c, int batch, const void *x,
                   void *y)
{
    if (act_wide<T>((size_t)in.c, x, y) && act_wide<T>((size_t)out_c))
        return forward_wide<T, ACT_LANES(T)>(d, in, out_c, batch, (const T *)x, (T *)y);
    return forward_wide<T, 1>(d, in, out_c, batch, (const T *)x, (T *)y);
}

template <typename T>
static int backward(struct dev_nn *d, struct nn_shape in, int out_c, int batch, const void *dy,
                    void *dx)
{
    if (act_wide<T>((size_t)in.c, dy, dx) && act_wide<T>((size_t)out_c))
        return backward_wide<T, ACT_LANES(T)>(d, in, out_c, batch, (const T *)dy, (T *)dx);
    return backward_wide<T, 1>(d, in, out_c, batch, (const T *)dy, (T *)dx);
}

int nn_shortcut_forward(struct dev_nn *d, struct nn_shape in, int out_c, int batch, const void *x,
                        void *y)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, forward, d, in, out_c, batch, x, y);
}

int nn_shortcut_backward(struct dev_nn *d, struct nn_shape in, int out_c, int batch, const void *dy,
                         void *dx)
{
    return batch == 0 ? 0 : NN_BY_TYPE(d, backward, d, in, out_c, batch, dy, dx);
}
