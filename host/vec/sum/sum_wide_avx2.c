/* sum_wide_avx2.c : converts sums of codes to wide words and back with AVX2 and F16C. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_exact_avx2.h"
#include "vec/sum/sum_wide.h"

/* first element of each vector, as in store_codes() */
static const int element_of[4] = {0, 16, 8, 24};

/* units: power of two that makes sums integers */
EXACT_INLINE void to_words(const __m256 *sums, float units, int bits, uint32_t *to)
{
    const __m256i lowest = words(1 << (bits - 1)), all = words((1 << bits) - 1);
    const __m256 inf = _mm256_castsi256_ps(words(0x7f800000));
    for (int j = 0; j < 4; j++) {
        const __m256 x = _mm256_mul_ps(sums[j], _mm256_set1_ps(units));
        const __m256 mag = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
        const __m256i minus = _mm256_srai_epi32(_mm256_castps_si256(x), 31); /* -1, else 0 */
        const __m256i infinite =
            _mm256_sub_epi32(_mm256_sub_epi32(lowest, words(1)), _mm256_slli_epi32(minus, 1));
        __m256i word = _mm256_cvtps_epi32(x);
        word = _mm256_blendv_epi8(word, infinite,
                                  _mm256_castps_si256(_mm256_cmp_ps(mag, inf, _CMP_EQ_OQ)));
        word = _mm256_blendv_epi8(word, lowest,
                                  _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
        _mm256_storeu_si256((__m256i *)(to + element_of[j]), _mm256_and_si256(word, all));
    }
}

/* first byte and first bit in it of each of 8 words */
struct word_places {
    __m256i byte, skip;
};

EXACT_INLINE struct word_places word_places(int bits)
{
    const __m256i bit = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), words(bits));
    return (struct word_places){_mm256_srli_epi32(bit, 3), _mm256_and_si256(bit, words(7))};
}

/* Adds words to sums. Reads up to 8 bytes beyond the LANES words. */
EXACT_INLINE void add_words(const uint8_t *from, int bits, struct word_places places, float unit,
                            __m256 *sums)
{
    const __m256 units = _mm256_set1_ps(unit);
    const __m128i up = _mm_cvtsi32_si128(32 - bits);
    const __m256i one = words((int)(1u << (32 - bits))), lowest = words(INT32_MIN);
    for (int j = 0; j < 4; j++) {
        const uint8_t *at = from + element_of[j] / 8 * bits;
        const __m256i word = _mm256_sll_epi32(
            _mm256_srlv_epi32(_mm256_i32gather_epi32((const int *)(const void *)at, places.byte, 1),
                              places.skip),
            up);
        __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sra_epi32(word, up)), units);
        const __m256i nan = _mm256_cmpeq_epi32(word, lowest),
                      minus = _mm256_cmpeq_epi32(word, _mm256_add_epi32(lowest, one)),
                      plus = _mm256_cmpeq_epi32(word, _mm256_sub_epi32(lowest, one));
        x = _mm256_blendv_ps(x, _mm256_castsi256_ps(words(0x7fc00000)), _mm256_castsi256_ps(nan));
        x = _mm256_blendv_ps(x, _mm256_castsi256_ps(words((int)0xff800000)),
                             _mm256_castsi256_ps(minus));
        x = _mm256_blendv_ps(x, _mm256_castsi256_ps(words(0x7f800000)), _mm256_castsi256_ps(plus));
        sums[j] = _mm256_add_ps(sums[j], x);
    }
}

/* ---- two windows ---- */

EXACT_INLINE void to_long_words(const __m256 *low, const __m256 *high, float units, int bits,
                                uint64_t *to)
{
    const uint64_t lowest = 1ull << (bits - 1);
    const __m256 inf = _mm256_castsi256_ps(words(0x7f800000));
    int32_t l[LANES], h[LANES];
    float top[LANES];
    int special = 0;
    for (int j = 0; j < 4; j++) {
        const __m256 x = _mm256_mul_ps(low[j], _mm256_set1_ps(units));
        const __m256 y = _mm256_mul_ps(high[j], _mm256_set1_ps(units / (1 << LOW_BITS)));
        const __m256 mag = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), high[j]);
        _mm256_storeu_si256((__m256i *)(l + element_of[j]), _mm256_cvtps_epi32(x));
        _mm256_storeu_si256((__m256i *)(h + element_of[j]), _mm256_cvtps_epi32(y));
        _mm256_storeu_ps(top + element_of[j], high[j]);
        special |= _mm256_movemask_ps(_mm256_cmp_ps(mag, inf, _CMP_NLT_UQ));
    }
    for (int i = 0; i < LANES; i++)
        to[i] = (uint64_t)((int64_t)h[i] * (1 << LOW_BITS) + l[i]) & (2 * lowest - 1);
    for (int i = 0; i < LANES && special; i++)
        if (!(top[i] - top[i] == 0)) /* inf or nan */
            to[i] = top[i] > 0 ? lowest - 1 : top[i] < 0 ? lowest + 1 : lowest;
}

EXACT_INLINE void add_long_words(const uint8_t *from, int bits, struct word_places places,
                                 int64_t *sums, float *special)
{
    (void)places;
    add_each_word(from, bits, sums, special);
}

EXACT_INLINE void round_all(const struct sum_exact *p, const __m256 *sums, __m256i *c)
{
    for (int j = 0; j < 4; j++)
        c[j] = round_sums(p, sums[j]);
}

/* special: infs and nans */
EXACT_INLINE void round_long_sums(const struct sum_exact *p, const int64_t *sums,
                                  const float *special, float unit, __m256i *c)
{
    float low[LANES], high[LANES];
    for (int i = 0; i < LANES; i++) {
        const int32_t h = (int32_t)(sums[i] >> LOW_BITS);
        low[i] = (float)(sums[i] & ((1 << LOW_BITS) - 1)) * unit;
        high[i] = (float)h * (unit * (1 << LOW_BITS)) + special[i];
    }
    for (int j = 0; j < 4; j++)
        c[j] = round_sums(p, add_odd(_mm256_loadu_ps(low + element_of[j]),
                                     _mm256_loadu_ps(high + element_of[j])));
}

#define WIDE_CODES     __m256i
#define WIDE_NAME(way) sum_##way##_wide_avx2
#define WIDE_FLOATS    __m256
#define WIDE_ZERO      _mm256_setzero_ps()
#define WIDE_ROOM      LANES
#include "vec/sum/sum_wide_body.h"
#endif
