/* sum_dot_avx2.h : adds codes of 4 and 8 bits as integers with AVX2, 32 elements in registers.
 *
 * A code is significand * 2^shift in units of the smallest value. Eight neighbouring exponent
 * fields share a window, which has a sum of 16 bits and a unit of its own:
 *
 *     fields        0..7                  8..15           16..23          24..31
 *     unit          1                     2^7             2^15            2^23
 *     multiplied    1, 1, 2, 4 .. 2^6     1, 2 .. 2^7     1, 2 .. 2^7     1, 2 .. 2^7
 *
 * For each window, vpmaddubsw multiplies the significands of two ranks with powers of two (0 for
 * codes of other windows) and adds the two products. e <= 3 needs one window, e = 4 two, e = 5
 * four. At the end vpmaddwd joins two windows, in 24 bits. Values of 4-bit codes are looked up
 * instead. */
#ifndef SUM_DOT_AVX2_H
#define SUM_DOT_AVX2_H
#include "vec/sum/sum_x86.h"
#include <string.h>

#define EXACT_INLINE static inline __attribute__((always_inline))

enum {
    LANES = 32,
    DOT_RANKS = 16, /* whose sum fits 16 bits: 16 * 31 * 2^6 */
    DOT_WINDOWS = 4,
    DOT_BOTH = 2,
    AHEAD = 1024,
    DOT_MIDDLE = 15 /* log2 of the unit of the upper two windows */
};

/* One code per byte. */
EXACT_INLINE __m256i load_codes(const struct sum_exact *p, const uint8_t *codes)
{
    _mm_prefetch((const char *)((uintptr_t)codes + AHEAD), _MM_HINT_T0);
    if (!p->nibbles)
        return _mm256_loadu_si256((const __m256i *)codes);
    const __m256i pairs = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)codes));
    const __m256i nibbles = _mm256_or_si256(pairs, _mm256_slli_epi16(pairs, 4));
    return _mm256_and_si256(nibbles, _mm256_set1_epi8(15));
}

/* Adds pairs of neighbouring codes to 16 sums of each window, w[k]. */
EXACT_INLINE void dot_pairs(const struct sum_exact *p, int windows, int m, __m256i codes,
                            __m256i *w)
{
    static const uint8_t first[16] = {1, 1, 2, 4, 8, 16, 32, 64},
                         lower[16] = {1, 2, 4, 8, 16, 32, 64, 128},
                         upper[16] = {[8] = 1, 2, 4, 8, 16, 32, 64, 128};
    if (p->nibbles) {
        const __m256i value = look_up_avx2(p->value_of, codes);
        w[0] = _mm256_add_epi16(w[0], _mm256_maddubs_epi16(_mm256_set1_epi8(1), value));
        return;
    }
    const __m256i mag = _mm256_and_si256(codes, _mm256_set1_epi8(127));
    const __m256i fraction = _mm256_and_si256(codes, _mm256_set1_epi8((char)((1 << m) - 1)));
    const __m256i normal = _mm256_or_si256(fraction, _mm256_set1_epi8((char)(1 << m)));
    const __m256i sig = _mm256_sign_epi8(_mm256_min_epu8(mag, normal), codes);
    const __m256i field = _mm256_and_si256(_mm256_srl_epi16(mag, _mm_cvtsi32_si128(m)),
                                           _mm256_set1_epi8((char)(127 >> m)));
    /* bit 7 of an index gives 0 */
    const __m256i low = windows < 4 ? field : _mm256_add_epi8(field, _mm256_set1_epi8(0x70)),
                  high = _mm256_sub_epi8(field, _mm256_set1_epi8(16));
    w[0] = _mm256_add_epi16(w[0], _mm256_maddubs_epi16(look_up_avx2(first, low), sig));
    if (windows > 1)
        w[1] = _mm256_add_epi16(w[1], _mm256_maddubs_epi16(look_up_avx2(upper, low), sig));
    if (windows > 2) {
        w[2] = _mm256_add_epi16(w[2], _mm256_maddubs_epi16(look_up_avx2(lower, high), sig));
        w[3] = _mm256_add_epi16(w[3], _mm256_maddubs_epi16(look_up_avx2(upper, high), sig));
    }
}

/* Joins two windows of 16 elements each. x: the sums of the first, y: of the second, in units of
 * 2^log2. */
EXACT_INLINE void dot_join(__m256i x, __m256i y, int log2, __m256 *sums)
{
    const __m256i units = _mm256_set1_epi32(1 | 1 << (16 + log2));
    sums[0] = _mm256_cvtepi32_ps(_mm256_madd_epi16(_mm256_unpacklo_epi16(x, y), units));
    sums[1] = _mm256_cvtepi32_ps(_mm256_madd_epi16(_mm256_unpackhi_epi16(x, y), units));
}

/* Adds the codes from byte `at` on to windows. j = 0: of elements 0..7 and 16..23, to w[0]; j = 1:
 * of elements 8..15 and 24..31, to w[1]; DOT_BOTH: of all. Returns the largest magnitudes of codes,
 * except for j = 1. */
EXACT_INLINE __m256i dot_half(const struct sum_exact *p, int windows, int m, int j,
                              const uint8_t *const *parts, int n_parts, size_t at,
                              __m256i w[2][DOT_WINDOWS])
{
    const __m256i zero = _mm256_setzero_si256(), all = _mm256_set1_epi8(p->nibbles ? 7 : 127);
    __m256i most = zero;
    for (int r = 0; r < n_parts; r += 2) {
        const bool pair = r + 1 < n_parts;
        const __m256i a = load_codes(p, parts[r] + at),
                      b = pair ? load_codes(p, parts[r + 1] + at) : zero;
        if (j != 1) {
            most = _mm256_max_epi8(most, _mm256_and_si256(a, all));
            most = _mm256_max_epi8(most, _mm256_and_si256(b, all));
            dot_pairs(p, windows, m, _mm256_unpacklo_epi8(a, b), w[0]);
        }
        if (j != 0)
            dot_pairs(p, windows, m, _mm256_unpackhi_epi8(a, b), w[1]);
    }
    return most;
}

/* Adds the codes of elements i.. of at most DOT_RANKS parts, in units of the smallest value. low
 * and high, the upper two windows: in the order of store_codes(). Returns the largest magnitudes of
 * codes. Four windows of both halves would need more registers than there are. */
EXACT_INLINE __m256i dot_add(const struct sum_exact *p, int windows, int m,
                             const uint8_t *const *parts, int n_parts, size_t i, __m256 *low,
                             __m256 *high)
{
    const size_t at = p->nibbles ? i / 2 : i;
    const __m256i zero = _mm256_setzero_si256();
    __m256i w[2][DOT_WINDOWS], most;
#pragma GCC unroll 4
    for (int k = 0; k < DOT_WINDOWS; k++)
        w[0][k] = w[1][k] = zero;
    most = dot_half(p, windows, m, windows == 4 ? 0 : DOT_BOTH, parts, n_parts, at, w);
    if (windows == 4)
        dot_half(p, windows, m, 1, parts, n_parts, at, w);
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) {
        dot_join(w[j][0], w[j][1], 7, low + 2 * j);
        if (windows == 4) {
            const __m256 middle = _mm256_set1_ps(1 << DOT_MIDDLE);
            dot_join(w[j][2], w[j][3], 8, high + 2 * j);
            high[2 * j] = _mm256_mul_ps(high[2 * j], middle);
            high[2 * j + 1] = _mm256_mul_ps(high[2 * j + 1], middle);
        }
    }
    return most;
}

#endif
