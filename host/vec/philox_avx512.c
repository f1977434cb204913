/* philox_avx512.c : words of philox.h's stream with AVX-512, a block in every lane; what is left
 * over is AVX2's. */
#include "vec/cast_x86.h"
#ifdef VEC_X86

CAST_INLINE __m512i all(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

/* The halves of the 64-bit products of sixteen lanes by m. */
CAST_INLINE void mul_wide(__m512i x, uint32_t m, __m512i *high, __m512i *low)
{
    const __m512i even = _mm512_mul_epu32(x, all(m)),
                  odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), all(m));
    *high =
        _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_CDAB); /* neighbours change places */
    *low = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CDAB);
}

/* c = 16 counters, a word of each in every register: one round with the key's halves k0, k1. */
CAST_INLINE void mix(__m512i c[4], uint32_t k0, uint32_t k1)
{
    __m512i h0, l0, h1, l1;
    mul_wide(c[0], 0xd2511f53u, &h0, &l0);
    mul_wide(c[2], 0xcd9e8d57u, &h1, &l1);
    c[0] = _mm512_ternarylogic_epi32(h1, c[1], all(k0), 0x96); /* xor of all three */
    c[2] = _mm512_ternarylogic_epi32(h0, c[3], all(k1), 0x96);
    c[1] = l1;
    c[3] = l0;
}

/* Four words of sixteen blocks to sixteen blocks of four words: 4x4 transposes in the quarters,
 * then of the quarters. */
CAST_INLINE void put_blocks(const __m512i c[4], uint32_t words[64])
{
    const __m512i a = _mm512_unpacklo_epi32(c[0], c[1]), b = _mm512_unpackhi_epi32(c[0], c[1]);
    const __m512i d = _mm512_unpacklo_epi32(c[2], c[3]), e = _mm512_unpackhi_epi32(c[2], c[3]);
    const __m512i r[4] = {_mm512_unpacklo_epi64(a, d), _mm512_unpackhi_epi64(a, d),
                          _mm512_unpacklo_epi64(b, e),
                          /* r[j]: | block 12 + j | 8 + j | 4 + j | j | */
                          _mm512_unpackhi_epi64(b, e)};
    const __m512i s[4] = {
        _mm512_shuffle_i32x4(r[0], r[1], 0x44), _mm512_shuffle_i32x4(r[2], r[3], 0x44),
        _mm512_shuffle_i32x4(r[0], r[1], 0xee), _mm512_shuffle_i32x4(r[2], r[3], 0xee)};
    _mm512_storeu_si512(words, _mm512_shuffle_i32x4(s[0], s[1], 0x88));
    _mm512_storeu_si512(words + 16, _mm512_shuffle_i32x4(s[0], s[1], 0xdd));
    _mm512_storeu_si512(words + 32, _mm512_shuffle_i32x4(s[2], s[3], 0x88));
    _mm512_storeu_si512(words + 48, _mm512_shuffle_i32x4(s[2], s[3], 0xdd));
}

enum { STEP = 32 }; /* blocks: two registers' worth, as one alone waits for its multiplications */

/* Words of blocks block ... block + STEP - 1; the low half of the block's number does not overflow
 * on the way. */
CAST_INLINE void step(uint64_t key, uint64_t block, uint32_t words[4 * STEP])
{
    const __m512i zero = _mm512_setzero_si512(), low = all((uint32_t)block),
                  high = all((uint32_t)(block >> 32));
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i c[4] = {_mm512_add_epi32(low, lane), high, zero, zero};
    __m512i d[4] = {_mm512_add_epi32(c[0], all(16)), high, zero, zero};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        mix(c, k0, k1);
        mix(d, k0, k1);
    }
    put_blocks(c, words);
    put_blocks(d, words + 64);
}

void philox_avx512(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    for (; n_blocks >= STEP && (uint32_t)block <= UINT32_MAX - STEP;
         n_blocks -= STEP, block += STEP) {
        step(key, block, words);
        words += 4 * STEP;
    }
    philox_avx2(key, block, n_blocks, words);
}
#endif
