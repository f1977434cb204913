/* relu.cu : computes ReLU, sum and scale, and converts floats to activations. */
#include "device/nn/nn.cuh"
#include "device/nn/map.cuh"

struct op_relu {
    enum { TWO = 0 };
    __device__ float operator()(float x, float) const { return x < 0 ? 0 : x; }
};
struct op_relu_back {
    enum { TWO = 1 };
    __device__ float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};
struct op_add {
    enum { TWO = 1 };
    __device__ float operator()(float a, float b) const { return __fadd_rn(a, b); }
};
struct op_scale {
    enum { TWO = 0 };
    float k;
    __device__ float operator()(float x, float) const { return __fmul_rn(k, x); }
};

int nn_relu_forward(struct dev_nn *d, size_t n, const void *x, void *y)
{
    return NN_BY_TYPE(d, map, d->s, n, op_relu(), x, NULL, y, "relu");
}

int nn_relu_backward(struct dev_nn *d, size_t n, const void *y, const void *dy, void *dx)
{
    return NN_BY_TYPE(d, map, d->s, n, op_relu_back(), y, dy, dx, "relu backward");
}

int nn_add(struct dev_nn *d, size_t n, const void *a, const void *b, void *y)
{
    return NN_BY_TYPE(d, map, d->s, n, op_add(), a, b, y, "sum of activations");
}

int nn_scale(struct dev_nn *d, size_t n, double k, const void *x, void *y)
{
    const op_scale op = {(float)k};
    return NN_BY_TYPE(d, map, d->s, n, op, x, NULL, y, "scale");
}

template <typename TO, int V>
static __global__ void __launch_bounds__(CU_THREADS) k_convert(size_t n, const float *x, TO *y)
{
    const size_t whole = n / V, first = (size_t)blockIdx.x * (MAP_EACH * CU_THREADS) + threadIdx.x;
    for (int u = 0; u < MAP_EACH; u++) {
        const size_t i = first + (size_t)u * CU_THREADS;
        if (i < whole) {
            float v[V];
            act_read<float, V>(x + i * V, v);
            act_store<TO, V>(y + i * V, v);
        }
    }
    const size_t last = whole * V + threadIdx.x;
    if (blockIdx.x == 0 && last < n)
        y[last] = act<TO>::of(x[last]);
}

template <typename TO> static int convert(struct dev_nn *d, size_t n, const float *x, TO *y)
{
    if (act_wide<float>(0, x, y))
        k_convert<TO, 8><<<map_blocks(n, 8), CU_THREADS, 0, cu_stream(d->s)>>>(n, x, y);
    else
        k_convert<TO, 1><<<map_blocks(n, 1), CU_THREADS, 0, cu_stream(d->s)>>>(n, x, y);
    return cu_check("conversion of activations");
}

static int copy(struct dev_nn *d, size_t n, const void *x, void *y)
{
    if (x == y)
        return 0;
    return cu_try(cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDefault, cu_stream(d->s)),
                  "copy of activations");
}

int nn_to_math(struct dev_nn *d, size_t n, const float *x, void *y)
{
    if (n == 0)
        return 0;
    if (nn_half(d))
        return convert(d, n, x, (__half *)y);
    if (d->math == NN_BF16)
        return convert(d, n, x, (__nv_bfloat16 *)y);
    return copy(d, n, x, y);
}
