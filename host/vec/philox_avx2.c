/* philox_avx2.c : words of philox.h's stream with AVX2, eight blocks at a time. */
#include "vec/cast_x86.h"
#ifdef VEC_X86

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

CAST_INLINE __m256i all(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

/* The halves of the 64-bit products of eight lanes by m. */
CAST_INLINE void mul_wide(__m256i x, uint32_t m, __m256i *high, __m256i *low)
{
    const __m256i even = _mm256_mul_epu32(x, all(m)), odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), all(m));
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/* Words of blocks block ... block + 7; the low half of the block's number does not overflow on the way. */
CAST_INLINE void step(uint64_t key, uint64_t block, uint32_t words[32])
{
    __m256i c0 = _mm256_add_epi32(all((uint32_t)block), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    __m256i c1 = all((uint32_t)(block >> 32)), c2 = _mm256_setzero_si256(), c3 = c2;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        __m256i h0, l0, h1, l1;
        mul_wide(c0, 0xd2511f53u, &h0, &l0);
        mul_wide(c2, 0xcd9e8d57u, &h1, &l1);
        c0 = _mm256_xor_si256(_mm256_xor_si256(h1, c1), all(k0));
        c2 = _mm256_xor_si256(_mm256_xor_si256(h0, c3), all(k1));
        c1 = l1;
        c3 = l0;
    }
    /* Four words of eight blocks to eight blocks of four words: 4x4 transposes in the halves, then the halves. */
    const __m256i a = _mm256_unpacklo_epi32(c0, c1), b = _mm256_unpackhi_epi32(c0, c1);
    const __m256i c = _mm256_unpacklo_epi32(c2, c3), d = _mm256_unpackhi_epi32(c2, c3);
    const __m256i r[4] = {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c), _mm256_unpacklo_epi64(b, d),
                          _mm256_unpackhi_epi64(b, d)}; /* r[j]: | block 4 + j | block j | */
    _mm256_storeu_si256((void *)words, _mm256_permute2x128_si256(r[0], r[1], 0x20));
    _mm256_storeu_si256((void *)(words + 8), _mm256_permute2x128_si256(r[2], r[3], 0x20));
    _mm256_storeu_si256((void *)(words + 16), _mm256_permute2x128_si256(r[0], r[1], 0x31));
    _mm256_storeu_si256((void *)(words + 24), _mm256_permute2x128_si256(r[2], r[3], 0x31));
}

void philox_avx2(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    while (n_blocks > 0) {
        uint32_t eight[32];
        const uint64_t before_carry = ((uint64_t)1 << 32) - (uint32_t)block;
        size_t k = n_blocks < 8 ? n_blocks : 8;
        k = k < before_carry ? k : (size_t)before_carry;
        step(key, block, k == 8 ? words : eight);
        if (k < 8)
            memcpy(words, eight, k * 16);
        n_blocks -= k;
        block += k;
        words += 4 * k;
    }
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
