/* act.cuh : loads and stores V activations (float, half or bfloat16) as floats, 16 bytes at a time
 * if aligned:
 *
 *     const struct act_pack<T, V> p = act_load<T, V>(x);
 *     float v[V];  act_open<T, V>(p, v);
 *     act_store<T, V>(y, v);                               rounds to nearest T, ties to even */
#ifndef ACT_CUH
#define ACT_CUH
#include "device/run/cu.cuh"
#include "hls/arith/rules.h"
#include "hls/nn/layer.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#define ACT_LANES(T) ((int)(16 / sizeof(T)))

static __device__ inline float act_float(float x)
{
    return x;
}
static __device__ inline float act_float(__half x)
{
    return __half2float(x);
}
static __device__ inline float act_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/* Return the sum of `lane` over a warp in the order of hls/nn/layer.h. */
static __device__ inline float act_row_sum(float lane)
{
    for (int over = ROW_LANES / 2; over > 0; over /= 2)
        lane = __fadd_rn(lane, __shfl_xor_sync(0xffffffffu, lane, over));
    return lane;
}

/* Converts 32-bit words of one float or two 16-bit values. */
template <typename T> struct act;
template <> struct act<float> {
    enum { PER_WORD = 1 };
    static __device__ float of(float x) { return x; }
    /* x rounds to a value above zero if and only if x > least() */
    static __device__ float least() { return 0.0f; }
    static __device__ void open(uint32_t w, float *v) { v[0] = __uint_as_float(w); }
    static __device__ uint32_t close(const float *v) { return __float_as_uint(v[0]); }
};
template <> struct act<__half> {
    enum { PER_WORD = 2 };
    static __device__ __half of(float x) { return __float2half_rn(x); }
    static __device__ float least() { return 0x1p-25f; } /* half the smallest value */
    static __device__ void open(uint32_t w, float *v)
    {
        v[0] = __half2float(__ushort_as_half((unsigned short)w));
        v[1] = __half2float(__ushort_as_half((unsigned short)(w >> 16)));
    }
    static __device__ uint32_t close(const float *v)
    {
        const __half2 h = __floats2half2_rn(v[0], v[1]);
        uint32_t w;
        memcpy(&w, &h, sizeof w);
        return w;
    }
};
template <> struct act<__nv_bfloat16> {
    enum { PER_WORD = 2 };
    static __device__ __nv_bfloat16 of(float x) { return __float2bfloat16_rn(x); }
    static __device__ float least() { return 0x1p-134f; }
    static __device__ void open(uint32_t w, float *v)
    {
        v[0] = __uint_as_float(w << 16);
        v[1] = __uint_as_float(w & 0xffff0000u);
    }
    static __device__ uint32_t close(const float *v)
    {
        const __nv_bfloat162 h = __floats2bfloat162_rn(v[0], v[1]);
        uint32_t w;
        memcpy(&w, &h, sizeof w);
        return w;
    }
};

template <typename T, int V> struct act_pack {
    uint4 q[V * sizeof(T) / 16];
};
template <typename T> struct act_pack<T, 1> {
    T q[1];
};

template <typename T, int V> static __device__ inline act_pack<T, V> act_load(const T *p)
{
    act_pack<T, V> x;
    if constexpr (V == 1) {
        x.q[0] = *p;
    } else {
#pragma unroll
        for (int i = 0; i < (int)(V * sizeof(T) / 16); i++)
            x.q[i] = ((const uint4 *)p)[i];
    }
    return x;
}

template <typename T, int V>
static __device__ inline void act_open(const act_pack<T, V> &x, float *v)
{
    if constexpr (V == 1) {
        v[0] = act_float(x.q[0]);
    } else {
#pragma unroll
        for (int i = 0; i < (int)(V * sizeof(T) / 16); i++) {
            const int n = act<T>::PER_WORD;
            act<T>::open(x.q[i].x, v + (4 * i + 0) * n);
            act<T>::open(x.q[i].y, v + (4 * i + 1) * n);
            act<T>::open(x.q[i].z, v + (4 * i + 2) * n);
            act<T>::open(x.q[i].w, v + (4 * i + 3) * n);
        }
    }
}

template <typename T, int V> static __device__ inline void act_store(T *p, const float *v)
{
    if constexpr (V == 1) {
        *p = act<T>::of(v[0]);
    } else {
#pragma unroll
        for (int i = 0; i < (int)(V * sizeof(T) / 16); i++) {
            const int n = act<T>::PER_WORD;
            const uint32_t a = act<T>::close(v + (4 * i + 0) * n),
                           b = act<T>::close(v + (4 * i + 1) * n);
            const uint32_t c = act<T>::close(v + (4 * i + 2) * n),
                           e = act<T>::close(v + (4 * i + 3) * n);
            ((uint4 *)p)[i] = make_uint4(a, b, c, e);
        }
    }
}

template <typename T, int V> static __device__ inline void act_read(const T *x, float *v)
{
    act_open<T, V>(act_load<T, V>(x), v);
}

/* Returns whether rows of n values at these addresses are aligned to 16 bytes. Ignores NULL. */
template <typename T> static inline bool act_wide(size_t n)
{
    return n % ACT_LANES(T) == 0;
}
template <typename T, typename... P> static inline bool act_wide(size_t n, const void *p, P... more)
{
    return (uintptr_t)p % 16 == 0 && act_wide<T>(n, more...);
}

/* Round x to r's format. */
static __device__ inline float act_round(const struct round_rule &r, float x)
{
    const uint32_t code = mf_enc(r.fmt, __float_as_uint(x), r.shift, MF_NEAREST, r.overflow, 0);
    return __uint_as_float(mf_dec(r.fmt, code, -r.shift));
}

#endif
