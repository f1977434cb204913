/* look_avx512vbmi.h : looks up 64 bytes at once in tables of 128 entries, for the sums with
 * VBMI. */
#ifndef LOOK_AVX512VBMI_H
#define LOOK_AVX512VBMI_H
#include <immintrin.h>
#include <stddef.h>
#include "vec/sum/sum_look.h"

#define LOOK_INLINE static inline __attribute__((always_inline))

/* Look up the low seven bits of each byte. */
LOOK_INLINE __m512i look(const struct look *t, __m512i index)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(t->of), index,
                                    _mm512_loadu_si512(t->of + 64));
}

/* Look up the low six bits of each byte. */
LOOK_INLINE __m512i look_64(const uint8_t table[64], __m512i index)
{
    return _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table));
}

LOOK_INLINE __m512i look_bytes(int x)
{
    return _mm512_set1_epi8((char)x);
}

/* Choose which ? a : b, bit by bit. */
LOOK_INLINE __m512i look_pick(__m512i which, __m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi32(which, a, b, 0xca);
}

/* Mask the first n of 64 bytes. */
LOOK_INLINE __mmask64 look_first(size_t n)
{
    return n < 64 ? (1ull << n) - 1 : ~0ull;
}

/* p + bytes need not exist */
LOOK_INLINE void look_ahead(const void *p, size_t bytes)
{
    _mm_prefetch((const char *)((uintptr_t)p + bytes), _MM_HINT_T0);
}

#endif
