/* sum_exact_avx512.c : sums packed codes exactly with AVX-512. sum_exact_avx2.h explains the
 * helpers. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_x86.h"

#define EXACT_INLINE static inline __attribute__((always_inline))

enum { LANES = 64 };

/* LANES elements, in the order of _mm512_unpack*_epi8 */
struct floats {
    __m512 x[4];
};

static __mmask64 first_bytes(size_t n)
{
    return n < 64 ? (1ull << n) - 1 : ~0ull;
}

EXACT_INLINE __m512i load_codes(const struct sum_exact *p, const uint8_t *codes, size_t n)
{
    if (!p->nibbles)
        return _mm512_maskz_loadu_epi8(first_bytes(n), codes);
    const __mmask32 in = (__mmask32)first_bytes((n + 1) / 2);
    const __m512i words = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(in, codes));
    const __m512i nibbles = _mm512_or_si512(words, _mm512_slli_epi16(words, 4));
    const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p->half_of));
    return _mm512_shuffle_epi8(table, _mm512_and_si512(nibbles, _mm512_set1_epi8(15)));
}

EXACT_INLINE __m512i to_halves(const struct sum_exact *p, __m512i words)
{
    if (p->two || p->nibbles)
        return words;
    const __m512i sign = _mm512_set1_epi16((short)0x8000), mag = _mm512_andnot_si512(sign, words);
    const __mmask32 special =
        _mm512_cmpgt_epi16_mask(mag, _mm512_set1_epi16((short)((p->special << 8) - 1)));
    __m512i half = _mm512_srlv_epi16(mag, _mm512_set1_epi16((short)p->right));
    half = _mm512_mask_add_epi16(half, special, half, _mm512_set1_epi16((short)p->special_add));
    return _mm512_ternarylogic_epi32(sign, words, half, 0xca);
}

EXACT_INLINE void add_halves(const struct sum_exact *p, __m256i halves, __m512 *low, __m512 *high)
{
    const __m512 x = _mm512_cvtph_ps(halves);
    /* the smaller magnitude, with x's sign */
    const __m512 part = p->two ? _mm512_range_ps(x, _mm512_set1_ps(2), 2) : x;
    *low = _mm512_add_ps(*low, part);
    if (p->two)
        *high = _mm512_add_ps(*high, _mm512_sub_ps(x, part));
}
EXACT_INLINE void add_words(const struct sum_exact *p, __m512i words, __m512 *low, __m512 *high)
{
    const __m512i halves = to_halves(p, words);
    add_halves(p, _mm512_castsi512_si256(halves), low, high);
    add_halves(p, _mm512_extracti64x4_epi64(halves, 1), low + 1, high + 1);
}

/* The sums rounded down and up differ unless the sum is exact. */
EXACT_INLINE __m512 add_odd(__m512 a, __m512 b)
{
    const __m512 down = _mm512_add_round_ps(a, b, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512 up = _mm512_add_round_ps(a, b, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    const __m512i cut =
        _mm512_castps_si512(_mm512_add_round_ps(a, b, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    const __mmask16 lost = _mm512_cmp_ps_mask(down, up, _CMP_NEQ_OQ); /* false for nan */
    return _mm512_castsi512_ps(_mm512_mask_or_epi32(cut, lost, cut, _mm512_set1_epi32(1)));
}

EXACT_INLINE __m512i round_sums(const struct sum_exact *p, __m512 sum, __mmask16 *negative)
{
    const __m512i all = _mm512_set1_epi32(0x7fffffff), bits = _mm512_castps_si512(sum);
    const __m512 x =
        _mm512_mul_ps(_mm512_castsi512_ps(_mm512_and_si512(bits, all)), _mm512_set1_ps(p->scale));
    const __m512i a = _mm512_castps_si512(x), low = _mm512_set1_epi32((int)p->low);
    const __m512i drop = _mm512_set1_epi32((int)p->drop);
    const __m512i last = _mm512_and_si512(_mm512_srlv_epi32(a, drop), _mm512_set1_epi32(1));
    const __m512i even = _mm512_or_si512(last, _mm512_set1_epi32((int)p->odd));
    const __m512i up = _mm512_add_epi32(a, _mm512_add_epi32(even, _mm512_set1_epi32((int)p->half)));
    const __m512i normal =
        _mm512_sub_epi32(_mm512_srlv_epi32(up, drop), _mm512_set1_epi32((int)p->rebias));
    const __m512i units =
        _mm512_sub_epi32(_mm512_castps_si512(_mm512_add_ps(x, _mm512_castsi512_ps(low))), low);
    const __mmask16 small = _mm512_cmplt_epi32_mask(a, _mm512_set1_epi32((int)p->first));
    const __mmask16 nan = _mm512_cmpgt_epi32_mask(a, _mm512_set1_epi32(0x7f800000));
    __m512i mag = _mm512_min_epu32(_mm512_mask_mov_epi32(normal, small, units),
                                   _mm512_set1_epi32((int)p->beyond));
    mag = _mm512_mask_mov_epi32(mag, nan, _mm512_set1_epi32((int)p->nan));
    *negative = _mm512_mask_test_epi32_mask(_mm512_movepi32_mask(bits) & ~nan, mag, mag);
    return mag;
}

EXACT_INLINE __m256i round_halves(const struct sum_exact *p, __m512 sum)
{
    __mmask16 negative;
    const __m512i mag = round_sums(p, sum, &negative);
    const __m512i sign = _mm512_set1_epi32((int)(1u << (p->out_width - 1)));
    return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(mag, negative, mag, sign));
}

EXACT_INLINE __m512i join(__m256i low, __m256i high)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Packing inverts the unpacking: the elements are in order again. */
EXACT_INLINE void store_codes(const struct sum_exact *p, const struct floats *sum, uint8_t *codes,
                              size_t n)
{
    const __m512i a = join(round_halves(p, sum->x[0]), round_halves(p, sum->x[1]));
    const __m512i b = join(round_halves(p, sum->x[2]), round_halves(p, sum->x[3]));
    if (p->out_width == 16) {
        const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        _mm512_mask_storeu_epi16(codes, (__mmask32)first_bytes(n),
                                 _mm512_permutex2var_epi64(a, first, b));
        _mm512_mask_storeu_epi16(codes + 64, (__mmask32)(first_bytes(n) >> 32),
                                 _mm512_permutex2var_epi64(a, second, b));
        return;
    }
    const __m512i bytes = _mm512_packus_epi16(a, b);
    if (p->out_width == 8) {
        _mm512_mask_storeu_epi8(codes, first_bytes(n), bytes);
        return;
    }
    const __m512i nibbles = _mm512_maskz_mov_epi8(first_bytes(n), bytes);
    const __m512i pairs = _mm512_or_si512(nibbles, _mm512_srli_epi16(nibbles, 4));
    _mm256_mask_storeu_epi8(codes, (__mmask32)first_bytes((n + 1) / 2),
                            _mm512_cvtepi16_epi8(pairs));
}

EXACT_INLINE void sum_block(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, uint8_t *codes)
{
    const size_t at = p->nibbles ? i / 2 : i;
    struct floats low, high;
    for (int j = 0; j < 4; j++)
        low.x[j] = high.x[j] = _mm512_setzero_ps();
    for (int r = 0; r < n_parts; r++) {
        _mm_prefetch((const char *)((uintptr_t)(parts[r] + at) + 1024), _MM_HINT_T0);
        const __m512i bytes = load_codes(p, parts[r] + at, n), zero = _mm512_setzero_si512();
        add_words(p, _mm512_unpacklo_epi8(zero, bytes), low.x, high.x);
        add_words(p, _mm512_unpackhi_epi8(zero, bytes), low.x + 2, high.x + 2);
    }
    for (int j = 0; j < 4 && p->two; j++)
        low.x[j] = add_odd(low.x[j], high.x[j]);
    store_codes(p, &low, codes + i * p->out_width / 8, n);
}

EXACT_INLINE __m256 round_odd(__m512d sum)
{
    const __m256 cut = _mm512_cvt_roundpd_ps(sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __mmask8 lost =
        _mm512_cmp_pd_mask(_mm512_cvtps_pd(cut), sum, _CMP_NEQ_OQ); /* false for nan */
    const __m256i bits = _mm256_castps_si256(cut);
    return _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, lost, bits, _mm256_set1_epi32(1)));
}

EXACT_INLINE __m256i round_wide(const struct sum_exact *p, const __m512d *sums)
{
    const __m256i low = _mm256_castps_si256(round_odd(sums[0])),
                  high = _mm256_castps_si256(round_odd(sums[1]));
    return round_halves(p, _mm512_castsi512_ps(join(low, high)));
}

EXACT_INLINE void add_wide(__m512d *sums, __m256i halves)
{
    const __m512 x = _mm512_cvtph_ps(halves);
    const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
    sums[0] = _mm512_add_pd(sums[0], _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
    sums[1] = _mm512_add_pd(sums[1], _mm512_cvtps_pd(high));
}

EXACT_INLINE void sum_block_halves(const struct sum_exact *p, const uint8_t *const *parts,
                                   int n_parts, size_t i, size_t n, uint8_t *codes)
{
    const __mmask32 in = (__mmask32)first_bytes(n);
    __m512d sum[4];
    for (int j = 0; j < 4; j++)
        sum[j] = _mm512_setzero_pd();
    for (int r = 0; r < n_parts; r++) {
        _mm_prefetch((const char *)((uintptr_t)(parts[r] + 2 * i) + 1024), _MM_HINT_T0);
        const __m512i x = _mm512_maskz_loadu_epi16(in, parts[r] + 2 * i);
        add_wide(sum, _mm512_castsi512_si256(x));
        add_wide(sum + 2, _mm512_extracti64x4_epi64(x, 1));
    }
    const __m512i words = join(round_wide(p, sum), round_wide(p, sum + 2));
    if (p->out_width == 16)
        _mm512_mask_storeu_epi16(codes + 2 * i, in, words);
    else
        _mm256_mask_storeu_epi8(codes + i, in, _mm512_cvtepi16_epi8(words));
}

#define SUM_EXACT sum_exact_avx512
#include "vec/sum/sum_exact_body.h"
#endif
