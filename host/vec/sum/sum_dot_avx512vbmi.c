/* sum_dot_avx512vbmi.c : sums 8-bit codes exactly with VBMI and VNNI, 64 elements in registers. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/cast/enc_add_avx512.h"
#include "vec/fp_mode.h"
#include "vec/sum/look_avx512vbmi.h"
#include "vec/sum/sum_dot.h"
#include "vec/sum/sum_vbmi.h"

/* bytes of prefetching; ranks side by side; registers of 16 sums */
enum { AHEAD = 1024, RANKS = 4, LANES = 4 };

/* 64 sums, in the order of the unpack instructions */
struct windows {
    __m512i w[LANES][SUM_DOT_WINDOWS];
};

/* A lane gets four ranks' codes of an element. x[j]: elements 4j to 4j + 3 of every 16. */
LOOK_INLINE void side_by_side(const __m512i c[RANKS], __m512i x[LANES])
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

/* the odd one of a sum rounded down and up */
LOOK_INLINE __m512i odd_of(__m512 down, __m512 up)
{
    const __m512i d = _mm512_castps_si512(down), u = _mm512_castps_si512(up);
    return _mm512_mask_mov_epi32(u, _mm512_test_epi32_mask(d, _mm512_set1_epi32(1)), d);
}

#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define UP   (_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)

/* 16 sums as fp32 bits, in units of the smallest value */
LOOK_INLINE __m512i to_float(const struct sum_dot_tables *t, enum sum_dot_way way, const __m512i *w)
{
    __m512i low = _mm512_add_epi32(w[0], _mm512_sllv_epi32(w[1], _mm512_set1_epi32(t->start[1])));
    if (way == SUM_DOT_EXACT)
        return _mm512_castps_si512(_mm512_cvtepi32_ps(low));
    if (way == SUM_DOT_ODD)
        return odd_of(_mm512_cvt_roundepi32_ps(low, DOWN), _mm512_cvt_roundepi32_ps(low, UP));
    __m512i high = w[2];
    if (way == SUM_DOT_CARRY) {
        const __m512i unit = _mm512_set1_epi32((1 << t->start[2]) - 1);
        high = _mm512_add_epi32(high, _mm512_srav_epi32(low, _mm512_set1_epi32(t->start[2])));
        low = _mm512_and_si512(low, unit);
    }
    const __m512 a = _mm512_cvtepi32_ps(high), b = _mm512_cvtepi32_ps(low),
                 by = _mm512_set1_ps((float)(1 << t->start[2]));
    return odd_of(_mm512_fmadd_round_ps(a, by, b, DOWN), _mm512_fmadd_round_ps(a, by, b, UP));
}

LOOK_INLINE __m512i to_codes(const struct sum_dot *p, enum sum_dot_way way, const struct windows *s)
{
    __m512i mag[LANES], sign[LANES];
#pragma GCC unroll 4
    for (int j = 0; j < LANES; j++) {
        sign[j] = to_float(p->t, way, s->w[j]);
        const __m512i a = _mm512_and_si512(sign[j], _mm512_set1_epi32(0x7fffffff));
        mag[j] = _mm512_and_si512(enc_add_avx512(&p->code, a), _mm512_set1_epi32(127));
    }
    const __m512i m =
        _mm512_packus_epi16(_mm512_packs_epi32(mag[0], mag[1]), _mm512_packs_epi32(mag[2], mag[3]));
    const __m512i minus = _mm512_packs_epi16(_mm512_packs_epi32(sign[0], sign[1]),
                                             _mm512_packs_epi32(sign[2], sign[3]));
    return _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(m, m), look_pick(look_bytes(127), m, minus));
}

static __attribute__((noinline)) __m512i with_specials(const struct sum_dot *p,
                                                       const uint8_t *const *parts, int n_parts,
                                                       size_t i, size_t n, __m512i code)
{
    const __m512i inf = look_bytes(p->t->special), nan = look_bytes(p->t->nan),
                  beyond = look_bytes((int)p->code.beyond);
    __mmask64 plus = 0, minus = 0;
    for (int r = 0; r < n_parts; r++) {
        const __m512i c = _mm512_maskz_loadu_epi8(look_first(n), parts[r] + i);
        const __m512i mag = _mm512_and_si512(c, look_bytes(127));
        const __mmask64 negative = _mm512_movepi8_mask(c),
                        no_number = _mm512_cmpge_epi8_mask(mag, inf),
                        both = _mm512_cmpge_epi8_mask(mag, nan);
        plus |= (no_number & ~negative) | both;
        minus |= (no_number & negative) | both;
    }
    code = _mm512_mask_mov_epi8(code, plus, beyond);
    code = _mm512_mask_mov_epi8(code, minus, _mm512_or_si512(beyond, look_bytes(-128)));
    return _mm512_mask_mov_epi8(code, plus & minus, look_bytes((int)p->code.nan));
}

LOOK_INLINE void sum_64(const struct sum_dot *p, enum sum_dot_way way, const uint8_t *const *parts,
                        int n_parts, size_t i, size_t n, uint8_t *codes)
{
    const bool three = way == SUM_DOT_HIGH || way == SUM_DOT_CARRY;
    struct windows s;
    __m512i twice = _mm512_setzero_si512(); /* largest 2 * |code| */
#pragma GCC unroll 4
    for (int j = 0; j < LANES; j++)
#pragma GCC unroll 3
        for (int v = 0; v < SUM_DOT_WINDOWS; v++)
            s.w[j][v] = _mm512_setzero_si512();
    for (int r = 0; r < n_parts; r += RANKS) {
        __m512i c[RANKS], x[LANES];
#pragma GCC unroll 4
        for (int q = 0; q < RANKS; q++) {
            c[q] = _mm512_setzero_si512();
            if (r + q < n_parts) {
                look_ahead(parts[r + q] + i, AHEAD);
                c[q] = _mm512_maskz_loadu_epi8(look_first(n), parts[r + q] + i);
            }
            twice = _mm512_max_epu8(twice, _mm512_add_epi8(c[q], c[q]));
        }
        side_by_side(c, x);
#pragma GCC unroll 4
        for (int j = 0; j < LANES; j++)
            add_ranks(p->t, three, x[j], s.w[j]);
    }
    __m512i code = to_codes(p, way, &s);
    if (__builtin_expect(_mm512_cmpge_epu8_mask(twice, look_bytes(2 * p->t->special)) != 0, 0))
        code = with_specials(p, parts, n_parts, i, n, code);
    _mm512_mask_storeu_epi8(codes + i, look_first(n), code);
}

LOOK_INLINE void sum_loop(const struct sum_dot *p, enum sum_dot_way way,
                          const uint8_t *const *parts, int n_parts, size_t n, uint8_t *codes)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        sum_64(p, way, parts, n_parts, i, 64, codes);
    if (i < n)
        sum_64(p, way, parts, n_parts, i, n - i, codes);
}

/* Constant arguments give each way, and eight ranks, their own loop. */
static __attribute__((noinline)) void sum_codes(const struct sum_dot *p,
                                                const uint8_t *const *parts, int n_parts, size_t n,
                                                uint8_t *codes)
{
    if (p->way == SUM_DOT_EXACT && n_parts == 8)
        sum_loop(p, SUM_DOT_EXACT, parts, 8, n, codes);
    else if (p->way == SUM_DOT_EXACT)
        sum_loop(p, SUM_DOT_EXACT, parts, n_parts, n, codes);
    else if (p->way == SUM_DOT_ODD)
        sum_loop(p, SUM_DOT_ODD, parts, n_parts, n, codes);
    else if (p->way == SUM_DOT_CARRY)
        sum_loop(p, SUM_DOT_CARRY, parts, n_parts, n, codes);
    else if (n_parts == 8)
        sum_loop(p, SUM_DOT_HIGH, parts, 8, n, codes);
    else
        sum_loop(p, SUM_DOT_HIGH, parts, n_parts, n, codes);
}

bool sum_dot_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    struct sum_dot plan;
    if (!sum_dot_plan(sum, n_parts, out, shift, &plan))
        return false;
    const uint64_t mode = fp_mode_ieee();
    sum_codes(&plan, parts, n_parts, n, codes);
    fp_mode_back(mode);
    return true;
}
#endif
