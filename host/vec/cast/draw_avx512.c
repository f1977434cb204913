/* draw_avx512.c : rounds stochastically with AVX-512 (cast_plan.h's ENC_DRAW). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/cast/cast_avx512.h"
#include "vec/cast/draw_bits.h"

#define VEC __m512i
enum { STEP = 64 };

#define FEWER (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

/* same as draw_8() of draw_avx2.c, for 16 elements; *open: a mask of lanes */
CAST_INLINE __m512i draw_16(const struct enc_plan *p, __m512i u, __m512i a, __m256i halves,
                            __mmask16 *open)
{
    const __m128i up = _mm_cvtsi32_si128((int)p->drop - 16);
    const __m512i lowest = all(p->lowest), unit = all(1u << p->m);
    const __m512i one_less = all((p->lowest >> p->drop) - (1u << p->m) - 1);
    const __mmask16 small = _mm512_cmplt_epu32_mask(a, lowest);
    const __m512 aligned = _mm512_mask_add_round_ps(
        _mm512_castsi512_ps(a), small, _mm512_castsi512_ps(a), _mm512_castsi512_ps(lowest), FEWER);
    const __m512i random = _mm512_sll_epi32(_mm512_cvtepu16_epi32(halves), up);
    const __m512i left = _mm512_sub_epi32(_mm512_castps_si512(aligned), random);
    *open = _mm512_testn_epi32_mask(left, _mm512_sll_epi32(all(0xffff), up));
    __m512i code = _mm512_sub_epi32(right(left, p->drop), one_less);
    code = _mm512_mask_sub_epi32(code, small, code, unit);
    return with_sign(p, _mm512_min_epu32(code, all(p->beyond)), u);
}

CAST_INLINE __m512i nan_16(const struct enc_plan *p, __m512i u, __m512i code)
{
    const __m512i a = _mm512_and_si512(u, all(0x7fffffff));
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(a, all(0x7f800000));
    return _mm512_mask_mov_epi32(code, nan, with_sign(p, all(p->nan), u));
}

CAST_INLINE __m512i step(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                         const float *x, uint64_t at, const uint16_t *halves, uint8_t *codes,
                         bool stream)
{
    __m512i c[4], max = _mm512_setzero_si512();
    __mmask16 open[4];
    for (size_t j = 0; j < 4; j++) {
        const __m512i u = _mm512_loadu_si512(x + 16 * j), a = _mm512_and_si512(u, all(0x7fffffff));
        c[j] = draw_16(p, u, a, _mm256_loadu_si256((const void *)(halves + 16 * j)), &open[j]);
        max = larger(max, a);
    }
    if (__builtin_expect(_mm512_cmpgt_epu32_mask(max, all(0x7f800000)) != 0, 0))
        for (size_t j = 0; j < 4; j++)
            c[j] = nan_16(p, _mm512_loadu_si512(x + 16 * j), c[j]);
    if (__builtin_expect((open[0] | open[1] | open[2] | open[3]) != 0, 0)) {
        uint32_t words[STEP];
        uint64_t which = 0;
        for (size_t j = 0; j < 4; j++) {
            which |= (uint64_t)open[j] << 16 * j;
            _mm512_storeu_si512(words + 16 * j, c[j]);
        }
        by_all_bits(d, x, at, which, words);
        for (size_t j = 0; j < 4; j++)
            c[j] = _mm512_loadu_si512(words + 16 * j);
    }
    put_codes(shape, c, codes, stream);
    return max;
}

#define draw_words philox_avx512
#include "vec/cast/draw_body.h"

uint32_t draw_avx512(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                     const float *x, size_t n, uint64_t at, void *codes, bool stream)
{
    return draw_loop(p, d, shape, x, n, at, codes, stream);
}
#endif
