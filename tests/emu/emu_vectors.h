/* emu_vectors.h : CUDA's keywords and vector types. */
#ifndef EMU_VECTORS_H
#define EMU_VECTORS_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __noinline__
/* A block's threads share an OS thread; concurrent blocks have their own. */
#define __shared__ static __thread

#define EMU_VECTOR(t, name)                                                     \
    struct __attribute__((aligned(2 * sizeof(t)))) name##2                      \
    {                                                                           \
        t x, y;                                                                 \
    };                                                                          \
    struct name##3                                                              \
    {                                                                           \
        t x, y, z;                                                              \
    };                                                                          \
    struct __attribute__((aligned(sizeof(t) > 4 ? 16 : 4 * sizeof(t)))) name##4 \
    {                                                                           \
        t x, y, z, w;                                                           \
    };                                                                          \
    static inline name##2 make_##name##2(t x, t y)                              \
    {                                                                           \
        return {x, y};                                                          \
    }                                                                           \
    static inline name##3 make_##name##3(t x, t y, t z)                         \
    {                                                                           \
        return {x, y, z};                                                       \
    }                                                                           \
    static inline name##4 make_##name##4(t x, t y, t z, t w)                    \
    {                                                                           \
        return {x, y, z, w};                                                    \
    }
EMU_VECTOR(unsigned, uint)
EMU_VECTOR(float, float)
EMU_VECTOR(double, double)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

#endif
