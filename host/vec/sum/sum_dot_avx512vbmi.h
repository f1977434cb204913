/* sum_dot_avx512vbmi.h : adds 8-bit codes in windows (sum_dot.h) with VBMI and VNNI, 64 elements in
 * registers, and rounds sums to codes. */
#ifndef SUM_DOT_AVX512VBMI_H
#define SUM_DOT_AVX512VBMI_H
#include "vec/cast/cast_avx512.h"
#include "vec/cast/enc_add_avx512.h"
#include "vec/sum/look_avx512vbmi.h"
#include "vec/sum/sum_dot.h"

/* bytes of prefetching; ranks side by side; registers of 16 sums */
enum { DOT_AHEAD = 1024, DOT_RANKS = 4, DOT_LANES = 4 };

/* 64 sums, in the order of the unpack instructions */
struct windows {
    __m512i w[DOT_LANES][SUM_DOT_WINDOWS];
};

/* A lane gets four ranks' codes of an element. x[j]: elements 4j to 4j + 3 of every 16. */
LOOK_INLINE void side_by_side(const __m512i c[DOT_RANKS], __m512i x[DOT_LANES])
{
    const __m512i a = _mm512_unpacklo_epi8(c[0], c[1]), b = _mm512_unpackhi_epi8(c[0], c[1]);
    const __m512i e = _mm512_unpacklo_epi8(c[2], c[3]), f = _mm512_unpackhi_epi8(c[2], c[3]);
    x[0] = _mm512_unpacklo_epi16(a, e);
    x[1] = _mm512_unpackhi_epi16(a, e);
    x[2] = _mm512_unpacklo_epi16(b, f);
    x[3] = _mm512_unpackhi_epi16(b, f);
}

LOOK_INLINE void add_ranks(const struct sum_dot_tables *t, bool three, __m512i codes, __m512i *w)
{
    const __m512i sig = look(&t->sig, codes);
    const __m512i field = _mm512_srlv_epi16(codes, _mm512_set1_epi16(t->fmt.m));
    w[0] = _mm512_dpbusd_epi32(w[0], sig, look_64(t->power[0], field));
    w[1] = _mm512_dpbusd_epi32(w[1], sig, look_64(t->power[1], field));
    if (three)
        w[2] = _mm512_dpbusd_epi32(w[2], sig, look_64(t->power[2], field));
}

/* Adds elements [i, i + n) of all parts; n is at most 64. ordered: lane k of w[j] gets element
 * 16j + k. Returns the largest 2 * |code| of each element. */
LOOK_INLINE __m512i dot_windows(const struct sum_dot_tables *t, bool three, bool ordered,
                                const uint8_t *const *parts, int n_parts, size_t i, size_t n,
                                struct windows *s)
{
    __m512i twice = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int j = 0; j < DOT_LANES; j++)
#pragma GCC unroll 3
        for (int v = 0; v < SUM_DOT_WINDOWS; v++)
            s->w[j][v] = _mm512_setzero_si512();
    for (int r = 0; r < n_parts; r += DOT_RANKS) {
        __m512i c[DOT_RANKS], x[DOT_LANES];
#pragma GCC unroll 4
        for (int q = 0; q < DOT_RANKS; q++) {
            c[q] = _mm512_setzero_si512();
            if (r + q < n_parts) {
                look_ahead(parts[r + q] + i, DOT_AHEAD);
                c[q] = _mm512_maskz_loadu_epi8(look_first(n), parts[r + q] + i);
            }
            twice = _mm512_max_epu8(twice, _mm512_add_epi8(c[q], c[q]));
            if (ordered)
                c[q] = in_order(c[q]); /* which unpacking undoes */
        }
        side_by_side(c, x);
#pragma GCC unroll 4
        for (int j = 0; j < DOT_LANES; j++)
            add_ranks(t, three, x[j], s->w[j]);
    }
    return twice;
}

/* twice: of dot_windows() */
LOOK_INLINE bool dot_has_special(const struct sum_dot_tables *t, __m512i twice)
{
    return t->special < 128 &&
           __builtin_expect(_mm512_cmpge_epu8_mask(twice, look_bytes(2 * t->special)) != 0, 0);
}

/* 16 sums of the lower two windows */
LOOK_INLINE __m512i dot_low(const struct sum_dot_tables *t, const __m512i *w)
{
    return _mm512_add_epi32(w[0], _mm512_sllv_epi32(w[1], _mm512_set1_epi32(t->start[1])));
}

#define DOT_DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define DOT_UP   (_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)

/* the odd one of a sum rounded down and up */
LOOK_INLINE __m512i odd_of(__m512 down, __m512 up)
{
    const __m512i d = _mm512_castps_si512(down), u = _mm512_castps_si512(up);
    return _mm512_mask_mov_epi32(u, _mm512_test_epi32_mask(d, _mm512_set1_epi32(1)), d);
}

/* Rounds 64 sums, given as fp32 bits, to codes of 4 or 8 bits, a byte each, in the order of the
 * pack instructions. Only the low half of a byte is defined if `nibbles`. */
LOOK_INLINE __m512i dot_codes(const struct enc_plan *code, bool nibbles,
                              const __m512i sums[DOT_LANES])
{
    const int bits = nibbles ? 7 : 127;
    __m512i mag[DOT_LANES];
#pragma GCC unroll 4
    for (int j = 0; j < DOT_LANES; j++) {
        const __m512i a = _mm512_and_si512(sums[j], _mm512_set1_epi32(0x7fffffff));
        mag[j] = _mm512_and_si512(enc_add_avx512(code, a), _mm512_set1_epi32(bits));
    }
    const __m512i m =
        _mm512_packus_epi16(_mm512_packs_epi32(mag[0], mag[1]), _mm512_packs_epi32(mag[2], mag[3]));
    __m512i minus = _mm512_packs_epi16(_mm512_packs_epi32(sums[0], sums[1]),
                                       _mm512_packs_epi32(sums[2], sums[3]));
    if (nibbles)
        minus = _mm512_srli_epi16(minus, 4);
    return _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(m, m),
                                 look_pick(look_bytes(bits), m, minus));
}

#endif
