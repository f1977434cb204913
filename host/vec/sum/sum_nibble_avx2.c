/* sum_nibble_avx2.c : sums 4-bit codes exactly, and adds them, with AVX2 (sum_nibble.h), 64
 * elements in registers. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_nibble.h"
#include "vec/sum/sum_x86.h"
#include <string.h>

#define NIBBLE_INLINE static inline __attribute__((always_inline))

enum { BYTES = 32, AHEAD = 1024, HALVES = 2 };

NIBBLE_INLINE __m256i bytes(int x)
{
    return _mm256_set1_epi8((char)x);
}

/* half 0: low nibbles, half 1: high ones */
NIBBLE_INLINE __m256i half_of(__m256i codes, int half)
{
    return _mm256_and_si256(half ? _mm256_srli_epi16(codes, 4) : codes, bytes(15));
}

/* n: bytes, with zeros from n on */
NIBBLE_INLINE __m256i load(const uint8_t *codes, size_t n)
{
    uint8_t rest[BYTES] = {0};
    if (n < BYTES)
        codes = memcpy(rest, codes, n);
    return _mm256_loadu_si256((const __m256i *)codes);
}

/* Returns the codes of sums, limited to NIBBLE_MAX, in one half of each byte. Sums never round to
 * zero. */
NIBBLE_INLINE __m256i to_codes(const struct sum_nibble *t, __m256i sum, int half)
{
    const __m256i at = _mm256_min_epu8(_mm256_abs_epi8(sum), bytes(NIBBLE_MAX));
    const __m256i bit_4 = _mm256_slli_epi16(at, 3), bit_5 = _mm256_slli_epi16(at, 2); /* in bit 7 */
    const uint8_t *code = t->code.of;
    const __m256i low =
        _mm256_blendv_epi8(look_up_avx2(code, at), look_up_avx2(code + 16, at), bit_4);
    const __m256i high =
        _mm256_blendv_epi8(look_up_avx2(code + 32, at), look_up_avx2(code + 48, at), bit_4);
    const __m256i mag = _mm256_blendv_epi8(low, high, bit_5);
    if (half)
        return _mm256_or_si256(_mm256_slli_epi16(mag, 4), _mm256_and_si256(sum, bytes(0x80)));
    return _mm256_or_si256(mag, _mm256_and_si256(_mm256_srli_epi16(sum, 4), bytes(8)));
}

static __attribute__((noinline)) __m256i with_specials(const struct sum_nibble *t,
                                                       const uint8_t *const *parts, int n_parts,
                                                       size_t i, size_t n, __m256i code)
{
    __m256i seen[HALVES] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, none[HALVES];
    for (int r = 0; r < n_parts; r++)
        for (int h = 0; h < HALVES; h++)
            seen[h] =
                _mm256_or_si256(seen[h], look_up_avx2(t->seen, half_of(load(parts[r] + i, n), h)));
    for (int h = 0; h < HALVES; h++) {
        none[h] = _mm256_cmpeq_epi8(seen[h], _mm256_setzero_si256());
        seen[h] = look_up_avx2(t->special, seen[h]);
    }
    const __m256i numbers = _mm256_or_si256(_mm256_and_si256(none[0], bytes(15)),
                                            _mm256_and_si256(none[1], bytes(0xf0)));
    const __m256i specials = _mm256_or_si256(seen[0], _mm256_slli_epi16(seen[1], 4));
    return _mm256_or_si256(_mm256_and_si256(numbers, code), _mm256_andnot_si256(numbers, specials));
}

/* sum: up to `together` ranks, in bytes; even, odd: 16 bits per element */
NIBBLE_INLINE void widen(__m256i sum, __m256i *even, __m256i *odd)
{
    *even = _mm256_add_epi16(*even, _mm256_srai_epi16(_mm256_slli_epi16(sum, 8), 8));
    *odd = _mm256_add_epi16(*odd, _mm256_srai_epi16(sum, 8));
}

/* Sums of 16 bits, limited to seven, in bytes. */
NIBBLE_INLINE __m256i narrow(__m256i even, __m256i odd)
{
    const __m256i most = _mm256_set1_epi16(NIBBLE_MAX), least = _mm256_set1_epi16(-NIBBLE_MAX);
    even = _mm256_max_epi16(_mm256_min_epi16(even, most), least);
    odd = _mm256_max_epi16(_mm256_min_epi16(odd, most), least);
    return _mm256_blendv_epi8(_mm256_slli_epi16(odd, 8), even, _mm256_set1_epi16(255));
}

/* Sums n bytes of all parts, at most 32, from byte i on. */
NIBBLE_INLINE void sum_64(const struct sum_nibble *t, int together, const uint8_t *const *parts,
                          int n_parts, size_t i, size_t n, uint8_t *codes)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i even[HALVES] = {zero, zero}, odd[HALVES] = {zero, zero}, sums[HALVES], least = zero;
    for (int r = 0; r < n_parts; r += together) {
        sums[0] = sums[1] = zero;
        for (int q = r; q < r + together && q < n_parts; q++) {
            _mm_prefetch((const char *)((uintptr_t)(parts[q] + i) + AHEAD), _MM_HINT_T0);
            const __m256i in = load(parts[q] + i, n);
            for (int h = 0; h < HALVES; h++) {
                const __m256i value = look_up_avx2(t->value, half_of(in, h));
                sums[h] = _mm256_add_epi8(sums[h], value);
                least = _mm256_min_epi8(least, value);
            }
        }
        for (int h = 0; h < HALVES && n_parts > together; h++)
            widen(sums[h], &even[h], &odd[h]);
    }
    for (int h = 0; h < HALVES && n_parts > together; h++)
        sums[h] = narrow(even[h], odd[h]);
    __m256i code = _mm256_or_si256(to_codes(t, sums[0], 0), to_codes(t, sums[1], 1));
    const __m256i none = _mm256_cmpeq_epi8(least, bytes(NIBBLE_NONE));
    if (__builtin_expect(!_mm256_testz_si256(none, none), 0))
        code = with_specials(t, parts, n_parts, i, n, code);
    if (n == BYTES)
        _mm256_storeu_si256((__m256i *)(codes + i), code);
    else
        memcpy(codes + i, &code, n);
}

NIBBLE_INLINE void sum_loop(const struct sum_nibble *t, int together, const uint8_t *const *parts,
                            int n_parts, size_t n, uint8_t *codes)
{
    const size_t all = (n + 1) / 2;
    size_t i = 0;
    for (; i + BYTES <= all; i += BYTES)
        sum_64(t, together, parts, n_parts, i, BYTES, codes);
    if (i < all)
        sum_64(t, together, parts, n_parts, i, all - i, codes);
    if (n % 2)
        codes[n / 2] &= 15;
}

bool sum_nibble_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes)
{
    const struct sum_nibble *t = sum_nibble_plan(sum, n_parts, out, shift);
    if (!t)
        return false;
    if (n_parts == 8 && t->together == 3) /* e3m0 */
        sum_loop(t, 3, parts, 8, n, codes);
    else
        sum_loop(t, t->together, parts, n_parts, n, codes);
    return true;
}

bool add_nibble_avx2(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    const struct sum_nibble *t = sum_nibble_of(sum->in, sum->overflow);
    if (sum->rule != VEC_NEAREST || !t)
        return false;
    sum_loop(t, 2, (const uint8_t *const[]){acc, codes}, 2, n, acc);
    return true;
}
#endif
