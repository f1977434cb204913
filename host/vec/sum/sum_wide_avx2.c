/* sum_wide_avx2.c : converts sums of codes to wide words and back with AVX2 and F16C. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_exact_avx2.h"
#include "vec/sum/sum_wide.h"

/* ---- places of words ---- */

/* Four words of one width, packed from bit 0 or 4 on. The first two lie in 16 bytes, and the others
 * in the 16 bytes from byte `half` on. */
struct four_places {
    int half;
    __m256i up;            /* left shifts that move packed words in their first byte */
    __m256i first, second; /* bytes of the two words of 16 bytes */
    /* shuffles that move the partly filled byte to the second 16 bytes and to the next four */
    __m128i shared, next;
    __m256i from, top; /* bytes of packed words; left shifts that move these to the top */
};

/* For words of one window: eight_from and eight_top are the bytes of 8 words, and left shifts that
 * move these to the top; pairs: of 4 pairs of words. For words of two windows: fours, at bit 0 and
 * at bit 4. */
struct word_places {
    __m256i eight_from, eight_top;
    struct four_places pairs, fours[2];
};

static struct four_places four_places(int bits, int phase)
{
    struct four_places p = {.half = (2 * bits + phase) / 8};
    uint8_t first[32], second[32], from[32], shared[16], next[16];
    int64_t up[4], top[4];
    memset(shared, 0x80, sizeof shared);
    memset(next, 0x80, sizeof next);
    for (int k = 0; k < 4; k++) {
        const int bit = k * bits + phase, start = k < 2 ? 0 : p.half, at = bit / 8 - start;
        up[k] = bit % 8;
        top[k] = 64 - bits - bit % 8;
        for (int i = 0; i < 8; i++)
            from[8 * k + i] = (uint8_t)(at + i);
        for (int i = 0; i < 16; i++) {
            const bool in = i >= at && i < at + 8;
            (k % 2 ? second : first)[k / 2 * 16 + i] = (uint8_t)(in ? k % 2 * 8 + i - at : 0x80);
        }
    }
    shared[0] = (uint8_t)p.half;
    next[0] = (uint8_t)((4 * bits + phase) / 8 - p.half);
    p.up = _mm256_loadu_si256((const __m256i *)up);
    p.top = _mm256_loadu_si256((const __m256i *)top);
    p.first = _mm256_loadu_si256((const __m256i *)first);
    p.second = _mm256_loadu_si256((const __m256i *)second);
    p.from = _mm256_loadu_si256((const __m256i *)from);
    p.shared = _mm_loadu_si128((const __m128i *)shared);
    p.next = _mm_loadu_si128((const __m128i *)next);
    return p;
}

static struct word_places word_places(int bits)
{
    struct word_places p;
    uint8_t from[32];
    int32_t top[8];
    if (bits > WIDE_MAX) {
        p.fours[0] = four_places(bits, 0);
        p.fours[1] = four_places(bits, 4 * bits % 8);
        return p;
    }
    for (int k = 0; k < 8; k++) {
        const int bit =
            k * bits - k / 4 * (bits / 2 * 8); /* the last four begin at byte bits / 2 */
        top[k] = 32 - bits - bit % 8;
        for (int i = 0; i < 4; i++)
            from[4 * k + i] = (uint8_t)(bit / 8 + i);
    }
    p.eight_from = _mm256_loadu_si256((const __m256i *)from);
    p.eight_top = _mm256_loadu_si256((const __m256i *)top);
    p.pairs = four_places(2 * bits, 0);
    return p;
}

/* *carry: the bits of the first byte that belong to the words before; becomes those of the next
 * four. */
EXACT_INLINE void store_four(const struct four_places *p, __m256i words, __m128i *carry,
                             uint8_t *to)
{
    const __m256i x = _mm256_sllv_epi64(words, p->up);
    const __m256i packed =
        _mm256_or_si256(_mm256_shuffle_epi8(x, p->first), _mm256_shuffle_epi8(x, p->second));
    const __m128i low = _mm_or_si128(_mm256_castsi256_si128(packed), *carry);
    const __m128i high =
        _mm_or_si128(_mm256_extracti128_si256(packed, 1), _mm_shuffle_epi8(low, p->shared));
    _mm_storeu_si128((__m128i *)to, low);
    _mm_storeu_si128((__m128i *)(to + p->half), high);
    *carry = _mm_shuffle_epi8(high, p->next);
}

/* 16 bytes each from `from` and from byte `half` on */
EXACT_INLINE __m256i load_halves(const uint8_t *from, int half)
{
    return _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(from + half)),
                            _mm_loadu_si128((const __m128i *)from));
}

/* ---- one window ---- */

/* Words of inf and nan. */
static __attribute__((noinline)) __m256i special_words(__m256 x, int bits, __m256i word)
{
    const __m256i lowest = words(1 << (bits - 1)), one = words(1);
    const __m256 inf = _mm256_castsi256_ps(words(0x7f800000)),
                 minus_inf = _mm256_castsi256_ps(words((int)0xff800000));
    const __m256 plus = _mm256_cmp_ps(x, inf, _CMP_EQ_OQ),
                 minus = _mm256_cmp_ps(x, minus_inf, _CMP_EQ_OQ),
                 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    word = _mm256_blendv_epi8(word, _mm256_sub_epi32(lowest, one), _mm256_castps_si256(plus));
    word = _mm256_blendv_epi8(word, _mm256_add_epi32(lowest, one), _mm256_castps_si256(minus));
    return _mm256_blendv_epi8(word, lowest, _mm256_castps_si256(nan));
}

/* true if an x is inf or nan */
EXACT_INLINE bool any_special(__m256 x)
{
    const __m256i exponent = words(0x7f800000);
    const __m256i special =
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_castps_si256(x), exponent), exponent);
    return __builtin_expect(!_mm256_testz_si256(special, special), 0);
}

EXACT_INLINE void store_words(const struct sum_exact *p, const __m256 *sums, int bits,
                              const struct word_places *places, uint8_t *to)
{
    (void)p; /* sums are in units of words */
    const __m256i all = words((1 << bits) - 1);
    const __m128i by = _mm_cvtsi32_si128(bits);
    __m256 x[4];
    __m128i carry = _mm_setzero_si128(); /* eight words end with a byte */
    to_order(sums, x);
    for (int j = 0; j < 4; j++) {
        __m256i word = _mm256_cvtps_epi32(x[j]);
        if (any_special(x[j]))
            word = special_words(x[j], bits, word);
        word = _mm256_and_si256(word, all);
        const __m256i odd = _mm256_sll_epi64(_mm256_srli_epi64(word, 32), by),
                      even = _mm256_and_si256(word, _mm256_set1_epi64x(UINT32_MAX));
        store_four(&places->pairs, _mm256_or_si256(even, odd), &carry, to + j * bits);
    }
}

static __attribute__((noinline)) __m256 special_floats(__m256i word, int bits, __m256 x)
{
    const __m256i lowest = words(-(1 << (bits - 1)));
    const __m256i nan = _mm256_cmpeq_epi32(word, lowest),
                  minus = _mm256_cmpeq_epi32(word, _mm256_add_epi32(lowest, words(1))),
                  plus = _mm256_cmpeq_epi32(word, _mm256_xor_si256(lowest, words(-1)));
    x = _mm256_blendv_ps(x, _mm256_castsi256_ps(words(0x7fc00000)), _mm256_castsi256_ps(nan));
    x = _mm256_blendv_ps(x, _mm256_castsi256_ps(words((int)0xff800000)),
                         _mm256_castsi256_ps(minus));
    return _mm256_blendv_ps(x, _mm256_castsi256_ps(words(0x7f800000)), _mm256_castsi256_ps(plus));
}

/* Adds words to sums, in order. Reads up to 16 bytes beyond the LANES words. */
EXACT_INLINE void add_words(const struct sum_exact *p, const uint8_t *from, int bits,
                            const struct word_places *places, __m256 *sums)
{
    (void)p;
    const __m128i down = _mm_cvtsi32_si128(32 - bits);
    const __m256i largest = words((1 << (bits - 1)) - 2); /* a number */
    for (int j = 0; j < 4; j++) {
        const __m256i in = load_halves(from + j * bits, bits / 2);
        const __m256i word = _mm256_sra_epi32(
            _mm256_sllv_epi32(_mm256_shuffle_epi8(in, places->eight_from), places->eight_top),
            down);
        __m256 x = _mm256_cvtepi32_ps(word);
        const __m256i special = _mm256_cmpgt_epi32(_mm256_abs_epi32(word), largest);
        if (__builtin_expect(!_mm256_testz_si256(special, special), 0))
            x = special_floats(word, bits, x);
        sums[j] = _mm256_add_ps(sums[j], x);
    }
}

/* sums: in order */
EXACT_INLINE void round_all(const struct sum_exact *p, const __m256 *sums, __m256i *c)
{
    __m256 x[4];
    from_order(sums, x);
    for (int j = 0; j < 4; j++)
        c[j] = round_sums(p, x[j]);
}

/* ---- two windows ---- */

static __attribute__((noinline)) void special_long_words(const __m256 *high, int bits, __m256i *to)
{
    const uint64_t lowest = 1ull << (bits - 1);
    float x[LANES];
    uint64_t word[LANES];
    memcpy(x, high, sizeof x);
    memcpy(word, to, sizeof word);
    for (int i = 0; i < LANES; i++)
        if (!(x[i] - x[i] == 0)) /* inf or nan */
            word[i] = x[i] > 0 ? lowest - 1 : x[i] < 0 ? lowest + 1 : lowest;
    memcpy(to, word, sizeof word);
}

EXACT_INLINE void store_long_words(const struct sum_exact *p, const __m256 *low, const __m256 *high,
                                   int bits, const struct word_places *places, uint8_t *to)
{
    (void)p;
    const __m256i all = _mm256_set1_epi64x((1ll << bits) - 1);
    __m256 x[4], y[4];
    __m256i word[8];
    __m128i carry = _mm_setzero_si128();
    bool special = false;
    to_order(low, x);
    to_order(high, y);
    for (int j = 0; j < 4; j++) {
        const __m256i l = _mm256_cvtps_epi32(x[j]),
                      h = _mm256_cvtps_epi32(
                          _mm256_mul_ps(y[j], _mm256_set1_ps(1.0f / (1 << LOW_BITS))));
        const __m256i a = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(h)),
                      b = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(h, 1));
        word[2 * j] = _mm256_add_epi64(_mm256_slli_epi64(a, LOW_BITS),
                                       _mm256_cvtepi32_epi64(_mm256_castsi256_si128(l)));
        word[2 * j + 1] = _mm256_add_epi64(_mm256_slli_epi64(b, LOW_BITS),
                                           _mm256_cvtepi32_epi64(_mm256_extracti128_si256(l, 1)));
        special |= any_special(y[j]);
    }
    if (__builtin_expect(special, 0))
        special_long_words(y, bits, word);
    for (int g = 0; g < 8; g++)
        store_four(&places->fours[g % 2], _mm256_and_si256(word[g], all), &carry,
                   to + g * bits / 2);
}

/* Adds words to sums, but inf and nan to special. Reads up to 16 bytes beyond the LANES words. */
EXACT_INLINE void add_long_words(const uint8_t *from, int bits, const struct word_places *places,
                                 int64_t *sums, float *special)
{
    const __m128i down = _mm_cvtsi32_si128(64 - bits);
    const __m256i lowest = _mm256_set1_epi64x(1ll << (bits - 1));
    /* The upper 32 bits of inf, nan and -inf become 0 or 1, those of few numbers too. */
    const __m256i lower = _mm256_set1_epi64x(0x70000000),
                  to_zero = _mm256_set1_epi64x((int64_t)0x8000000100000000ull);
    __m256i sum[LANES / 4], least = words(-1);
    for (int g = 0; g < LANES / 4; g++) {
        const struct four_places *p = &places->fours[g % 2];
        const __m256i in = load_halves(from + g * bits / 2, p->half);
        const __m256i word = _mm256_sllv_epi64(_mm256_shuffle_epi8(in, p->from), p->top);
        least = _mm256_min_epu32(least, _mm256_add_epi32(_mm256_or_si256(word, lower), to_zero));
        const __m256i number =
            _mm256_sub_epi64(_mm256_xor_si256(_mm256_srl_epi64(word, down), lowest), lowest);
        sum[g] = _mm256_add_epi64(_mm256_loadu_si256((const __m256i *)(sums + 4 * g)), number);
    }
    const __m256i few = _mm256_cmpeq_epi32(_mm256_min_epu32(least, words(1)), least);
    if (__builtin_expect(!_mm256_testz_si256(few, few), 0)) {
        add_each_word(from, bits, sums, special);
        return;
    }
    for (int g = 0; g < LANES / 4; g++)
        _mm256_storeu_si256((__m256i *)(sums + 4 * g), sum[g]);
}

/* The lower 32 bits of eight sums. */
EXACT_INLINE __m256i lower_words(__m256i a, __m256i b)
{
    const __m256 both =
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _MM_SHUFFLE(2, 0, 2, 0));
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xd8);
}

/* special: infs and nans */
EXACT_INLINE void round_long_sums(const struct sum_exact *p, const int64_t *sums,
                                  const float *special, __m256i *c)
{
    const __m256 high_unit = _mm256_set1_ps(1 << LOW_BITS);
    __m256 odd[4];
    for (int j = 0; j < 4; j++) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(sums + 8 * j)),
                      b = _mm256_loadu_si256((const __m256i *)(sums + 8 * j + 4));
        const __m256i low = _mm256_and_si256(lower_words(a, b), words((1 << LOW_BITS) - 1));
        const __m256i high =
            lower_words(_mm256_srli_epi64(a, LOW_BITS), _mm256_srli_epi64(b, LOW_BITS));
        const __m256 x = _mm256_cvtepi32_ps(low),
                     y = _mm256_mul_ps(_mm256_cvtepi32_ps(high), high_unit);
        odd[j] = add_odd(x, _mm256_add_ps(y, _mm256_loadu_ps(special + 8 * j)));
    }
    round_all(p, odd, c);
}

#define WIDE_CODES     __m256i
#define WIDE_NAME(way) sum_##way##_wide_avx2
#define WIDE_FLOATS    __m256
#define WIDE_ZERO      _mm256_setzero_ps()
#define WIDE_ROOM      (3 * LANES)
#include "vec/sum/sum_wide_body.h"
#endif
