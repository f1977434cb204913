/* add_avx512vbmi.c : adds packed codes with VBMI: 8-bit codes by sum_look.h, halves through
 * fp32. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/fp_mode.h"
#include "vec/sum/look_avx512vbmi.h"
#include "vec/sum/sum_x86.h"

struct add {
    const struct sum_look *t;
    bool to_inf;
    struct look_special specials;
};

static __attribute__((noinline)) __m512i with_specials(const struct add *p, __m512i a, __m512i b,
                                                       __m512i code)
{
    return look_specials(&p->specials, a, b, code);
}

/* A sum has the sign of the larger addend; zero has none. */
LOOK_INLINE __m512i finish(const struct add *p, __m512i a, __m512i b, __m512i x, __m512i y,
                           __mmask64 some, __m512i code)
{
    const __m512i larger = _mm512_mask_mov_epi8(a, _mm512_cmplt_epi8_mask(x, y), b);
    code = _mm512_maskz_mov_epi8(some, look_pick(look_bytes(127), code, larger));
    const __m512i most = _mm512_max_epi8(x, y);
    if (__builtin_expect(_mm512_cmpge_epi8_mask(most, look_bytes(p->t->inf)) != 0, 0))
        code = with_specials(p, a, b, code);
    return code;
}

/* If overflows saturate (not to_inf), `code` is the largest value already. */
LOOK_INLINE __m512i overflow(const struct add *p, __m512i number, __m512i code)
{
    const __mmask64 beyond = _mm512_cmpgt_epi8_mask(number, look_bytes(p->t->max));
    return p->to_inf ? _mm512_mask_mov_epi8(code, beyond, look_bytes(p->specials.beyond)) : code;
}

/* m <= 2 */
LOOK_INLINE __m512i add_step(const struct add *p, __m512i a, __m512i b)
{
    const struct sum_look *t = p->t;
    const __m512i x = look(&t->number, a), y = look(&t->number, b);
    const __m512i big = _mm512_max_epi8(x, y), apart = _mm512_sub_epi8(big, _mm512_min_epi8(x, y));
    const __m512i differ = _mm512_srli_epi16(_mm512_xor_si512(a, b), 1); /* bit 6 */
    __m512i index = look_pick(look_bytes(0x30), _mm512_slli_epi16(big, 4), differ);
    index = look_pick(look_bytes(15), apart, index);
    const __mmask64 near = _mm512_cmplt_epu8_mask(apart, look_bytes(LOOK_FAR));
    const __m512i step = _mm512_maskz_permutex2var_epi8(near, _mm512_loadu_si512(t->step.of), index,
                                                        _mm512_loadu_si512(t->step.of + 64));
    const __m512i number = _mm512_adds_epi8(big, step);
    const __mmask64 some = _mm512_cmpge_epi8_mask(number, look_bytes(t->lowest));
    const __m512i code = look(&t->code, _mm512_min_epi8(number, look_bytes(t->max)));
    return finish(p, a, b, x, y, some, overflow(p, number, code));
}

/* Adds codes of m = 3. A sum is zero if w == 0; its number (binade of A - 128) may also be another
 * value's. */
LOOK_INLINE __m512i add_aligned(const struct add *p, __m512i a, __m512i b)
{
    const struct sum_look *t = p->t;
    const __m512i x = look(&t->number, a), y = look(&t->number, b);
    const __m512i big = _mm512_max_epi8(x, y), small = _mm512_min_epi8(x, y);
    const __m512i binade = _mm512_andnot_si512(look_bytes(7), big);
    const __m512i below = _mm512_max_epi8(_mm512_subs_epi8(small, binade), look_bytes(LOOK_FAR_3));
    const __m512i differ = _mm512_srli_epi16(_mm512_xor_si512(a, b), 1); /* bit 6 */
    const __m512i aligned = look(&t->aligned, look_pick(look_bytes(0x3f), below, differ));
    /* 8 * |1mmm| */
    const __m512i sig =
        look_pick(look_bytes(0x38), _mm512_slli_epi16(big, 3), look_bytes(LOOK_SIGNIFICAND << 3));
    const __m512i w = _mm512_add_epi8(sig, aligned);
    const __m512i rounded = _mm512_mask_mov_epi8(look(&t->rounded[0], w), _mm512_movepi8_mask(w),
                                                 look(&t->rounded[1], w));
    const __m512i number = _mm512_adds_epi8(binade, rounded);
    __m512i code = _mm512_min_epi8(number, look_bytes(t->max));
    const __mmask64 low = _mm512_cmplt_epi8_mask(number, look_bytes(LOOK_NORMAL_3));
    code = _mm512_mask_permutexvar_epi8(code, low, _mm512_max_epi8(number, look_bytes(LOOK_LOW_3)),
                                        _mm512_loadu_si512(t->code_low));
    const __mmask64 some = _mm512_test_epi8_mask(w, w);
    code = overflow(p, number, _mm512_maskz_mov_epi8(some, code));
    return finish(p, a, b, x, y, _mm512_mask_test_epi8_mask(some, code, code), code);
}

#define NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* Rounding to fp32 first is harmless (sum_lanes.h). Subnormal sums are exact. */
LOOK_INLINE __m512i add_halves(const struct add *p, __m512i a, __m512i b)
{
    const __m512i all = _mm512_set1_epi16(0x7fff);
    const __m512 low = _mm512_add_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(a)),
                                     _mm512_cvtph_ps(_mm512_castsi512_si256(b)));
    const __m512 high = _mm512_add_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(a, 1)),
                                      _mm512_cvtph_ps(_mm512_extracti64x4_epi64(b, 1)));
    const __m512i sum = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(low, NEAREST)),
                                           _mm512_cvtps_ph(high, NEAREST), 1);
    __m512i mag = _mm512_and_si512(sum, all);
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(mag, _mm512_set1_epi16(0x7c00)),
                    some = _mm512_test_epi16_mask(mag, mag);
    if (!p->to_inf)
        mag = _mm512_min_epi16(mag, _mm512_set1_epi16(0x7bff));
    mag = _mm512_maskz_mov_epi16(some, look_pick(all, mag, sum));
    return _mm512_mask_mov_epi16(mag, nan, all);
}

enum add_way { ADD_STEP, ADD_ALIGNED, ADD_HALVES };

LOOK_INLINE __m512i add_64(const struct add *p, enum add_way way, __m512i a, __m512i b)
{
    return way == ADD_STEP      ? add_step(p, a, b)
           : way == ADD_ALIGNED ? add_aligned(p, a, b)
                                : add_halves(p, a, b);
}

/* Uses several registers to hide the latency of lookups. */
LOOK_INLINE void add_loop(struct add p, enum add_way way, bool to_inf, uint8_t *acc,
                          const uint8_t *codes, size_t bytes)
{
    enum { AHEAD = 4096 };
    size_t i = 0;
    p.to_inf = to_inf;
    for (; i + 128 <= bytes; i += 128) {
        look_ahead(acc + i, AHEAD), look_ahead(acc + i + 64, AHEAD);
        look_ahead(codes + i, AHEAD), look_ahead(codes + i + 64, AHEAD);
        const __m512i a = add_64(&p, way, _mm512_loadu_si512(acc + i),
                                 _mm512_loadu_si512(codes + i)),
                      b = add_64(&p, way, _mm512_loadu_si512(acc + i + 64),
                                 _mm512_loadu_si512(codes + i + 64));
        _mm512_storeu_si512(acc + i, a);
        _mm512_storeu_si512(acc + i + 64, b);
    }
    for (; i < bytes; i += 64) {
        const __mmask64 here = look_first(bytes - i);
        const __m512i a = _mm512_maskz_loadu_epi8(here, acc + i),
                      b = _mm512_maskz_loadu_epi8(here, codes + i);
        _mm512_mask_storeu_epi8(acc + i, here, add_64(&p, way, a, b));
    }
}

/* Constant arguments give each way and overflow its own loop. */
#define ADD_BOTH(way)                                     \
    (p.to_inf ? add_loop(p, way, true, acc, codes, bytes) \
              : add_loop(p, way, false, acc, codes, bytes))
static __attribute__((noinline)) void add_bytes(struct add p, uint8_t *acc, const uint8_t *codes,
                                                size_t bytes)
{
    if (!p.t)
        ADD_BOTH(ADD_HALVES);
    else if (p.t->fmt.m == 3)
        ADD_BOTH(ADD_ALIGNED);
    else
        ADD_BOTH(ADD_STEP);
}
#undef ADD_BOTH

bool add_avx512vbmi(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    const struct sum_look *t = sum_look_of(sum->in);
    if (sum->rule != VEC_NEAREST || !(t || mf_same(sum->in, mf_half())))
        return false;
    const bool to_inf = sum->overflow == MF_INF;
    const struct add p = {t, to_inf, look_special(sum)};
    const uint64_t mode = fp_mode_ieee();
    add_bytes(p, acc, codes, vec_bytes(sum->in, n));
    fp_mode_back(mode);
    return true;
}
#endif
