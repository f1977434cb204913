/* sum_to_wide_avx512vbmi.c : sums codes to wide words with VBMI.
 *
 * A sum fits a lane of 32 or 64 bits with 7 bits to spare. It is shifted left to its first bit
 * within a byte; two permutations then move the bytes of all lanes to their places. Neighbours may
 * share a byte, so one permutation moves words with even numbers, the other those with odd ones.
 *
 * At the first inf or nan the vector is left to AVX2's loops. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_dot_avx512vbmi.h"
#include "vec/sum/sum_nibble_avx512vbmi.h"
#include "vec/sum/sum_vbmi.h"
#include "vec/sum/sum_wide_vbmi.h"
#include "vec/sum/sum_x86.h"

/* words of a register */
enum { SHORTS = 512 / WIDE_SHORT, LONGS = 512 / WIDE_LONG };

/* Places of a register's words. */
struct places {
    size_t bits;
    uint8_t from_even[64], from_odd[64]; /* indices of permutations */
    __mmask64 even, odd;                 /* bytes that the words take */
    __m512i first;                       /* in each lane: the word's first bit in its byte */
    __m512i all;                         /* mask of a word */
};

/* lane: bits of a lane */
static struct places places_of(int bits, int lane)
{
    const int bytes = lane / 8;
    struct places p = {.bits = (size_t)bits, .all = wide_lanes(lane, (1ull << bits) - 1)};
    uint8_t first[64] = {0};
    for (int i = 0; i < 512 / lane; i++) {
        const int from = i * bits / 8, last = (i * bits + bits - 1) / 8;
        for (int o = from; o <= last; o++) {
            (i % 2 ? p.from_odd : p.from_even)[o] = (uint8_t)(i * bytes + o - from);
            *(i % 2 ? &p.odd : &p.even) |= 1ull << o;
        }
        first[i * bytes] = (uint8_t)(i * bits % 8);
    }
    p.first = _mm512_loadu_si512(first);
    return p;
}

LOOK_INLINE void put_words(const struct places *p, int lane, __m512i words, uint8_t *to,
                           __mmask64 in)
{
    const __m512i w = _mm512_and_si512(words, p->all);
    const __m512i x =
        lane == WIDE_LONG ? _mm512_sllv_epi64(w, p->first) : _mm512_sllv_epi32(w, p->first);
    const __m512i even =
        _mm512_maskz_permutexvar_epi8(p->even, _mm512_loadu_si512(p->from_even), x);
    const __m512i odd = _mm512_maskz_permutexvar_epi8(p->odd, _mm512_loadu_si512(p->from_odd), x);
    _mm512_mask_storeu_epi8(to, in, _mm512_or_si512(even, odd));
}

LOOK_INLINE __m512i half(__m512i x, int which)
{
    return _mm512_cvtepi32_epi64(which ? _mm512_extracti64x4_epi64(x, 1)
                                       : _mm512_castsi512_si256(x));
}

/* Returns false, with nothing written, if an element is inf or nan, as do the loops. */
LOOK_INLINE bool dot_to_words(const struct sum_dot_tables *t, const struct places *p, bool three,
                              const uint8_t *const *parts, int n_parts, size_t i, size_t n,
                              uint8_t *wide)
{
    struct windows s;
    const __m512i twice = dot_windows(t, three, true, parts, n_parts, i, n, &s);
    uint8_t *to = wide + i / 8 * p->bits;
    if (dot_has_special(t, twice))
        return false;
#pragma GCC unroll 4
    for (int j = 0; j < DOT_LANES; j++) {
        const __m512i low = dot_low(t, s.w[j]);
        if (!three) {
            put_words(p, WIDE_SHORT, low, to + 2 * (size_t)j * p->bits,
                      wide_bytes_of(p->bits, 16 * (size_t)j, SHORTS, n));
            continue;
        }
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            const size_t at = 16 * (size_t)j + 8 * (size_t)h;
            const __m512i high =
                _mm512_sllv_epi64(half(s.w[j][2], h), _mm512_set1_epi64(t->start[2]));
            put_words(p, WIDE_LONG, _mm512_add_epi64(half(low, h), high), to + at / 8 * p->bits,
                      wide_bytes_of(p->bits, at, LONGS, n));
        }
    }
    return true;
}

LOOK_INLINE bool dot_loop(const struct vec_sum *sum, const struct sum_dot_tables *t, bool three,
                          const uint8_t *const *parts, int n_parts, size_t n, uint8_t *wide)
{
    const struct places p =
        places_of(mf_wide_bits(sum->in, (unsigned)sum->n_ranks), three ? WIDE_LONG : WIDE_SHORT);
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        if (!dot_to_words(t, &p, three, parts, n_parts, i, 64, wide))
            return false;
    return i == n || dot_to_words(t, &p, three, parts, n_parts, i, n - i, wide);
}

/* p: places of pairs of words. */
LOOK_INLINE bool nibbles_to_words(const struct sum_nibble *t, const struct places *p,
                                  const uint8_t *const *parts, int n_parts, size_t i, size_t n,
                                  uint8_t *wide)
{
    const size_t bits = p->bits / 2;
    const struct nibble_sums s =
        nibble_sums(t, t->together, in_order, parts, n_parts, i / 2, (n + 1) / 2);
    uint8_t *to = wide + i / 8 * bits;
    if (nibble_has_special(s.least))
        return false;
    const __m512i all = _mm512_set1_epi16((short)((1 << bits) - 1)),
                  by = _mm512_set1_epi32(1 | 1 << (16 + (int)bits));
    __m512i pairs[2][2]; /* of even and odd bytes, in two halves */
    for (int h = 0; h < 2; h++) {
        const __m512i a = _mm512_and_si512(h ? s.odd[0] : s.even[0], all),
                      b = _mm512_and_si512(h ? s.odd[1] : s.even[1], all);
        pairs[h][0] = _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), by);
        pairs[h][1] = _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), by);
    }
    for (int j = 0; j < 4; j++) {
        const __m512i a = pairs[0][j / 2], b = pairs[1][j / 2];
        const size_t at = 32 * (size_t)j;
        put_words(p, WIDE_SHORT, j % 2 ? _mm512_unpackhi_epi32(a, b) : _mm512_unpacklo_epi32(a, b),
                  to + at / 8 * bits, wide_bytes_of(bits, at, 2 * SHORTS, n));
    }
    return true;
}

LOOK_INLINE bool nibble_loop(const struct vec_sum *sum, const struct sum_nibble *t,
                             const uint8_t *const *parts, int n_parts, size_t n, uint8_t *wide)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    const struct places p = places_of(2 * bits, WIDE_SHORT);
    const size_t n_bits = n * (size_t)bits;
    size_t i = 0;
    for (; i + 128 <= n; i += 128)
        if (!nibbles_to_words(t, &p, parts, n_parts, i, 128, wide))
            return false;
    if (i < n && !nibbles_to_words(t, &p, parts, n_parts, i, n - i, wide))
        return false;
    if (n_bits % 8) /* of the nibble after the last code */
        wide[n_bits / 8] &= (uint8_t)((1u << n_bits % 8) - 1);
    return true;
}

bool sum_to_wide_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                            size_t n, uint8_t *wide)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    const struct sum_nibble *nibble = sum_nibble_of(sum->in, sum->overflow);
    if (sum->rule != VEC_EXACT)
        return false;
    const struct sum_dot_tables *t = sum_dot_tables_of(sum->in);
    bool made = false;
    if (nibble && n_parts <= NIBBLE_RANKS && 2 * bits <= WIDE_SHORT_MAX)
        made = nibble_loop(sum, nibble, parts, n_parts, n, wide);
    else if (t && t->n_windows == 2 && sum_dot_fits(t, n_parts) && bits <= WIDE_SHORT_MAX)
        made = dot_loop(sum, t, false, parts, n_parts, n, wide);
    else if (t && t->n_windows == 3 && sum_dot_fits(t, n_parts) && bits <= WIDE_LONG_MAX)
        made = dot_loop(sum, t, true, parts, n_parts, n, wide);
    return made || sum_to_wide_avx2(sum, parts, n_parts, n, wide);
}
#endif
