/* philox_avx2.c : makes words of the stream of philox.h with AVX2, one block per lane. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86

CAST_INLINE __m256i all(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

/* halves of the 64-bit products by m */
CAST_INLINE void mul_wide(__m256i x, uint32_t m, __m256i *high, __m256i *low)
{
    const __m256i even = _mm256_mul_epu32(x, all(m)),
                  odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), all(m));
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/* c[i]: word i of 8 counters; k0, k1: halves of the key */
CAST_INLINE void mix(__m256i c[4], uint32_t k0, uint32_t k1)
{
    __m256i h0, l0, h1, l1;
    mul_wide(c[0], 0xd2511f53u, &h0, &l0);
    mul_wide(c[2], 0xcd9e8d57u, &h1, &l1);
    c[0] = _mm256_xor_si256(_mm256_xor_si256(h1, c[1]), all(k0));
    c[2] = _mm256_xor_si256(_mm256_xor_si256(h0, c[3]), all(k1));
    c[1] = l1;
    c[3] = l0;
}

/* Transpose 4x4 words within 128-bit halves, then join these. */
CAST_INLINE void put_blocks(const __m256i c[4], uint32_t words[32])
{
    const __m256i a = _mm256_unpacklo_epi32(c[0], c[1]), b = _mm256_unpackhi_epi32(c[0], c[1]);
    const __m256i d = _mm256_unpacklo_epi32(c[2], c[3]), e = _mm256_unpackhi_epi32(c[2], c[3]);
    const __m256i r[4] = {_mm256_unpacklo_epi64(a, d), _mm256_unpackhi_epi64(a, d),
                          _mm256_unpacklo_epi64(b, e), _mm256_unpackhi_epi64(b, e)};
    _mm256_storeu_si256((void *)words, _mm256_permute2x128_si256(r[0], r[1], 0x20));
    _mm256_storeu_si256((void *)(words + 8), _mm256_permute2x128_si256(r[2], r[3], 0x20));
    _mm256_storeu_si256((void *)(words + 16), _mm256_permute2x128_si256(r[0], r[1], 0x31));
    _mm256_storeu_si256((void *)(words + 24), _mm256_permute2x128_si256(r[2], r[3], 0x31));
}

enum { BLOCKS = 16 }; /* per step: two registers hide the latency of multiplications */

CAST_INLINE void step(uint64_t key, uint64_t block, uint32_t half, uint32_t words[4 * BLOCKS])
{
    const __m256i zero = _mm256_setzero_si256(), low = all((uint32_t)block),
                  high = all((uint32_t)(block >> 32)), which = all(half);
    __m256i c[4] = {_mm256_add_epi32(low, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), high, which,
                    zero};
    __m256i d[4] = {_mm256_add_epi32(low, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)), high,
                    which, zero};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        mix(c, k0, k1);
        mix(d, k0, k1);
    }
    put_blocks(c, words);
    put_blocks(d, words + 32);
}

#define PHILOX philox_avx2
#include "vec/cast/philox_body.h"
#endif
