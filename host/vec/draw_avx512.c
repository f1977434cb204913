/* draw_avx512.c : stochastic rounding with AVX-512 by the upper 16 of an element's random bits:
 * cast_plan.h's way ENC_DRAW. */
#include "vec/cast_x86.h"
#ifdef VEC_X86
#include "hls/philox.h"
#include "vec/cast_avx512.h"

/* elements at a time; of which halves of random bits are made at once; that share a block of them */
enum { STEP = 64, CHUNK = 1024, PER_PHILOX = 8 };

#define FEWER (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

/* Elements that 16 bits do not decide, and nan, by all 32 bits. which: a bit each; at: of x[0]. */
static __attribute__((noinline)) void by_all_bits(const struct cast_draw *d, const float *x,
                                                  uint64_t at, uint64_t which, uint32_t *codes)
{
    const struct vec_cast *cast = d->cast;
    for (; which != 0; which &= which - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(which);
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        codes[i] = mf_enc(cast->fmt, bits, d->shift, MF_STOCHASTIC, cast->overflow,
                          philox_round_u32(cast->key, at + i));
    }
}

/* 16 elements. u: their bits; a: without signs; halves: their 16 random bits each. *open: those that
 * are not decided. Returns codes, signs above them. */
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

/* STEP elements, at ... of their layer; returns the lanes' largest |x|. */
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
    const __mmask16 nan = _mm512_cmpgt_epu32_mask(max, all(0x7f800000));
    if (__builtin_expect((open[0] | open[1] | open[2] | open[3] | nan) != 0, 0)) {
        uint32_t words[STEP];
        uint64_t which = 0;
        for (size_t j = 0; j < 4; j++) {
            which |= (uint64_t)(uint16_t)(open[j] | nan) << 16 * j;
            _mm512_storeu_si512(words + 16 * j, c[j]);
        }
        by_all_bits(d, x, at, which, words);
        for (size_t j = 0; j < 4; j++)
            c[j] = _mm512_loadu_si512(words + 16 * j);
    }
    put_codes(shape, c, codes, stream);
    return max;
}

/* Fewer than STEP elements, by way of buffers. */
CAST_INLINE __m512i step_part(const struct enc_plan *p, const struct cast_draw *d,
                              enum cast_shape shape, const float *x, size_t n, uint64_t at,
                              const uint16_t *halves, uint8_t *codes)
{
    float in[STEP] = {0};
    uint8_t out[STEP * 4];
    memcpy(in, x, n * sizeof *x);
    const __m512i max = step(p, d, shape, in, at, halves, out, false);
    memcpy(codes, out, cast_shape_bytes(shape, n));
    return max;
}

CAST_INLINE uint32_t loop(const struct enc_plan *p, const struct cast_draw *d,
                          enum cast_shape shape, const float *x, size_t n, uint64_t at,
                          uint8_t *codes, bool stream)
{
    uint32_t words[4 * (CHUNK / PER_PHILOX + 1) + STEP / 2];
    __m512i max = _mm512_setzero_si512();
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t left = n - first, k = left < CHUNK ? left : CHUNK,
                     lead = (at + first) % PER_PHILOX;
        const uint16_t *halves = (const uint16_t *)words + lead;
        philox_avx512(d->cast->key, (at + first) / PER_PHILOX, 0,
                      (lead + k + PER_PHILOX - 1) / PER_PHILOX, words);
        for (size_t i = first; i < first + k; i += STEP, halves += STEP) {
            uint8_t *to = codes + cast_shape_bytes(shape, i);
            for (size_t line = 0; line < STEP; line += 16)
                cast_ahead(x + i + line);
            if (n - i < STEP)
                max = larger(max, step_part(p, d, shape, x + i, n - i, at + i, halves, to));
            else
                max = larger(max, step(p, d, shape, x + i, at + i, halves, to, stream));
        }
    }
    if (stream)
        _mm_sfence();
    return largest(max);
}

uint32_t draw_avx512(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                     const float *x, size_t n, uint64_t at, void *codes, bool stream)
{
    switch (shape) {
    case CAST_4:
        return loop(p, d, CAST_4, x, n, at, codes, stream);
    case CAST_8:
        return loop(p, d, CAST_8, x, n, at, codes, stream);
    default:
        return loop(p, d, CAST_16, x, n, at, codes, stream);
    }
}
#endif
