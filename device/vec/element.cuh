/* element.cuh : reads and writes one or four elements of a vector of floats or halves, as floats in
 * registers. The type must be the same for all threads of a block. */
#ifndef ELEMENT_CUH
#define ELEMENT_CUH
#include "device/run/cu.cuh"
#include "hls/arith/rules.h"
#include <cuda_fp16.h>

#define ELEMENT_FN static __device__ __forceinline__

ELEMENT_FN float element_get(const void *x, enum vec_type type, size_t i)
{
    return type == VEC_HALF ? __half2float(((const __half *)x)[i]) : ((const float *)x)[i];
}

ELEMENT_FN void element_put(void *x, enum vec_type type, size_t i, float v)
{
    if (type == VEC_HALF)
        ((__half *)x)[i] = __float2half_rn(v);
    else
        ((float *)x)[i] = v;
}

/* x * factor. A product of a GPU loses a nan's sign; the CPU keeps it. */
ELEMENT_FN float times(float x, float factor)
{
    return isnan(x) ? x : __fmul_rn(x, factor);
}

/* Each group of four, from a multiple of 4 on, can be accessed at once. */
ELEMENT_FN bool elements_whole(const void *x, enum vec_type type)
{
    return (uintptr_t)x % (4 * vec_type_bytes(type)) == 0;
}

ELEMENT_FN float2 element_open(uint32_t two)
{
    return make_float2(__half2float(__ushort_as_half((unsigned short)two)),
                       __half2float(__ushort_as_half((unsigned short)(two >> 16))));
}

ELEMENT_FN uint32_t element_close(float low, float high)
{
    return (uint32_t)__half_as_ushort(__float2half_rn(low)) |
           (uint32_t)__half_as_ushort(__float2half_rn(high)) << 16;
}

/* Elements from n on are zeros. e: a multiple of 4. whole: elements_whole(x). */
ELEMENT_FN float4 elements_get(const void *x, enum vec_type type, size_t e, size_t n, bool whole)
{
    if (whole && e + 4 <= n) {
        if (type == VEC_FLOAT)
            return *(const float4 *)((const float *)x + e);
        const uint2 two = *(const uint2 *)((const __half *)x + e);
        const float2 low = element_open(two.x), high = element_open(two.y);
        return make_float4(low.x, low.y, high.x, high.y);
    }
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = e + i < n ? element_get(x, type, e + i) : 0;
    return make_float4(v[0], v[1], v[2], v[3]);
}

ELEMENT_FN void elements_put(void *x, enum vec_type type, size_t e, size_t n, bool whole, float4 v)
{
    if (whole && e + 4 <= n) {
        if (type == VEC_FLOAT)
            *(float4 *)((float *)x + e) = v;
        else
            *(uint2 *)((__half *)x + e) =
                make_uint2(element_close(v.x, v.y), element_close(v.z, v.w));
        return;
    }
    const float all[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (e + i < n)
            element_put(x, type, e + i, all[i]);
}

#endif
