/* draw_avx2.c : rounds stochastically with AVX2 (cast_plan.h's ENC_DRAW). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/cast/cast_avx2.h"
#include "vec/cast/draw_bits.h"
#include "vec/fp_mode.h"

#define VEC __m256i
enum { STEP = 32 };

/* u: bits of 8 elements; a: u without signs; halves: 16 random bits per element; *open: all ones in
 * lanes that the halves do not decide. The rounding mode must be toward zero. */
CAST_INLINE __m256i draw_8(const struct enc_plan *p, __m256i u, __m256i a, __m128i halves,
                           __m256i *open)
{
    const __m128i up = _mm_cvtsi32_si128((int)p->drop - 16);
    const __m256i lowest = all(p->lowest), unit = all(1u << p->m);
    const __m256i one_less = all((p->lowest >> p->drop) - (1u << p->m) - 1);
    const __m256i small = _mm256_cmpgt_epi32(lowest, a);
    const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(lowest));
    const __m256i aligned = choose(small, _mm256_castps_si256(sum), a);
    const __m256i random = _mm256_sll_epi32(_mm256_cvtepu16_epi32(halves), up);
    const __m256i left = _mm256_sub_epi32(aligned, random);
    const __m256i goes = _mm256_and_si256(left, _mm256_sll_epi32(all(0xffff), up));
    *open = _mm256_cmpeq_epi32(goes, _mm256_setzero_si256());
    __m256i code = _mm256_sub_epi32(right(left, p->drop), one_less);
    code = _mm256_sub_epi32(code, _mm256_and_si256(small, unit));
    return with_sign(p, _mm256_min_epu32(code, all(p->beyond)), u);
}

CAST_INLINE __m256i nan_8(const struct enc_plan *p, __m256i u, __m256i code)
{
    const __m256i a = _mm256_and_si256(u, all(0x7fffffff));
    const __m256i nan = _mm256_cmpgt_epi32(a, all(0x7f800000));
    return choose(nan, with_sign(p, all(p->nan), u), code);
}

CAST_INLINE __m256i either(__m256i a, __m256i b)
{
    return _mm256_or_si256(a, b);
}

CAST_INLINE __m256i step(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                         const float *x, uint64_t at, const uint16_t *halves, uint8_t *codes,
                         bool stream)
{
    __m256i c[4], open[4], max = _mm256_setzero_si256();
    for (size_t j = 0; j < 4; j++) {
        const __m256i u = _mm256_loadu_si256((const void *)(x + 8 * j)),
                      a = _mm256_and_si256(u, all(0x7fffffff));
        c[j] = draw_8(p, u, a, _mm_loadu_si128((const void *)(halves + 8 * j)), &open[j]);
        max = larger(max, a);
    }
    const __m256i nan = _mm256_cmpgt_epi32(max, all(0x7f800000));
    if (__builtin_expect(!_mm256_testz_si256(nan, nan), 0))
        for (size_t j = 0; j < 4; j++)
            c[j] = nan_8(p, _mm256_loadu_si256((const void *)(x + 8 * j)), c[j]);
    const __m256i some = either(either(open[0], open[1]), either(open[2], open[3]));
    if (__builtin_expect(!_mm256_testz_si256(some, some), 0)) {
        uint32_t words[STEP];
        uint64_t which = 0;
        for (size_t j = 0; j < 4; j++) {
            const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(open[j]));
            which |= (uint64_t)(unsigned)lanes << 8 * j;
            _mm256_storeu_si256((void *)(words + 8 * j), c[j]);
        }
        by_all_bits(d, x, at, which, words);
        for (size_t j = 0; j < 4; j++)
            c[j] = _mm256_loadu_si256((const void *)(words + 8 * j));
    }
    put_codes(shape, c, codes, stream);
    return max;
}

#define draw_words philox_avx2
#include "vec/cast/draw_body.h"

uint32_t draw_avx2(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                   const float *x, size_t n, uint64_t at, void *codes, bool stream)
{
    const uint64_t mode = fp_mode_to_zero();
    const uint32_t absmax = draw_loop(p, d, shape, x, n, at, codes, stream);
    fp_mode_back(mode);
    return absmax;
}
#endif
