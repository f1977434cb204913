/* draw_avx512.c : rounds stochastically with AVX-512 (cast_plan.h's ENC_DRAW). */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86
#include "vec/cast/cast_avx512.h"
#include "vec/cast/draw_bits.h"

#define VEC __m512i
enum { STEP = 64 };

#define FEWER (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

/* Bits of a, below the normals (*small) aligned to the unit of subnormals. */
CAST_INLINE __m512i align_16(const struct enc_plan *p, __m512i a, __mmask16 *small)
{
    const __m512i lowest = all(p->lowest);
    *small = _mm512_cmplt_epu32_mask(a, lowest);
    return _mm512_castps_si512(_mm512_mask_add_round_ps(_mm512_castsi512_ps(a), *small,
                                                        _mm512_castsi512_ps(a),
                                                        _mm512_castsi512_ps(lowest), FEWER));
}

/* same as draw_8() of draw_avx2.c, for 16 elements; *open: a mask of lanes */
CAST_INLINE __m512i draw_16(const struct enc_plan *p, __m512i u, __m512i a, __m256i halves,
                            __mmask16 *open)
{
    const __m128i up = _mm_cvtsi32_si128((int)p->drop - 16);
    const __m512i unit = all(1u << p->m);
    const __m512i one_less = all((p->lowest >> p->drop) - (1u << p->m) - 1);
    __mmask16 small;
    const __m512i aligned = align_16(p, a, &small);
    const __m512i random = _mm512_sll_epi32(_mm512_cvtepu16_epi32(halves), up);
    const __m512i left = _mm512_sub_epi32(aligned, random);
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

CAST_INLINE __m512i step_words(const struct enc_plan *p, const struct cast_draw *d,
                               enum cast_shape shape, const float *x, uint64_t at,
                               const uint16_t *halves, uint8_t *codes, bool stream)
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

/* ---- 64 codes of at most 8 bits: 16 bits per element after the floats are aligned ---- */

/* Elements i and 16 + i share a lane of 32 bits. */
CAST_INLINE __m512i uppers(__m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi32(all(0xffff0000), b, _mm512_srli_epi32(a, 16), 0xca);
}
CAST_INLINE __m512i lowers(__m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi32(all(0xffff0000), _mm512_slli_epi32(b, 16), a, 0xca);
}

CAST_INLINE __m512i words(unsigned x)
{
    return _mm512_set1_epi16((short)x);
}

/* Floats below the normals also get the exponent before `lowest`. */
CAST_INLINE __m512i aligned_16(const struct enc_plan *p, __m512i a)
{
    __mmask16 small;
    const __m512i bits = align_16(p, a, &small);
    return _mm512_mask_sub_epi32(bits, small, bits, all(1u << 23));
}

struct draw_words {
    __m512i code, sign; /* sign: the highest bit of a word */
    __mmask32 open;     /* 32 random bits decide */
};

/* random: in the order of the lanes. *max: the largest |x| so far */
CAST_INLINE struct draw_words draw_32(const struct enc_plan *p, const float *x, __m512i random,
                                      __m512i *max)
{
    const __m512i u = _mm512_loadu_si512(x), v = _mm512_loadu_si512(x + 16), abs = all(0x7fffffff),
                  a = _mm512_and_si512(u, abs), b = _mm512_and_si512(v, abs);
    const __m512i f = aligned_16(p, a), g = aligned_16(p, b), high = uppers(f, g);
    const __m512i up = words(9 + p->m), down = words(7 - p->m);
    const __m512i dropped =
        _mm512_or_si512(_mm512_sllv_epi16(high, up), _mm512_srlv_epi16(lowers(f, g), down));
    const __m512i less = words((p->lowest >> p->drop) - (1u << p->m));
    const __m512i kept = _mm512_sub_epi16(_mm512_srlv_epi16(high, down), less);
    const __m512i code =
        _mm512_mask_sub_epi16(kept, _mm512_cmpgt_epu16_mask(dropped, random), kept, words(0xffff));
    *max = larger(*max, larger(a, b));
    return (struct draw_words){_mm512_min_epu16(code, words(p->beyond)), uppers(u, v),
                               _mm512_cmpeq_epu16_mask(dropped, random)};
}

/* a code in each byte, in order */
CAST_INLINE __m512i join_64(const struct enc_plan *p, struct draw_words a, struct draw_words b)
{
    const __m512i turns_back =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
    const __m512i codes = _mm512_packus_epi16(a.code, b.code),
                  signs = _mm512_srlv_epi16(_mm512_packs_epi16(a.sign, b.sign),
                                            words(p->sign_right - 24)),
                  mags = _mm512_set1_epi8((char)p->nan);
    /* mags ? codes : signs */
    const __m512i bytes = _mm512_and_si512(_mm512_ternarylogic_epi32(mags, codes, signs, 0xca),
                                           _mm512_set1_epi8((char)(2 * p->nan + 1)));
    return in_order(_mm512_shuffle_epi8(bytes, turns_back));
}

static __attribute__((noinline)) __m512i step_apart(struct enc_plan p, const struct cast_draw *d,
                                                    enum cast_shape shape, const float *x,
                                                    uint64_t at, const uint16_t *halves,
                                                    uint8_t *codes, bool stream)
{
    return step_words(&p, d, shape, x, at, halves, codes, stream);
}

CAST_INLINE __m512i step(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                         const float *x, uint64_t at, const uint16_t *halves, uint8_t *codes,
                         bool stream)
{
    if (shape == CAST_16)
        return step_words(p, d, shape, x, at, halves, codes, stream);
    /* words 0, 16, 1, 17, ... */
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                  turns = _mm512_or_si512(first,
                                          _mm512_slli_epi32(_mm512_add_epi32(first, all(16)), 16));
    __m512i max = _mm512_setzero_si512();
    const struct draw_words a = draw_32(p, x,
                                        _mm512_permutexvar_epi16(turns, _mm512_loadu_si512(halves)),
                                        &max),
                            b = draw_32(
                                p, x + 32,
                                _mm512_permutexvar_epi16(turns, _mm512_loadu_si512(halves + 32)),
                                &max);
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(max, all(0x7f800000));
    if (__builtin_expect((a.open | b.open | nan) != 0, 0))
        return step_apart(*p, d, shape, x, at, halves, codes, stream);
    put_bytes(shape, join_64(p, a, b), codes, stream);
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
