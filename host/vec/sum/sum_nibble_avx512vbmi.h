/* sum_nibble_avx512vbmi.h : adds 4-bit codes exactly (sum_nibble.h) with VBMI, 128 elements in
 * registers. */
#ifndef SUM_NIBBLE_AVX512VBMI_H
#define SUM_NIBBLE_AVX512VBMI_H
#include "vec/sum/look_avx512vbmi.h"
#include "vec/sum/sum_nibble.h"

/* bytes of prefetching; low and high nibbles */
enum { NIBBLE_AHEAD = 512, HALVES = 2 };

/* 128 sums of 16 bits: of the low (0) and high (1) nibbles of even and odd bytes */
struct nibble_sums {
    __m512i even[HALVES], odd[HALVES];
    __m512i least; /* the smallest value of a code in each byte */
};

/* half 0: low nibbles, half 1: high ones; bits above a code are undefined */
LOOK_INLINE __m512i half_of(__m512i bytes, int half)
{
    return half ? _mm512_srli_epi16(bytes, 4) : bytes;
}

/* sum: up to `together` ranks, in bytes; even, odd: 16 bits per element */
LOOK_INLINE void widen(__m512i sum, __m512i *even, __m512i *odd)
{
    *even = _mm512_add_epi16(*even, _mm512_srai_epi16(_mm512_slli_epi16(sum, 8), 8));
    *odd = _mm512_add_epi16(*odd, _mm512_srai_epi16(sum, 8));
}

/* Adds the codes of n bytes of all parts, at most 64, from byte i on. together: of t. order: gives
 * the place of each byte. */
LOOK_INLINE struct nibble_sums nibble_sums(const struct sum_nibble *t, int together,
                                           __m512i (*order)(__m512i), const uint8_t *const *parts,
                                           int n_parts, size_t i, size_t n)
{
    const __m512i zero = _mm512_setzero_si512();
    struct nibble_sums s = {{zero, zero}, {zero, zero}, zero};
    for (int r = 0; r < n_parts; r += together) {
        __m512i low = zero, high = zero;
        for (int q = r; q < r + together && q < n_parts; q++) {
            look_ahead(parts[q] + i, NIBBLE_AHEAD);
            __m512i bytes = _mm512_maskz_loadu_epi8(look_first(n), parts[q] + i);
            if (order)
                bytes = order(bytes);
            const __m512i a = look_64(t->value, bytes), b = look_64(t->value, half_of(bytes, 1));
            low = _mm512_add_epi8(low, a);
            high = _mm512_add_epi8(high, b);
            s.least = _mm512_min_epi8(s.least, _mm512_min_epi8(a, b));
        }
        widen(low, &s.even[0], &s.odd[0]);
        widen(high, &s.even[1], &s.odd[1]);
    }
    return s;
}

LOOK_INLINE bool nibble_has_special(__m512i least)
{
    return __builtin_expect(_mm512_cmpeq_epi8_mask(least, look_bytes(NIBBLE_NONE)) != 0, 0);
}

#endif
