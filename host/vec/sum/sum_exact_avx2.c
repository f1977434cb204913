/* sum_exact_avx2.c : sums packed codes exactly with AVX2 and F16C. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_exact_avx2.h"

EXACT_INLINE void sum_block(const struct sum_exact *p, const uint8_t *const *parts, int n_parts,
                            size_t i, size_t n, uint8_t *codes)
{
    __m256 low[4], high[4];
    __m256i c[4];
    const bool special = add_parts(p, parts, n_parts, i, n, low, high);
    codes += i * p->out_width / 8;
    if (p->out_width == 32) {
        store_floats(p, low, codes, n);
        return;
    }
    for (int j = 0; j < 4 && p->two; j++)
        low[j] = add_odd(low[j], high[j]);
    if (!special && p->out_width <= 8 && p->code.way == ENC_ADD) {
        store_bytes(p, encode_all(p, low), codes, n);
        return;
    }
    for (int j = 0; j < 4; j++)
        c[j] = round_sums(p, low[j]);
    store_codes(p, c, codes, n);
}

/* sums[0] holds elements 0..3. The remainder of the conversion to fp32 is also an fp32: rounding to
 * odd uses only its sign, and it is at most half a unit. inf leaves 0. */
EXACT_INLINE __m256i round_wide(const struct sum_exact *p, const __m256d *sums)
{
    __m128 near[2], rest[2];
    for (int j = 0; j < 2; j++) {
        near[j] = _mm256_cvtpd_ps(sums[j]);
        rest[j] = _mm256_cvtpd_ps(_mm256_sub_pd(sums[j], _mm256_cvtps_pd(near[j])));
        rest[j] = _mm_and_ps(rest[j], _mm_cmpord_ps(rest[j], rest[j]));
    }
    return round_sums(
        p, add_odd(_mm256_set_m128(near[1], near[0]), _mm256_set_m128(rest[1], rest[0])));
}

EXACT_INLINE __m256d add_wide(__m256d sum, __m256 x, int upper)
{
    return _mm256_add_pd(
        sum, _mm256_cvtps_pd(upper ? _mm256_extractf128_ps(x, 1) : _mm256_castps256_ps128(x)));
}

EXACT_INLINE void sum_block_halves(const struct sum_exact *p, const uint8_t *const *parts,
                                   int n_parts, size_t i, size_t n, uint8_t *codes)
{
    uint8_t rest[LANES] = {0};
    uint8_t *to = n < LANES / 2 ? rest : codes + i * p->out_width / 8;
    __m256d sum[4];
    for (int j = 0; j < 4; j++)
        sum[j] = _mm256_setzero_pd();
    for (int r = 0; r < n_parts; r++) {
        const uint8_t *from = parts[r] + 2 * i;
        _mm_prefetch((const char *)((uintptr_t)from + 1024), _MM_HINT_T0);
        if (n < LANES / 2)
            from = memcpy(rest, from, 2 * n);
        const __m256i x = _mm256_loadu_si256((const __m256i *)from);
        const __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(x)),
                     high = _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1));
        sum[0] = add_wide(sum[0], low, 0);
        sum[1] = add_wide(sum[1], low, 1);
        sum[2] = add_wide(sum[2], high, 0);
        sum[3] = add_wide(sum[3], high, 1);
    }
    const __m256i both = _mm256_packus_epi32(round_wide(p, sum), round_wide(p, sum + 2));
    const __m256i words = _mm256_permute4x64_epi64(both, 0xd8);
    if (p->out_width == 16)
        _mm256_storeu_si256((__m256i *)to, words);
    else
        _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(_mm256_castsi256_si128(words),
                                                         _mm256_extracti128_si256(words, 1)));
    if (n < LANES / 2)
        memcpy(codes + i * p->out_width / 8, rest, n * p->out_width / 8);
}

#define SUM_EXACT sum_exact_avx2
#include "vec/sum/sum_exact_body.h"
#endif
