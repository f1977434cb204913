/* look_avx512vbmi.h : looks up 64 bytes at once in tables of 128 entries, for the sums with
 * VBMI. */
#ifndef LOOK_AVX512VBMI_H
#define LOOK_AVX512VBMI_H
#include <immintrin.h>
#include <stddef.h>
#include "vec/sum/sum_look.h"
#include "vec/vec.h"

#define LOOK_INLINE static inline __attribute__((always_inline))

/* Look up the low seven bits of each byte. */
LOOK_INLINE __m512i look(const struct look *t, __m512i index)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(t->of), index,
                                    _mm512_loadu_si512(t->of + 64));
}

/* Look up the low six bits of each byte. */
LOOK_INLINE __m512i look_64(const uint8_t table[64], __m512i index)
{
    return _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table));
}

LOOK_INLINE __m512i look_bytes(int x)
{
    return _mm512_set1_epi8((char)x);
}

/* Choose which ? a : b, bit by bit. */
LOOK_INLINE __m512i look_pick(__m512i which, __m512i a, __m512i b)
{
    return _mm512_ternarylogic_epi32(which, a, b, 0xca);
}

/* Mask the first n of 64 bytes. */
LOOK_INLINE __mmask64 look_first(size_t n)
{
    return n < 64 ? (1ull << n) - 1 : ~0ull;
}

/* p + bytes need not exist */
LOOK_INLINE void look_ahead(const void *p, size_t bytes)
{
    _mm_prefetch((const char *)((uintptr_t)p + bytes), _MM_HINT_T0);
}

/* ---- sums with inf and nan ---- */

/* Magnitudes: the first that is not a number, the last that is not nan, of nan, of overflows. */
struct look_special {
    int first, last, nan, beyond;
};

static inline struct look_special look_special(const struct vec_sum *sum)
{
    const struct mf_fmt f = sum->in;
    const bool trunc = sum->rule == VEC_TRUNC;
    const bool saturate = trunc || sum->overflow == MF_SATURATE;
    return (struct look_special){.first = (int)mf_special(f),
                                 .last = (int)mf_last_not_nan(f),
                                 .nan = (int)mf_nan(f) - trunc, /* trunc's own nan */
                                 .beyond = (int)(saturate ? mf_max(f) : mf_inf(f))};
}

/* Return `code`, the sum of 8-bit codes a and b, corrected where one of them is inf or nan. */
LOOK_INLINE __m512i look_specials(const struct look_special *s, __m512i a, __m512i b, __m512i code)
{
    const __m512i all = look_bytes(127), first = look_bytes(s->first), last = look_bytes(s->last);
    const __m512i x = _mm512_and_si512(a, all), y = _mm512_and_si512(b, all);
    const __mmask64 x_special = _mm512_cmpge_epi8_mask(x, first),
                    y_special = _mm512_cmpge_epi8_mask(y, first);
    const __mmask64 clash = x_special & y_special & _mm512_movepi8_mask(_mm512_xor_si512(a, b));
    const __mmask64 nan = _mm512_cmpgt_epi8_mask(x, last) | _mm512_cmpgt_epi8_mask(y, last) | clash;
    const __m512i sign_of = _mm512_mask_mov_epi8(b, x_special, a);
    code = _mm512_mask_mov_epi8(code, x_special | y_special,
                                look_pick(all, look_bytes(s->beyond), sign_of));
    return _mm512_mask_mov_epi8(code, nan, look_bytes(s->nan));
}

#endif
