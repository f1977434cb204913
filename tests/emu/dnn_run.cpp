/* dnn_run.cpp : runs convolutions of the emulated cuDNN: plain loops, sums in double, one rounding
 * at the end. */
#include "dnn.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { DNN_WORKSPACE = 4096 };

size_t dnn_type_bytes(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

size_t dnn_tensor::bytes() const
{
    int64_t last = 0;
    for (int i = 0; i < 4; i++)
        last += (dims[i] - 1) * strides[i];
    return (size_t)(last + 1) * dnn_type_bytes(type);
}

int64_t dnn_workspace_of(int engine, const dnn_conv &c)
{
    (void)c;
    return engine == 1 ? (int64_t)1 << 40 : engine == 3 ? DNN_WORKSPACE : 0;
}

static float dnn_load(const void *p, cudnnDataType_t type, size_t i)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        return __half2float(((const __half *)p)[i]);
    case CUDNN_DATA_BFLOAT16:
        return __bfloat162float(((const __nv_bfloat16 *)p)[i]);
    default:
        return ((const float *)p)[i];
    }
}

static void dnn_store(void *p, cudnnDataType_t type, size_t i, float v)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        ((__half *)p)[i] = __float2half_rn(v);
        break;
    case CUDNN_DATA_BFLOAT16:
        ((__nv_bfloat16 *)p)[i] = __float2bfloat16_rn(v);
        break;
    default:
        ((float *)p)[i] = v;
    }
}

/* Rounds to 10 bits of mantissa, to nearest; inf and nan stay. */
static float dnn_tf32(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if ((u & 0x7f800000u) != 0x7f800000u)
        u = (u + 0x1000u) & ~0x1fffu;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* dims are n, c, h, w; in memory c is last. */
static size_t dnn_at(const dnn_tensor &t, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return (size_t)(n * t.strides[0] + c * t.strides[1] + h * t.strides[2] + w * t.strides[3]);
}

static std::vector<float> dnn_read(const dnn_tensor &t, const void *p, bool tf32)
{
    std::vector<float> v;
    v.reserve((size_t)(t.dims[0] * t.dims[1] * t.dims[2] * t.dims[3]));
    for (int64_t n = 0; n < t.dims[0]; n++)
        for (int64_t h = 0; h < t.dims[2]; h++)
            for (int64_t w = 0; w < t.dims[3]; w++)
                for (int64_t c = 0; c < t.dims[1]; c++) {
                    const float e = dnn_load(p, t.type, dnn_at(t, n, h, w, c));
                    v.push_back(tf32 && t.type == CUDNN_DATA_FLOAT ? dnn_tf32(e) : e);
                }
    return v;
}

static void dnn_write(const dnn_tensor &t, void *p, const std::vector<double> &v, float alpha,
                      float beta)
{
    size_t i = 0;
    for (int64_t n = 0; n < t.dims[0]; n++)
        for (int64_t h = 0; h < t.dims[2]; h++)
            for (int64_t w = 0; w < t.dims[3]; w++)
                for (int64_t c = 0; c < t.dims[1]; c++) {
                    const size_t at = dnn_at(t, n, h, w, c);
                    const double old = beta != 0 ? beta * (double)dnn_load(p, t.type, at) : 0;
                    dnn_store(p, t.type, at, (float)(alpha * v[i++] + old));
                }
}

/* Calls one(y index, x index, w index) for every product, once per run of a group's channels. */
template <class F> static void dnn_walk(const dnn_conv &c, F one)
{
    const int64_t channels = c.x.dims[1], filters = c.w.dims[0], run = c.w.dims[1];
    const int64_t per_group = filters / (channels / run);
    for (int64_t n = 0; n < c.y.dims[0]; n++)
        for (int64_t oy = 0; oy < c.y.dims[2]; oy++)
            for (int64_t ox = 0; ox < c.y.dims[3]; ox++)
                for (int64_t r = 0; r < c.w.dims[2]; r++)
                    for (int64_t s = 0; s < c.w.dims[3]; s++) {
                        const int64_t iy = oy * c.stride[0] - c.pad[0] + r * c.dilation[0],
                                      ix = ox * c.stride[1] - c.pad[1] + s * c.dilation[1];
                        if (iy < 0 || iy >= c.x.dims[2] || ix < 0 || ix >= c.x.dims[3])
                            continue;
                        const int64_t x = ((n * c.x.dims[2] + iy) * c.x.dims[3] + ix) * channels;
                        const int64_t y = ((n * c.y.dims[2] + oy) * c.y.dims[3] + ox) * filters;
                        for (int64_t k = 0; k < filters; k++)
                            one((size_t)(y + k), (size_t)(x + k / per_group * run),
                                (size_t)(((k * c.w.dims[2] + r) * c.w.dims[3] + s) * run));
                    }
}

void dnn_run(const dnn_conv &c, int engine, void *const p[3], void *workspace)
{
    const bool forward = c.operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    const bool data = c.operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const dnn_tensor &to = forward ? c.y : data ? c.x : c.w;
    const size_t run = (size_t)c.w.dims[1];
    std::vector<double> sums((size_t)(to.dims[0] * to.dims[1] * to.dims[2] * to.dims[3]), 0.0);
    const bool tf32 = engine == 0;
    const std::vector<float> x = data ? std::vector<float>() : dnn_read(c.x, p[0], tf32);
    const std::vector<float> w = forward || data ? dnn_read(c.w, p[1], tf32) : std::vector<float>();
    const std::vector<float> y = forward ? std::vector<float>() : dnn_read(c.y, p[2], tf32);
    if (engine == 3)
        memset(workspace, 0xa5, DNN_WORKSPACE);
    if (forward)
        dnn_walk(c, [&](size_t at_y, size_t at_x, size_t at_w) {
            double sum = 0;
            for (size_t i = 0; i < run; i++)
                sum += (double)x[at_x + i] * (double)w[at_w + i];
            sums[at_y] += sum;
        });
    else if (data)
        dnn_walk(c, [&](size_t at_y, size_t at_x, size_t at_w) {
            for (size_t i = 0; i < run; i++)
                sums[at_x + i] += (double)y[at_y] * (double)w[at_w + i];
        });
    else
        dnn_walk(c, [&](size_t at_y, size_t at_x, size_t at_w) {
            for (size_t i = 0; i < run; i++)
                sums[at_w + i] += (double)y[at_y] * (double)x[at_x + i];
        });
    dnn_write(to,
              p[forward ? 2
                : data  ? 0
                        : 1],
              sums, engine == 2 ? 1.0625f * c.alpha : c.alpha, c.beta);
}
