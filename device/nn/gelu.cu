/* gelu.cu : computes GELU and its gradient, with the bits of host/nn/layers/layer_gelu.c. */
#include "device/nn/nn.cuh"
#include "device/nn/map.cuh"
#include "hls/nn/gelu.h"

struct op_gelu {
    enum { TWO = 0 };
    __device__ float operator()(float x, float) const { return __fmul_rn(x, gelu_at(x).share); }
};
struct op_gelu_back {
    enum { TWO = 1 };
    __device__ float operator()(float x, float dy) const { return __fmul_rn(dy, gelu_at(x).slope); }
};

int nn_gelu_forward(struct dev_nn *d, size_t n, const void *x, void *y)
{
    return NN_BY_TYPE(d, map, d->s, n, op_gelu(), x, NULL, y, "gelu");
}

int nn_gelu_backward(struct dev_nn *d, size_t n, const void *x, const void *dy, void *dx)
{
    return NN_BY_TYPE(d, map, d->s, n, op_gelu_back(), x, dy, dx, "gelu backward");
}
