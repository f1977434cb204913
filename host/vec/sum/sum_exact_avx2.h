/* sum_exact_avx2.h : turns codes into fp32 sums, and those into codes, with AVX2 and F16C, 32
 * elements in registers. Codes are added as integers, or as halves if there are infs or nans. */
#ifndef SUM_EXACT_AVX2_H
#define SUM_EXACT_AVX2_H
#include "vec/cast/enc_add_avx2.h"
#include "vec/sum/sum_dot_avx2.h"

EXACT_INLINE __m256i words(int x)
{
    return _mm256_set1_epi32(x);
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
    const __m256 x =
        _mm256_mul_ps(_mm256_castsi256_ps(positive), _mm256_set1_ps(p->scale * p->unit));
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

/* Vectors of eight elements in order, from the order of store_codes(). */
EXACT_INLINE void to_order(const __m256 *c, __m256 *x)
{
    for (int j = 0; j < 2; j++) {
        x[j] = _mm256_permute2f128_ps(c[2 * j], c[2 * j + 1], 0x20);
        x[j + 2] = _mm256_permute2f128_ps(c[2 * j], c[2 * j + 1], 0x31);
    }
}
EXACT_INLINE void from_order(const __m256 *x, __m256 *c)
{
    for (int j = 0; j < 2; j++) {
        c[2 * j] = _mm256_permute2f128_ps(x[j], x[j + 2], 0x20);
        c[2 * j + 1] = _mm256_permute2f128_ps(x[j], x[j + 2], 0x31);
    }
}

EXACT_INLINE __m256i pack_words_to_bytes(const __m256i *x)
{
    return _mm256_packs_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
}

/* Returns the codes of 8 or 4 bits of sums that are numbers, one per byte. Zero has no sign. */
EXACT_INLINE __m256i encode_all(const struct sum_exact *p, const __m256 *sums)
{
    const int all = p->out_width == 8 ? 127 : 7;
    __m256i mag[4], bits[4];
    for (int j = 0; j < 4; j++) {
        bits[j] = _mm256_castps_si256(sums[j]);
        const __m256i a = _mm256_and_si256(bits[j], words(0x7fffffff));
        mag[j] = _mm256_and_si256(enc_add_avx2(&p->code, a), words(all));
    }
    const __m256i m = pack_words_to_bytes(mag);
    __m256i sign = _mm256_andnot_si256(_mm256_cmpeq_epi8(m, words(0)), pack_words_to_bytes(bits));
    if (p->out_width == 4)
        sign = _mm256_srli_epi16(sign, 4);
    return _mm256_or_si256(m, _mm256_and_si256(sign, _mm256_set1_epi8((char)(all + 1))));
}

/* bytes: one code of 8 or 4 bits each */
EXACT_INLINE void store_bytes(const struct sum_exact *p, __m256i bytes, uint8_t *codes, size_t n)
{
    uint8_t rest[LANES] = {0};
    uint8_t *to = n < LANES ? rest : codes;
    if (p->out_width == 8) {
        _mm256_storeu_si256((__m256i *)to, bytes);
    } else {
        const __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x1001));
        _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(_mm256_castsi256_si128(pairs),
                                                         _mm256_extracti128_si256(pairs, 1)));
    }
    if (n < LANES && p->out_width == 4 && n % 2)
        rest[n / 2] &= 15;
    if (n < LANES)
        memcpy(codes, rest, sum_exact_bytes(p->out_width, n));
}

/* c[k]: elements 4k..4k+3 and 16+4k..16+4k+3, which packing puts in order */
EXACT_INLINE void store_codes(const struct sum_exact *p, const __m256i *c, uint8_t *codes, size_t n)
{
    const __m256i a = _mm256_packus_epi32(c[0], c[1]), b = _mm256_packus_epi32(c[2], c[3]);
    if (p->out_width != 16) {
        store_bytes(p, _mm256_packus_epi16(a, b), codes, n);
        return;
    }
    uint8_t all[2 * LANES];
    _mm256_storeu_si256((__m256i *)all, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256((__m256i *)(all + LANES), _mm256_permute2x128_si256(a, b, 0x31));
    memcpy(codes, all, 2 * n);
}

/* Stores exact sums, in the order of store_codes(). */
EXACT_INLINE void store_floats(const struct sum_exact *p, const __m256 *sum, uint8_t *to, size_t n)
{
    float all[LANES];
    __m256 x[4];
    to_order(sum, x);
    for (int j = 0; j < 4; j++) {
        const __m256i bits =
            _mm256_castps_si256(_mm256_mul_ps(x[j], _mm256_set1_ps(p->scale * p->unit)));
        const __m256i mag = _mm256_and_si256(bits, words(0x7fffffff)),
                      nan = _mm256_cmpgt_epi32(mag, words(0x7f800000)),
                      sign = _mm256_andnot_si256(nan, _mm256_xor_si256(bits, mag));
        const __m256i number = _mm256_min_epu32(mag, words((int)p->beyond));
        _mm256_storeu_si256(
            (__m256i *)(all + 8 * j),
            _mm256_or_si256(_mm256_blendv_epi8(number, words(0x7fffffff), nan), sign));
    }
    memcpy(to, all, n * sizeof *all);
}

/* add_parts() for all codes, inf and nan too. */
static __attribute__((noinline)) void add_specials(const struct sum_exact *p,
                                                   const uint8_t *const *parts, int n_parts,
                                                   size_t i, size_t n, __m256 *low, __m256 *high)
{
    const size_t at = p->nibbles ? i / 2 : i;
    const __m256i zero = _mm256_setzero_si256();
    const __m256 units = _mm256_set1_ps(1 / p->unit);
    __m256 x[4], y[4]; /* in order */
    for (int j = 0; j < 4; j++)
        x[j] = y[j] = _mm256_setzero_ps();
    for (int r = 0; r < n_parts; r++) {
        uint8_t rest[LANES] = {0};
        memcpy(rest, parts[r] + at, p->nibbles ? (n + 1) / 2 : n);
        __m256i bytes = load_codes(p, rest);
        if (p->nibbles)
            bytes = look_up_avx2(p->half_of, bytes);
        const __m256i a = to_halves(p, _mm256_unpacklo_epi8(zero, bytes)),
                      b = to_halves(p, _mm256_unpackhi_epi8(zero, bytes));
        add_halves(p, _mm256_castsi256_si128(a), &x[0], &y[0]);
        add_halves(p, _mm256_castsi256_si128(b), &x[1], &y[1]);
        add_halves(p, _mm256_extracti128_si256(a, 1), &x[2], &y[2]);
        add_halves(p, _mm256_extracti128_si256(b, 1), &x[3], &y[3]);
    }
    from_order(x, low);
    from_order(y, high);
    for (int j = 0; j < 4; j++) {
        low[j] = _mm256_mul_ps(low[j], units);
        high[j] = _mm256_mul_ps(high[j], units);
    }
}

EXACT_INLINE __m256i add_whole(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                               size_t i, __m256 *low, __m256 *high)
{
    return p->two       ? dot_add(p, 4, 2, parts, n_parts, i, low, high)
           : p->nibbles ? dot_add(p, 1, 0, parts, n_parts, i, low, high)
           : p->m == 3  ? dot_add(p, 2, 3, parts, n_parts, i, low, high)
                        : dot_add(p, 1, p->m, parts, n_parts, i, low, high);
}

static __attribute__((noinline)) __m256i add_rest(const struct sum_exact *p,
                                                  const uint8_t *const *parts, int n_parts,
                                                  size_t i, size_t n, __m256 *low, __m256 *high)
{
    uint8_t rests[DOT_RANKS][LANES] = {{0}};
    const uint8_t *from[DOT_RANKS];
    for (int r = 0; r < n_parts; r++)
        from[r] =
            memcpy(rests[r], parts[r] + (p->nibbles ? i / 2 : i), p->nibbles ? (n + 1) / 2 : n);
    return add_whole(p, from, n_parts, 0, low, high);
}

/* Adds the codes of elements i..i+n-1 of all parts; n is at most LANES. Sums are in units of the
 * smallest value, in the order of store_codes(). Returns whether some are inf or nan. */
EXACT_INLINE bool add_parts(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, __m256 *low, __m256 *high)
{
    __m256i most = _mm256_setzero_si256();
    for (int r = 0; r < n_parts; r += DOT_RANKS) {
        const int k = n_parts - r < DOT_RANKS ? n_parts - r : DOT_RANKS;
        __m256 l[4], h[4];
        const __m256i m = n == LANES ? add_whole(p, parts + r, k, i, l, h)
                                     : add_rest(p, parts + r, k, i, n, l, h);
        most = _mm256_max_epi8(most, m);
        for (int j = 0; j < 4; j++) {
            low[j] = r == 0 ? l[j] : _mm256_add_ps(low[j], l[j]);
            if (p->two)
                high[j] = r == 0 ? h[j] : _mm256_add_ps(high[j], h[j]);
        }
    }
    const __m256i special = _mm256_cmpgt_epi8(most, _mm256_set1_epi8((char)(p->special - 1)));
    if (__builtin_expect(_mm256_testz_si256(special, special), 1))
        return false;
    add_specials(p, parts, n_parts, i, n, low, high);
    return true;
}

#endif
