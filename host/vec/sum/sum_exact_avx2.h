/* sum_exact_avx2.h : turns codes into fp32 sums, and those into codes, with AVX2 and F16C, 32
 * elements in registers. */
#ifndef SUM_EXACT_AVX2_H
#define SUM_EXACT_AVX2_H
#include "vec/sum/sum_x86.h"
#include <string.h>

#define EXACT_INLINE static inline __attribute__((always_inline))

enum { LANES = 32 };

EXACT_INLINE __m256i words(int x)
{
    return _mm256_set1_epi32(x);
}

/* One code per byte, with zeros after n. A 4-bit code becomes the high byte of its half. */
EXACT_INLINE __m256i load_codes(const struct sum_exact *p, const uint8_t *codes, size_t n)
{
    uint8_t rest[LANES] = {0};
    if (n < LANES)
        codes = memcpy(rest, codes, p->nibbles ? (n + 1) / 2 : n);
    if (!p->nibbles)
        return _mm256_loadu_si256((const __m256i *)codes);
    const __m256i pairs = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)codes));
    const __m256i nibbles = _mm256_or_si256(pairs, _mm256_slli_epi16(pairs, 4));
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p->half_of));
    return _mm256_shuffle_epi8(table, _mm256_and_si256(nibbles, _mm256_set1_epi8(15)));
}

/* codes: in the high bytes of 16-bit words */
EXACT_INLINE __m256i to_halves(const struct sum_exact *p, __m256i codes)
{
    if (p->two || p->nibbles) /* halves already */
        return codes;
    const __m256i sign = _mm256_set1_epi16((short)0x8000), mag = _mm256_andnot_si256(sign, codes);
    const __m256i special =
        _mm256_cmpgt_epi16(mag, _mm256_set1_epi16((short)((p->special << 8) - 1)));
    const __m256i half = _mm256_srl_epi16(mag, _mm_cvtsi32_si128(p->right));
    const __m256i add = _mm256_and_si256(special, _mm256_set1_epi16((short)p->special_add));
    return _mm256_or_si256(_mm256_add_epi16(half, add), _mm256_and_si256(codes, sign));
}

/* With two windows, the part of |x| up to 2 goes to low, the rest or a nan to high. */
EXACT_INLINE void add_halves(const struct sum_exact *p, __m128i halves, __m256 *low, __m256 *high)
{
    const __m256 x = _mm256_cvtph_ps(halves);
    const __m256 part =
        p->two ? _mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(2)), _mm256_set1_ps(-2)) : x;
    *low = _mm256_add_ps(*low, part);
    if (p->two)
        *high = _mm256_add_ps(*high, _mm256_sub_ps(x, part));
}

/* a + b rounded to odd. The error of the sum rounded to nearest is computed exactly (Knuth); it is
 * nan if the sum is inf or nan. */
EXACT_INLINE __m256 add_odd(__m256 a, __m256 b)
{
    const __m256 s = _mm256_add_ps(a, b), b_part = _mm256_sub_ps(s, a),
                 a_part = _mm256_sub_ps(s, b_part);
    const __m256 error = _mm256_add_ps(_mm256_sub_ps(a, a_part), _mm256_sub_ps(b, b_part));
    const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), error);
    /* false for nan */
    const __m256i lost = _mm256_castps_si256(_mm256_cmp_ps(_mm256_setzero_ps(), size, _CMP_LT_OQ));
    const __m256i bits = _mm256_castps_si256(s),
                  differ = _mm256_xor_si256(bits, _mm256_castps_si256(error));
    /* -1 where |sum| is too large */
    const __m256i above = _mm256_and_si256(lost, _mm256_srai_epi32(differ, 31));
    return _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_add_epi32(bits, above), _mm256_srli_epi32(lost, 31)));
}

EXACT_INLINE __m256i round_sums(const struct sum_exact *p, __m256 sum)
{
    const __m256i bits = _mm256_castps_si256(sum),
                  positive = _mm256_and_si256(bits, words(0x7fffffff));
    const __m256 x = _mm256_mul_ps(_mm256_castsi256_ps(positive), _mm256_set1_ps(p->scale));
    const __m256i a = _mm256_castps_si256(x), low = words((int)p->low);
    const __m128i drop = _mm_cvtsi32_si128((int)p->drop);
    const __m256i even =
        _mm256_or_si256(_mm256_and_si256(_mm256_srl_epi32(a, drop), words(1)), words((int)p->odd));
    const __m256i up = _mm256_add_epi32(a, _mm256_add_epi32(even, words((int)p->half)));
    const __m256i normal = _mm256_sub_epi32(_mm256_srl_epi32(up, drop), words((int)p->rebias));
    const __m256i units =
        _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(x, _mm256_castsi256_ps(low))), low);
    const __m256i small = _mm256_cmpgt_epi32(words((int)p->first), a),
                  nan = _mm256_cmpgt_epi32(a, words(0x7f800000));
    __m256i mag = _mm256_min_epu32(_mm256_blendv_epi8(normal, units, small), words((int)p->beyond));
    const __m256i unsigned_ = _mm256_or_si256(nan, _mm256_cmpeq_epi32(mag, words(0)));
    mag = _mm256_blendv_epi8(mag, words((int)p->nan), nan);
    const __m256i negative = _mm256_andnot_si256(unsigned_, _mm256_srai_epi32(bits, 31));
    return _mm256_or_si256(mag, _mm256_and_si256(negative, words((int)(1u << (p->out_width - 1)))));
}

/* c: elements 0..7, 16..23, 8..15, 24..31 */
EXACT_INLINE void store_codes(const struct sum_exact *p, const __m256i *c, uint8_t *codes, size_t n)
{
    uint8_t rest[2 * LANES] = {0};
    uint8_t *to = n < LANES ? rest : codes;
    const __m256i a = _mm256_packus_epi32(c[0], c[2]), b = _mm256_packus_epi32(c[1], c[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    if (p->out_width == 16) {
        _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(a, 0xd8));
        _mm256_storeu_si256((__m256i *)(to + LANES), _mm256_permute4x64_epi64(b, 0xd8));
    } else if (p->out_width == 8) {
        _mm256_storeu_si256((__m256i *)to, bytes);
    } else {
        const __m256i pairs = _mm256_or_si256(bytes, _mm256_srli_epi16(bytes, 4));
        const __m256i low = _mm256_and_si256(pairs, _mm256_set1_epi16(0xff));
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, low), 0xd8);
        _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(packed));
    }
    if (n < LANES && p->out_width == 4 && n % 2)
        rest[n / 2] &= 15;
    if (n < LANES)
        memcpy(codes, rest, sum_exact_bytes(p->out_width, n));
}

/* Stores exact sums, in the order of store_codes(). */
EXACT_INLINE void store_floats(const struct sum_exact *p, const __m256 *sum, uint8_t *to, size_t n)
{
    static const int place[] = {0, 16, 8, 24};
    float all[LANES];
    for (int j = 0; j < 4; j++) {
        const __m256 x = _mm256_mul_ps(sum[j], _mm256_set1_ps(p->scale));
        const __m256i bits = _mm256_castps_si256(x),
                      mag = _mm256_and_si256(bits, words(0x7fffffff)),
                      nan = _mm256_cmpgt_epi32(mag, words(0x7f800000)),
                      sign = _mm256_andnot_si256(nan, _mm256_xor_si256(bits, mag));
        const __m256i number = _mm256_min_epu32(mag, words((int)p->beyond));
        _mm256_storeu_si256(
            (__m256i *)(all + place[j]),
            _mm256_or_si256(_mm256_blendv_epi8(number, words(0x7fffffff), nan), sign));
    }
    memcpy(to, all, n * sizeof *all);
}

/* Adds the codes of elements i..i+n-1 to low and high, in the order of store_codes(). */
EXACT_INLINE void add_parts(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, __m256 *low, __m256 *high)
{
    const size_t at = p->nibbles ? i / 2 : i;
    const __m256i zero = _mm256_setzero_si256();
    for (int j = 0; j < 4; j++)
        low[j] = high[j] = _mm256_setzero_ps();
    for (int r = 0; r < n_parts; r++) {
        _mm_prefetch((const char *)((uintptr_t)(parts[r] + at) + 1024), _MM_HINT_T0);
        const __m256i bytes = load_codes(p, parts[r] + at, n);
        const __m256i a = to_halves(p, _mm256_unpacklo_epi8(zero, bytes));
        const __m256i b = to_halves(p, _mm256_unpackhi_epi8(zero, bytes));
        add_halves(p, _mm256_castsi256_si128(a), &low[0], &high[0]);
        add_halves(p, _mm256_extracti128_si256(a, 1), &low[1], &high[1]);
        add_halves(p, _mm256_castsi256_si128(b), &low[2], &high[2]);
        add_halves(p, _mm256_extracti128_si256(b, 1), &low[3], &high[3]);
    }
}

#endif
