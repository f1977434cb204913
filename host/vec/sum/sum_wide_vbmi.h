/* sum_wide_vbmi.h : declares lanes of words for the sums of wide words with VBMI. */
#ifndef SUM_WIDE_VBMI_H
#define SUM_WIDE_VBMI_H
#include "vec/sum/look_avx512vbmi.h"

/* Bits of a lane, and of the longest word that it can hold at any bit of its first byte. */
enum { WIDE_SHORT = 32, WIDE_LONG = 64, WIDE_SHORT_MAX = 25, WIDE_LONG_MAX = 57 };

/* lane: 16, 32 or 64 bits */
LOOK_INLINE __m512i wide_lanes(int lane, uint64_t x)
{
    return lane == 16   ? _mm512_set1_epi16((short)x)
           : lane == 32 ? _mm512_set1_epi32((int)x)
                        : _mm512_set1_epi64((long long)x);
}

/* Masks the bytes of words [at, at + most) of n. */
LOOK_INLINE __mmask64 wide_bytes_of(size_t bits, size_t at, size_t most, size_t n)
{
    const size_t k = n <= at ? 0 : n - at < most ? n - at : most;
    return look_first((k * bits + 7) / 8);
}

#endif
