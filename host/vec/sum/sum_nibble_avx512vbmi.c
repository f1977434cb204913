/* sum_nibble_avx512vbmi.c : sums 4-bit codes exactly, and adds them, with VBMI, 128 elements in
 * registers. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_nibble_avx512vbmi.h"
#include "vec/sum/sum_x86.h"

LOOK_INLINE __m512i join_halves(const __m512i code[HALVES])
{
    return look_pick(look_bytes(15), code[0], _mm512_slli_epi16(code[1], 4));
}

static __attribute__((noinline)) __m512i with_specials(const struct sum_nibble *t,
                                                       const uint8_t *const *parts, int n_parts,
                                                       size_t i, size_t n, __m512i code)
{
    __m512i seen[HALVES] = {_mm512_setzero_si512(), _mm512_setzero_si512()}, mask[HALVES];
    for (int r = 0; r < n_parts; r++) {
        const __m512i bytes = _mm512_maskz_loadu_epi8(look_first(n), parts[r] + i);
        for (int h = 0; h < HALVES; h++)
            seen[h] = _mm512_or_si512(seen[h], look_64(t->seen, half_of(bytes, h)));
    }
    for (int h = 0; h < HALVES; h++) {
        mask[h] = _mm512_movm_epi8(_mm512_test_epi8_mask(seen[h], seen[h]));
        seen[h] = look_64(t->special, seen[h]);
    }
    return look_pick(join_halves(mask), join_halves(seen), code);
}

LOOK_INLINE __m512i cut(__m512i sum)
{
    return _mm512_max_epi16(_mm512_min_epi16(sum, _mm512_set1_epi16(NIBBLE_MAX)),
                            _mm512_set1_epi16(NIBBLE_LEAST));
}

/* sums: in seven bits. least: the smallest value of a code in each byte. */
LOOK_INLINE void store_64(const struct sum_nibble *t, const __m512i sums[HALVES], __m512i least,
                          const uint8_t *const *parts, int n_parts, size_t i, size_t n,
                          uint8_t *codes)
{
    const __m512i code[HALVES] = {look(&t->code, sums[0]), look(&t->code, sums[1])};
    __m512i all = join_halves(code);
    if (nibble_has_special(least))
        all = with_specials(t, parts, n_parts, i, n, all);
    _mm512_mask_storeu_epi8(codes + i, look_first(n), all);
}

LOOK_INLINE void add_64(const struct sum_nibble *t, const uint8_t *const parts[2], size_t i,
                        size_t n, uint8_t *codes)
{
    enum { ADD_AHEAD = 4096 };
    __m512i in[2], sums[HALVES], least = _mm512_setzero_si512();
    for (int q = 0; q < 2; q++) {
        look_ahead(parts[q] + i, ADD_AHEAD);
        in[q] = _mm512_maskz_loadu_epi8(look_first(n), parts[q] + i);
    }
    for (int h = 0; h < HALVES; h++) {
        const __m512i a = look_64(t->value, half_of(in[0], h)),
                      b = look_64(t->value, half_of(in[1], h));
        sums[h] = _mm512_min_epi8(_mm512_add_epi8(a, b), look_bytes(NIBBLE_MAX));
        least = _mm512_min_epi8(least, _mm512_min_epi8(a, b));
    }
    store_64(t, sums, least, parts, 2, i, n, codes);
}

LOOK_INLINE void sum_64(const struct sum_nibble *t, int together, const uint8_t *const *parts,
                        int n_parts, size_t i, size_t n, uint8_t *codes)
{
    const struct nibble_sums s = nibble_sums(t, together, NULL, parts, n_parts, i, n);
    __m512i sums[HALVES];
    for (int h = 0; h < HALVES; h++)
        sums[h] =
            look_pick(_mm512_set1_epi16(255), cut(s.even[h]), _mm512_slli_epi16(cut(s.odd[h]), 8));
    store_64(t, sums, s.least, parts, n_parts, i, n, codes);
}

LOOK_INLINE void sum_loop(const struct sum_nibble *t, int together, const uint8_t *const *parts,
                          int n_parts, size_t bytes, uint8_t *codes)
{
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64)
        sum_64(t, together, parts, n_parts, i, 64, codes);
    if (i < bytes)
        sum_64(t, together, parts, n_parts, i, bytes - i, codes);
}

bool sum_nibble_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                           size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    const struct sum_nibble *t = sum_nibble_plan(sum, n_parts, out, shift);
    if (!t)
        return false;
    if (n_parts == 8 && t->together == 3) /* e3m0 */
        sum_loop(t, 3, parts, 8, (n + 1) / 2, codes);
    else
        sum_loop(t, t->together, parts, n_parts, (n + 1) / 2, codes);
    if (n % 2)
        codes[n / 2] &= 15;
    return true;
}

bool add_nibble_avx512vbmi(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    const struct sum_nibble *t = sum_nibble_of(sum->in, sum->overflow);
    if (sum->rule != VEC_NEAREST || !t)
        return false;
    const uint8_t *const parts[2] = {acc, codes};
    const size_t bytes = (n + 1) / 2;
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64)
        add_64(t, parts, i, 64, acc);
    if (i < bytes)
        add_64(t, parts, i, bytes - i, acc);
    if (n % 2)
        acc[n / 2] &= 15;
    return true;
}
#endif
