/* sum_dot_avx512vbmi.c : sums 8-bit codes exactly with VBMI and VNNI, 64 elements in registers. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "base/bits.h"
#include "vec/fp_mode.h"
#include "vec/sum/sum_dot_avx512vbmi.h"
#include "vec/sum/sum_x86.h"

/* 16 sums as fp32 bits, in units of the smallest value */
LOOK_INLINE __m512i to_float(const struct sum_dot_tables *t, enum sum_dot_way way, const __m512i *w)
{
    __m512i low = dot_low(t, w);
    if (way == SUM_DOT_EXACT)
        return _mm512_castps_si512(_mm512_cvtepi32_ps(low));
    if (way == SUM_DOT_ODD)
        return odd_of(_mm512_cvt_roundepi32_ps(low, DOT_DOWN),
                      _mm512_cvt_roundepi32_ps(low, DOT_UP));
    __m512i high = w[2];
    if (way == SUM_DOT_CARRY) {
        const __m512i unit = _mm512_set1_epi32((1 << t->start[2]) - 1);
        high = _mm512_add_epi32(high, _mm512_srav_epi32(low, _mm512_set1_epi32(t->start[2])));
        low = _mm512_and_si512(low, unit);
    }
    const __m512 a = _mm512_cvtepi32_ps(high), b = _mm512_cvtepi32_ps(low),
                 by = _mm512_set1_ps((float)(1 << t->start[2]));
    return odd_of(_mm512_fmadd_round_ps(a, by, b, DOT_DOWN),
                  _mm512_fmadd_round_ps(a, by, b, DOT_UP));
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
    __m512i sums[DOT_LANES];
    const __m512i twice = dot_windows(p->t, three, false, parts, n_parts, i, n, &s);
#pragma GCC unroll 4
    for (int j = 0; j < DOT_LANES; j++)
        sums[j] = to_float(p->t, way, s.w[j]);
    __m512i code = dot_codes(&p->code, false, sums);
    if (dot_has_special(p->t, twice))
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

/* ---- fp32 results, for blocks with an exponent ---- */

/* Returns false, with nothing written, if an element is inf or nan, as do the loops. */
LOOK_INLINE bool floats_of_64(const struct sum_dot_tables *t, float unit,
                              const uint8_t *const *parts, int n_parts, size_t i, size_t n,
                              uint8_t *x)
{
    struct windows s;
    if (dot_has_special(t, dot_windows(t, false, true, parts, n_parts, i, n, &s)))
        return false;
#pragma GCC unroll 4
    for (int j = 0; j < DOT_LANES; j++)
        _mm512_mask_storeu_ps(
            x + 64 * j, (__mmask16)(look_first(n) >> (16 * j)),
            _mm512_mul_ps(_mm512_cvtepi32_ps(dot_low(t, s.w[j])), _mm512_set1_ps(unit)));
    return true;
}

static __attribute__((noinline)) bool floats_in_ieee(const struct sum_dot_tables *t,
                                                     const uint8_t *const *parts, int n_parts,
                                                     size_t n, uint8_t *x)
{
    const float unit = float_of(mf_dec(t->fmt, 1, 0));
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        if (!floats_of_64(t, unit, parts, n_parts, i, 64, x + 4 * i))
            return false;
    return i == n || floats_of_64(t, unit, parts, n_parts, i, n - i, x + 4 * i);
}

static bool sum_to_floats(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                          size_t n, uint8_t *x)
{
    const struct sum_dot_tables *t = sum_dot_tables_of(sum->in);
    if (sum->rule != VEC_EXACT || !t || t->n_windows > 2 || !sum_dot_fits(t, n_parts))
        return false;
    const uint64_t mode = fp_mode_ieee();
    const bool made = floats_in_ieee(t, parts, n_parts, n, x);
    fp_mode_back(mode);
    return made;
}

bool sum_dot_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    struct sum_dot plan;
    if (mf_same(out, mf_fp32()) && shift == 0)
        return sum_to_floats(sum, parts, n_parts, n, codes);
    if (!sum_dot_plan(sum, n_parts, out, shift, &plan))
        return false;
    const uint64_t mode = fp_mode_ieee();
    sum_codes(&plan, parts, n_parts, n, codes);
    fp_mode_back(mode);
    return true;
}
#endif
