/* sum_wide_avx2.c : Sums packed codes to wide words, and wide words to codes, with AVX2 and F16C.
 *
 * Sums of one window (sum_exact.h) have at most WIDE_MAX bits and pass through 32-bit integers.
 * Sums of two windows pass through 64-bit integers: high * 2^15 + low, each in its window's
 * units. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/fp_mode.h"
#include "vec/sum/sum_exact_avx2.h"
#include <math.h>

enum {
    WIDE_MAX = 25,                     /* bits; 7 more fit a load of 32 */
    LONG_MAX = 50,                     /* bits of two windows; 7 more fit a load of 64 */
    WIDE_BLOCK = LANES * LONG_MAX / 8, /* bytes of LANES words */
    WIDE_SLACK = 8,                    /* bytes that a load or store may pass */
    LOW_BITS = 15                      /* a unit of `high` is 2^LOW_BITS units of `low` */
};
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

/* Writes n words, and up to WIDE_SLACK bytes beyond. */
EXACT_INLINE void pack_words(const uint64_t *from, int n, int bits, uint8_t *to)
{
    uint64_t held = 0;
    int have = 0; /* bits, at most 7 + LONG_MAX */
    for (int i = 0; i < n; i++) {
        held |= from[i] << have;
        have += bits;
        memcpy(to, &held, sizeof held);
        to += have / 8;
        held >>= have & ~7;
        have &= 7;
    }
}

/* Adds words to sums. Reads up to WIDE_SLACK bytes beyond the LANES words. */
EXACT_INLINE void add_words(const uint8_t *from, int bits, __m256i byte, __m256i skip, __m256 unit,
                            __m256 *sums)
{
    const __m128i up = _mm_cvtsi32_si128(32 - bits);
    const __m256i one = words((int)(1u << (32 - bits))), lowest = words(INT32_MIN);
    for (int j = 0; j < 4; j++) {
        const uint8_t *at = from + element_of[j] / 8 * bits;
        const __m256i word = _mm256_sll_epi32(
            _mm256_srlv_epi32(_mm256_i32gather_epi32((const int *)(const void *)at, byte, 1), skip),
            up);
        __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sra_epi32(word, up)), unit);
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

/* Adds words to sums, but inf and nan to special. */
EXACT_INLINE void add_long_words(const uint8_t *from, int bits, int64_t *sums, float *special)
{
    const uint64_t lowest = 1ull << (bits - 1);
    for (int i = 0; i < LANES; i++) {
        uint64_t word;
        memcpy(&word, from + i * bits / 8, sizeof word);
        word = word >> (i * bits % 8) & (2 * lowest - 1);
        if (word - (lowest - 1) > 2)
            sums[i] += (int64_t)((word ^ lowest) - lowest);
        else
            special[i] += word == lowest ? NAN : word < lowest ? INFINITY : -INFINITY;
    }
}

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

/* ---- both ---- */

EXACT_INLINE void all_to_wide(struct sum_exact plan, bool two, bool nibbles, float units, int bits,
                              const uint8_t *const *parts, int n_parts, size_t n, uint8_t *wide)
{
    uint8_t rest[WIDE_BLOCK + WIDE_SLACK] = {0};
    uint32_t block[LANES];
    uint64_t long_block[LANES];
    __m256 low[4], high[4];
    plan.two = two;
    plan.nibbles = nibbles;
    for (size_t i = 0; i < n; i += LANES) {
        const bool last = n - i < 2 * LANES; /* no room for the slack */
        const size_t k = n - i < LANES ? n - i : LANES;
        uint8_t *to = wide + i / 8 * (size_t)bits;
        add_parts(&plan, parts, n_parts, i, k, low, high);
        if (two) {
            to_long_words(low, high, units, bits, long_block);
            pack_words(long_block, LANES, bits, last ? rest : to);
        } else {
            to_words(low, units, bits, block);
            for (int j = 0; j < LANES / 2; j++)
                long_block[j] = block[2 * j] | (uint64_t)block[2 * j + 1] << bits;
            pack_words(long_block, LANES / 2, 2 * bits, last ? rest : to);
        }
        if (last) {
            const size_t n_bits = k * (size_t)bits;
            rest[n_bits / 8] &= (uint8_t)((1u << n_bits % 8) - 1);
            memcpy(to, rest, (n_bits + 7) / 8);
        }
    }
}

EXACT_INLINE void all_of_wide(const struct sum_exact *plan, bool two, float unit, int bits,
                              const uint8_t *const *wides, int n_parts, size_t n, uint8_t *codes)
{
    uint8_t rest[WIDE_BLOCK + WIDE_SLACK] = {0};
    const __m256i bit = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), words(bits)),
                  byte = _mm256_srli_epi32(bit, 3), skip = _mm256_and_si256(bit, words(7));
    for (size_t i = 0; i < n; i += LANES) {
        const bool last = n - i < 2 * LANES;
        const size_t k = n - i < LANES ? n - i : LANES;
        int64_t long_sums[LANES] = {0};
        float special[LANES] = {0};
        __m256 sums[4];
        __m256i c[4];
        for (int j = 0; j < 4; j++)
            sums[j] = _mm256_setzero_ps();
        for (int r = 0; r < n_parts; r++) {
            const uint8_t *from = wides[r] + i / 8 * (size_t)bits;
            if (last)
                from = memcpy(rest, from, (k * (size_t)bits + 7) / 8);
            if (two)
                add_long_words(from, bits, long_sums, special);
            else
                add_words(from, bits, byte, skip, _mm256_set1_ps(unit), sums);
        }
        for (int j = 0; j < 4 && !two; j++)
            c[j] = round_sums(plan, sums[j]);
        if (two)
            round_long_sums(plan, long_sums, special, unit, c);
        store_codes(plan, c, codes + i * plan->out_width / 8, k);
    }
}

/* Constant arguments give each kind of codes its own loop. */
static __attribute__((noinline)) void to_wide_in_ieee(const struct sum_exact *plan, float units,
                                                      int bits, const uint8_t *const *parts,
                                                      int n_parts, size_t n, uint8_t *wide)
{
    if (plan->two)
        all_to_wide(*plan, true, false, units, bits, parts, n_parts, n, wide);
    else if (plan->nibbles)
        all_to_wide(*plan, false, true, units, bits, parts, n_parts, n, wide);
    else
        all_to_wide(*plan, false, false, units, bits, parts, n_parts, n, wide);
}

static __attribute__((noinline)) void of_wide_in_ieee(const struct sum_exact *plan, float unit,
                                                      int bits, const uint8_t *const *wides,
                                                      int n_parts, size_t n, uint8_t *codes)
{
    if (plan->two)
        all_of_wide(plan, true, unit, bits, wides, n_parts, n, codes);
    else
        all_of_wide(plan, false, unit, bits, wides, n_parts, n, codes);
}

/* n_terms: of the whole sum. *unit: the half that a code's smallest subnormal becomes. */
static bool wide_plan(const struct vec_sum *sum, int n_terms, struct mf_fmt out, int shift,
                      struct sum_exact *plan, float *unit)
{
    *unit = 0x1p-14f / (float)(1u << sum->in.m);
    return sum_exact_plan(sum, n_terms, out, shift, plan) && !plan->halves &&
           plan->out_width <= 16 &&
           mf_wide_bits(sum->in, (unsigned)sum->n_ranks) <= (plan->two ? LONG_MAX : WIDE_MAX);
}

bool sum_to_wide_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      uint8_t *wide)
{
    struct sum_exact plan;
    float unit;
    if (!wide_plan(sum, n_parts, sum->in, 0, &plan, &unit))
        return false;
    const uint64_t mode = fp_mode_ieee();
    to_wide_in_ieee(&plan, 1 / unit, mf_wide_bits(sum->in, (unsigned)sum->n_ranks), parts, n_parts,
                    n, wide);
    fp_mode_back(mode);
    return true;
}

bool sum_of_wide_avx2(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes)
{
    struct sum_exact plan;
    float unit;
    if (!wide_plan(sum, n_parts * sum->n_ranks, out, shift, &plan, &unit))
        return false;
    const uint64_t mode = fp_mode_ieee();
    of_wide_in_ieee(&plan, unit, mf_wide_bits(sum->in, (unsigned)sum->n_ranks), wides, n_parts, n,
                    codes);
    fp_mode_back(mode);
    return true;
}
#endif
