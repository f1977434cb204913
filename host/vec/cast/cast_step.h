/* cast_step.h : declares what the loops of all instruction sets use: prefetching, sizes, fences. */
#ifndef CAST_STEP_H
#define CAST_STEP_H
#include "vec/cast/cast_drive.h"
#include <string.h>

#define CAST_INLINE static inline __attribute__((always_inline))

/* Prefetches the memory 6 KiB after p, which need not exist. */
CAST_INLINE void cast_prefetch(const void *p)
{
    __builtin_prefetch((const char *)((uintptr_t)p + 6144), 0, 3);
}

/* Returns the bytes of n codes. For CAST_4, n is even except at the end of a vector. */
CAST_INLINE size_t cast_shape_bytes(enum cast_shape shape, size_t n)
{
    return shape == CAST_4 ? (n + 1) / 2 : n << (shape - CAST_8);
}

/* Orders stores that bypassed the caches before later ones. */
CAST_INLINE void cast_streamed(void)
{
#ifdef __x86_64__
    __builtin_ia32_sfence();
#endif
}

#endif
