/* philox_avx512.h : makes words of the stream of philox.h with AVX-512, inlined into its users. */
#ifndef PHILOX_AVX512_H
#define PHILOX_AVX512_H
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86

CAST_INLINE __m512i philox_all(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

/* Eight counters. c[i]: word i of each, in the low half of a 64-bit lane; the high half is
 * undefined. One multiplication then makes both halves of a product. */
struct philox_counters {
    __m512i c[4];
};

CAST_INLINE __m512i philox_times(__m512i x, uint32_t m)
{
    return _mm512_mul_epu32(x, philox_all(m));
}
CAST_INLINE __m512i philox_high(__m512i x)
{
    return _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(x)));
}
CAST_INLINE __m512i philox_xor(__m512i a, __m512i b, __m512i c)
{
    return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}

enum { PHILOX_M0 = (int)0xd2511f53u, PHILOX_M1 = (int)0xcd9e8d57u, PHILOX_ROUNDS = 10 };

/* one round; k: halves of the key */
CAST_INLINE void philox_mix(struct philox_counters *x, const uint32_t k[2])
{
    const __m512i p0 = philox_times(x->c[0], (uint32_t)PHILOX_M0),
                  p1 = philox_times(x->c[2], (uint32_t)PHILOX_M1);
    x->c[0] = philox_xor(philox_high(p1), x->c[1], philox_all(k[0]));
    x->c[2] = philox_xor(philox_high(p0), x->c[3], philox_all(k[1]));
    x->c[1] = p1;
    x->c[3] = p0;
}

/* The first two rounds on counters | low | high | half | 0 |. Only low differs between counters, so
 * common terms are computed once. half: 0 or 1, so the high half of its product is 0. */
CAST_INLINE struct philox_counters philox_mix_twice(__m512i low, uint32_t high, uint32_t half,
                                                    const uint32_t k[4])
{
    const uint32_t first = half * (uint32_t)PHILOX_M1;
    const uint64_t same = (uint64_t)(high ^ k[0]) * (uint32_t)PHILOX_M0;
    const __m512i p0 = philox_times(low, (uint32_t)PHILOX_M0),
                  p1 = philox_times(_mm512_xor_si512(philox_high(p0), philox_all(k[1])),
                                    (uint32_t)PHILOX_M1);
    return (struct philox_counters){
        {_mm512_xor_si512(philox_high(p1), philox_all(first ^ k[2])), p1,
         _mm512_xor_si512(p0, philox_all((uint32_t)(same >> 32) ^ k[3])),
         philox_all((uint32_t)same)}};
}

/* In order, by transposes of 2x2 words. 64-bit lane 2j has block j, lane 2j + 1 block 4 + j. */
CAST_INLINE void philox_put(const struct philox_counters *x, uint32_t words[32])
{
    const __m512i a = _mm512_mask_shuffle_epi32(x->c[0], 0xaaaa, x->c[1], _MM_PERM_CDAB),
                  b = _mm512_mask_shuffle_epi32(x->c[2], 0xaaaa, x->c[3], _MM_PERM_CDAB);
    _mm512_storeu_si512(words, _mm512_unpacklo_epi64(a, b));
    _mm512_storeu_si512(words + 16, _mm512_unpackhi_epi64(a, b));
}

/* blocks per register; registers per step, to hide the latency of multiplications; blocks per
 * step */
enum { PHILOX_PER = 8, PHILOX_TOGETHER = 4, PHILOX_STEP = PHILOX_PER * PHILOX_TOGETHER };

/* two words per round */
struct philox_keys {
    uint32_t k[2 * PHILOX_ROUNDS];
};

CAST_INLINE void philox_keys_init(struct philox_keys *keys, uint64_t key)
{
    keys->k[0] = (uint32_t)key;
    keys->k[1] = (uint32_t)(key >> 32);
    for (int i = 2; i < 2 * PHILOX_ROUNDS; i++)
        keys->k[i] = keys->k[i - 2] + (i % 2 ? 0xbb67ae85u : 0x9e3779b9u);
}

/* Writes the words of blocks (block, half) to (block + PHILOX_STEP - 1, half). The caller checks
 * philox_step_ok(block). */
CAST_INLINE void philox_step(struct philox_keys *keys, uint64_t block, uint32_t half,
                             uint32_t words[4 * PHILOX_STEP])
{
    const __m512i first = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    struct philox_counters x[PHILOX_TOGETHER];
    /* Hide the keys from the compiler, so that it loads them at no cost and does not broadcast all
     * twenty and spill them. */
    __asm__ volatile("" : "+m"(*keys));
    for (uint32_t i = 0; i < PHILOX_TOGETHER; i++)
        x[i] =
            philox_mix_twice(_mm512_add_epi32(first, philox_all((uint32_t)block + PHILOX_PER * i)),
                             (uint32_t)(block >> 32), half, keys->k);
    for (int round = 2; round < PHILOX_ROUNDS; round++)
        for (int i = 0; i < PHILOX_TOGETHER; i++)
            philox_mix(&x[i], keys->k + 2 * round);
    for (int i = 0; i < PHILOX_TOGETHER; i++)
        philox_put(&x[i], words + 4 * PHILOX_PER * i);
}

CAST_INLINE bool philox_step_ok(uint64_t block)
{
    return (uint32_t)block <= UINT32_MAX - PHILOX_STEP;
}

#endif
#endif
