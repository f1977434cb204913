/* sum_wide_avx512vbmi.c : sums codes to wide words, and wide words to codes, with VBMI.
 *
 * At the first inf or nan a vector is left to AVX2's loops. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/fp_mode.h"
#include "vec/sum/sum_dot_avx512vbmi.h"
#include "vec/sum/sum_nibble_avx512vbmi.h"
#include "vec/sum/sum_x86.h"

/* Bits of a lane, and of the longest word that it can hold at any bit of its first byte. */
enum { WIDE_SHORT = 32, WIDE_LONG = 64, WIDE_SHORT_MAX = 25, WIDE_LONG_MAX = 57 };

/* lane: 16, 32 or 64 bits */
LOOK_INLINE __m512i wide_lanes(int lane, uint64_t x)
{
    return lane == 16   ? _mm512_set1_epi16((short)x)
           : lane == 32 ? _mm512_set1_epi32((int)x)
                        : _mm512_set1_epi64((long long)x);
}

/* Masks the bytes of words [at, at + most) of n. */
LOOK_INLINE __mmask64 wide_bytes_of(size_t bits, size_t at, size_t most, size_t n)
{
    const size_t k = n <= at ? 0 : n - at < most ? n - at : most;
    return look_first((k * bits + 7) / 8);
}

/* ---- codes to words ----
 *
 * A sum fits a lane of 32 or 64 bits with 7 bits to spare. It is shifted left to its first bit
 * within a byte; two permutations then move the bytes of all lanes to their places. Neighbours may
 * share a byte, so one permutation moves words with even numbers, the other those with odd ones. */

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

/* ---- words to codes ----
 *
 * A permutation of bytes brings each word into a lane of its own. There it is shifted to the
 * highest bits, and arithmetically back:
 *
 *     tiny     16 bits  words of up to 14 bits, and sums of 16; vpmultishiftqb shifts them, as they
 *                       may begin in another lane of their 64 bits
 *     short    32       up to 25 bits
 *     long     64       up to 57
 *
 * The sum becomes an fp32, rounded to odd (sum_exact.h), and that a code. */

enum { TINY = 16, TINY_MAX = 14 };

/* lane: bits of a lane, a constant */
struct of_wide {
    struct mf_fmt out;
    int lane;
    size_t bits;
    bool nibbles; /* width of `out` */
    struct enc_plan code;
    uint8_t from[64];    /* index of each lane's bytes */
    __m512i left, right; /* shifts to and from the highest bits */
    /* Subtract +inf from a word in the highest bits: inf and nan become the first three. */
    __m512i inf, three;
};

static void set_places(struct of_wide *w)
{
    const int lane = w->lane, bits = (int)w->bits, bytes = lane / 8;
    uint8_t left[64] = {0};
    for (int i = 0; i < 512 / lane; i++) {
        /* tiny: four words are brought together, to 64 bits */
        const int at = i * bits, brought = lane == TINY ? i / 4 * 4 * bits : at;
        for (int o = 0; o < bytes; o++)
            w->from[i * bytes + o] =
                (uint8_t)(brought / 8 + (lane == TINY ? i % 4 * bytes : 0) + o);
        const int first = at - brought / 8 * 8;
        left[i * bytes] = (uint8_t)(lane == TINY ? (first + bits - 16) & 63 : lane - bits - first);
        if (lane == TINY) /* first bits of both bytes */
            left[i * bytes + 1] = (uint8_t)((first + bits - 8) & 63);
    }
    w->left = _mm512_loadu_si512(left);
    w->right = wide_lanes(lane, (uint64_t)(lane - bits));
    w->inf = wide_lanes(lane, (1ull << (lane - 1)) + (1ull << (lane - bits)));
    w->three = wide_lanes(lane, 3ull << (lane - bits));
}

/* Adds a register of words to *sums. *least: the smallest of the differences word - inf. */
LOOK_INLINE void add_words(const struct of_wide *w, int lane, const uint8_t *from, __mmask64 in,
                           __m512i *sums, __m512i *least)
{
    look_ahead(from, DOT_AHEAD);
    const __m512i bytes =
        _mm512_permutexvar_epi8(_mm512_loadu_si512(w->from), _mm512_maskz_loadu_epi8(in, from));
    /* Below the word's last bit are bits of the word before. */
    if (lane == TINY) {
        const __m512i high = _mm512_multishift_epi64_epi8(w->left, bytes);
        *least = _mm512_min_epu16(*least, _mm512_add_epi16(high, w->inf));
        *sums = _mm512_add_epi16(*sums, _mm512_srav_epi16(high, w->right));
    } else if (lane == WIDE_SHORT) {
        const __m512i high = _mm512_sllv_epi32(bytes, w->left);
        *least = _mm512_min_epu32(*least, _mm512_add_epi32(high, w->inf));
        *sums = _mm512_add_epi32(*sums, _mm512_srav_epi32(high, w->right));
    } else {
        const __m512i high = _mm512_sllv_epi64(bytes, w->left);
        *least = _mm512_min_epu64(*least, _mm512_add_epi64(high, w->inf));
        *sums = _mm512_add_epi64(*sums, _mm512_srav_epi64(high, w->right));
    }
}

LOOK_INLINE bool has_special(const struct of_wide *w, int lane, __m512i least)
{
    const __mmask32 special = lane == TINY         ? _mm512_cmplt_epu16_mask(least, w->three)
                              : lane == WIDE_SHORT ? _mm512_cmplt_epu32_mask(least, w->three)
                                                   : _mm512_cmplt_epu64_mask(least, w->three);
    return __builtin_expect(special != 0, 0);
}

/* sums 16j to 16j + 15 as fp32 bits */
LOOK_INLINE __m512i to_float(int lane, const __m512i *sums, int j)
{
    if (lane == TINY) {
        const __m512i s = sums[j / 2];
        const __m256i half = j % 2 ? _mm512_extracti64x4_epi64(s, 1) : _mm512_castsi512_si256(s);
        return _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(half)));
    }
    if (lane == WIDE_SHORT)
        return odd_of(_mm512_cvt_roundepi32_ps(sums[j], DOT_DOWN),
                      _mm512_cvt_roundepi32_ps(sums[j], DOT_UP));
    const __m512i a = sums[2 * j], b = sums[2 * j + 1];
    const __m512 down = _mm512_castps256_ps512(_mm512_cvt_roundepi64_ps(a, DOT_DOWN)),
                 up = _mm512_castps256_ps512(_mm512_cvt_roundepi64_ps(a, DOT_UP));
    return odd_of(_mm512_insertf32x8(down, _mm512_cvt_roundepi64_ps(b, DOT_DOWN), 1),
                  _mm512_insertf32x8(up, _mm512_cvt_roundepi64_ps(b, DOT_UP), 1));
}

/* Returns false, with nothing written, if a word is inf or nan, as do the loops. */
LOOK_INLINE bool sum_64(const struct of_wide *w, int lane, const uint8_t *const *wides, int n_parts,
                        size_t i, size_t n, uint8_t *codes)
{
    enum { REGISTERS = 64 * WIDE_LONG / 512 };
    const size_t words = 512 / (size_t)lane, first = i / 8 * w->bits;
    __m512i sums[REGISTERS], odd[DOT_LANES], least = _mm512_set1_epi8(-1);
#pragma GCC unroll 8
    for (int j = 0; j < REGISTERS; j++)
        sums[j] = _mm512_setzero_si512();
    for (int r = 0; r < n_parts; r++) {
#pragma GCC unroll 8
        for (size_t j = 0; j < REGISTERS; j++)
            if (j * words < 64)
                add_words(w, lane, wides[r] + first + j * words / 8 * w->bits,
                          wide_bytes_of(w->bits, j * words, words, n), &sums[j], &least);
    }
    uint8_t *to = codes + i * mf_width(w->out) / 8;
    if (has_special(w, lane, least))
        return false;
#pragma GCC unroll 4
    for (int j = 0; j < DOT_LANES; j++)
        odd[j] = to_float(lane, sums, j);
    const __m512i code = in_order(dot_codes(&w->code, w->nibbles, odd));
    if (w->nibbles) {
        const __m512i low = _mm512_and_si512(code, look_bytes(15)), by = _mm512_set1_epi16(0x1001);
        _mm256_mask_storeu_epi8(to, (__mmask32)look_first((n + 1) / 2),
                                _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(low, by)));
    } else {
        _mm512_mask_storeu_epi8(to, look_first(n), code);
    }
    return true;
}

LOOK_INLINE bool sum_loop(const struct of_wide *w, int lane, const uint8_t *const *wides,
                          int n_parts, size_t n, uint8_t *codes)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        if (!sum_64(w, lane, wides, n_parts, i, 64, codes))
            return false;
    return i == n || sum_64(w, lane, wides, n_parts, i, n - i, codes);
}

static __attribute__((noinline)) bool of_wide_in_ieee(const struct of_wide *w,
                                                      const uint8_t *const *wides, int n_parts,
                                                      size_t n, uint8_t *codes)
{
    return w->lane == TINY         ? sum_loop(w, TINY, wides, n_parts, n, codes)
           : w->lane == WIDE_SHORT ? sum_loop(w, WIDE_SHORT, wides, n_parts, n, codes)
                                   : sum_loop(w, WIDE_LONG, wides, n_parts, n, codes);
}

/* Sums are smaller than n_parts * 2^(bits - 1), which must be at most 2^(lane - 1). */
static int lane_of(int bits, int n_parts)
{
    if (bits <= TINY_MAX && n_parts <= 1 << (TINY - bits))
        return TINY;
    return bits <= WIDE_SHORT_MAX && n_parts <= 1 << (WIDE_SHORT - WIDE_SHORT_MAX) ? WIDE_SHORT
                                                                                   : WIDE_LONG;
}

bool sum_of_wide_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts,
                            size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    const int bits = mf_wide_bits(sum->in, (unsigned)sum->n_ranks);
    const unsigned width = mf_width(out);
    struct of_wide w = {.out = out,
                        .lane = lane_of(bits, n_parts),
                        .bits = (size_t)bits,
                        .nibbles = width == 4,
                        .code = enc_plan_make(out, MF_NEAREST, sum->overflow,
                                              1 - mf_bias(sum->in) - (int)sum->in.m - shift)};
    bool made = false;
    if (sum->rule == VEC_EXACT && (width == 4 || width == 8) && w.code.way == ENC_ADD &&
        bits <= WIDE_LONG_MAX) {
        set_places(&w);
        const uint64_t mode = fp_mode_ieee();
        made = of_wide_in_ieee(&w, wides, n_parts, n, codes);
        fp_mode_back(mode);
    }
    return made || sum_of_wide_avx2(sum, wides, n_parts, n, out, shift, codes);
}
#endif
