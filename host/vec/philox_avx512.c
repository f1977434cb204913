/* philox_avx512.c : words of philox.h's stream with AVX-512, a block in every 64-bit lane; what is
 * left over is AVX2's. */
#include "vec/cast_x86.h"
#ifdef VEC_X86

CAST_INLINE __m512i all(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

/* Eight counters: a word of each in the low half of every 64-bit lane of a register, and anything
 * above. So one multiplication makes both halves of a product: the high one a shift away, the low
 * one in place. */
struct counters {
    __m512i c[4];
};

/* The 64-bit products of eight words by m. */
CAST_INLINE __m512i times(__m512i x, uint32_t m)
{
    return _mm512_mul_epu32(x, all(m));
}
CAST_INLINE __m512i high_half(__m512i x)
{
    return _mm512_srli_epi64(x, 32);
}
CAST_INLINE __m512i xor_3(__m512i a, __m512i b, __m512i c)
{
    return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}

enum { M0 = (int)0xd2511f53u, M1 = (int)0xcd9e8d57u, ROUNDS = 10 };

/* One round with the key's halves k[0], k[1]. */
CAST_INLINE void mix(struct counters *x, const uint32_t k[2])
{
    const __m512i p0 = times(x->c[0], (uint32_t)M0), p1 = times(x->c[2], (uint32_t)M1);
    x->c[0] = xor_3(high_half(p1), x->c[1], all(k[0]));
    x->c[2] = xor_3(high_half(p0), x->c[3], all(k[1]));
    x->c[1] = p1;
    x->c[3] = p0;
}

/* The first two rounds on counters | low | high | 0 | 0 |, of which low alone differs: what is the
 * same in all of them is made once. */
CAST_INLINE struct counters mix_twice(__m512i low, uint32_t high, const uint32_t k[4])
{
    const uint64_t same = (uint64_t)(high ^ k[0]) * (uint32_t)M0;
    const __m512i p0 = times(low, (uint32_t)M0),
                  p1 = times(_mm512_xor_si512(high_half(p0), all(k[1])), (uint32_t)M1);
    return (struct counters){{_mm512_xor_si512(high_half(p1), all(k[2])), p1,
                              _mm512_xor_si512(p0, all((uint32_t)(same >> 32) ^ k[3])),
                              all((uint32_t)same)}};
}

/* Lane 2j has block j, lane 2j + 1 block 4 + j: 2x2 transposes put them in order. */
CAST_INLINE void put_blocks(const struct counters *x, uint32_t words[32])
{
    const __m512i a = _mm512_mask_shuffle_epi32(x->c[0], 0xaaaa, x->c[1], _MM_PERM_CDAB),
                  b = _mm512_mask_shuffle_epi32(x->c[2], 0xaaaa, x->c[3], _MM_PERM_CDAB);
    _mm512_storeu_si512(words, _mm512_unpacklo_epi64(a, b));
    _mm512_storeu_si512(words + 16, _mm512_unpackhi_epi64(a, b));
}

enum {
    PER = 8,
    TOGETHER = 4,
    STEP = PER * TOGETHER
}; /* blocks; registers, as one alone waits for
                                                          its multiplications */

/* Words of blocks block ... block + STEP - 1; the low half of the block's number does not overflow
 * on the way. k: the key of each round. */
CAST_INLINE void step(const uint32_t k[2 * ROUNDS], uint64_t block, uint32_t words[4 * STEP])
{
    const __m512i first = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    struct counters x[TOGETHER];
    for (uint32_t i = 0; i < TOGETHER; i++)
        x[i] = mix_twice(_mm512_add_epi32(first, all((uint32_t)block + PER * i)),
                         (uint32_t)(block >> 32), k);
    for (int round = 2; round < ROUNDS; round++)
        for (int i = 0; i < TOGETHER; i++)
            mix(&x[i], k + 2 * round);
    for (int i = 0; i < TOGETHER; i++)
        put_blocks(&x[i], words + 4 * PER * i);
}

void philox_avx512(uint64_t key, uint64_t block, size_t n_blocks, uint32_t *words)
{
    uint32_t k[2 * ROUNDS] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int i = 2; i < 2 * ROUNDS; i++)
        k[i] = k[i - 2] + (i % 2 ? 0xbb67ae85u : 0x9e3779b9u);
    /* Into memory: from there a load fills a register with one of them, while from another register
     * it takes a shuffle. */
    __asm__ volatile("" : "+m"(k));
    for (; n_blocks >= STEP && (uint32_t)block <= UINT32_MAX - STEP;
         n_blocks -= STEP, block += STEP) {
        step(k, block, words);
        words += 4 * STEP;
    }
    philox_avx2(key, block, n_blocks, words);
}
#endif
