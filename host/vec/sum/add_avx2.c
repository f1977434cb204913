/* add_avx2.c : adds packed codes with AVX2 and F16C: halves, bf16, and 8-bit codes as halves. Sums
 * bf16 in fp32.
 *
 * Codes of 8 bits with m > 2 become halves with the same exponent field, so subnormals stay
 * subnormals and a half, rounded to m bits, is a code after a shift. Rounding to a half first is
 * harmless (sum_lanes.h) for m = 3. For m > 3 it does not round: sums have at most 11 significant
 * bits. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/fp_mode.h"
#include "vec/sum/sum_x86.h"
#include <string.h>

#define ADD_INLINE static inline __attribute__((always_inline))

enum { BYTES = 32, AHEAD = 2048, NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
enum add_way { ADD_BYTES, ADD_HALVES, ADD_BF16 };

struct add {
    int beyond;  /* magnitude of an overflow */
    int special; /* bytes: the first magnitude that is not a number */
    int m;
    struct sum_exact exact; /* bytes: adds specials */
};

ADD_INLINE __m256i words(int x)
{
    return _mm256_set1_epi16((short)x);
}
ADD_INLINE __m256i load(const uint8_t *codes)
{
    return _mm256_loadu_si256((const __m256i *)codes);
}
ADD_INLINE __m256i pick(__m256i mask, __m256i a, __m256i b)
{
    return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}

/* Gives the rounded magnitudes `mag` the signs of the sums x. Zero and nan have no sign. inf: the
 * inf of x; beyond: magnitude of an overflow. */
ADD_INLINE __m256i code_of(__m256i x, __m256i mag, int inf, int beyond)
{
    const __m256i all = words(0x7fff);
    const __m256i nan = _mm256_cmpgt_epi16(_mm256_and_si256(x, all), words(inf));
    mag = _mm256_min_epu16(mag, words(beyond));
    const __m256i none = _mm256_cmpeq_epi16(mag, _mm256_setzero_si256());
    const __m256i code = pick(_mm256_or_si256(all, none), mag, x);
    return _mm256_blendv_epi8(code, all, nan);
}

/* ---- halves ---- */

ADD_INLINE __m256i add_halves(__m256i a, __m256i b)
{
    const __m256 low = _mm256_add_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(a)),
                                     _mm256_cvtph_ps(_mm256_castsi256_si128(b)));
    const __m256 high = _mm256_add_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)),
                                      _mm256_cvtph_ps(_mm256_extracti128_si256(b, 1)));
    return _mm256_set_m128i(_mm256_cvtps_ph(high, NEAREST), _mm256_cvtps_ph(low, NEAREST));
}

/* codes: in the high bytes of 16-bit words, numbers only */
ADD_INLINE __m256i to_halves(int m, __m256i codes)
{
    const __m256i half = _mm256_sra_epi16(codes, _mm_cvtsi32_si128(m - 2));
    return _mm256_and_si256(half, words(0x8000 | 0x7fff >> (m - 2)));
}

/* Rounds halves to magnitudes of codes. */
ADD_INLINE __m256i round_halves(const struct add *p, __m256i halves)
{
    const int drop = 10 - p->m;
    const __m128i by = _mm_cvtsi32_si128(drop);
    const __m256i mag = _mm256_and_si256(halves, words(0x7fff));
    const __m256i last = _mm256_and_si256(_mm256_srl_epi16(mag, by), words(1));
    const __m256i up = _mm256_add_epi16(mag, _mm256_add_epi16(last, words((1 << (drop - 1)) - 1)));
    return _mm256_min_epu16(_mm256_srl_epi16(up, by), words(p->beyond));
}

ADD_INLINE void add_as_halves(const struct add *p, uint8_t *acc, const uint8_t *codes)
{
    const __m256i a = load(acc), b = load(codes), all = _mm256_set1_epi8(127),
                  zero = _mm256_setzero_si256();
    const __m256i most = _mm256_max_epi8(_mm256_and_si256(a, all), _mm256_and_si256(b, all));
    const __m256i special = _mm256_cmpgt_epi8(most, _mm256_set1_epi8((char)(p->special - 1)));
    if (__builtin_expect(!_mm256_testz_si256(special, special), 0)) {
        sum_exact_avx2(&p->exact, (const uint8_t *const[]){acc, codes}, 2, BYTES, acc);
        return;
    }
    const __m256i low = add_halves(to_halves(p->m, _mm256_unpacklo_epi8(zero, a)),
                                   to_halves(p->m, _mm256_unpacklo_epi8(zero, b)));
    const __m256i high = add_halves(to_halves(p->m, _mm256_unpackhi_epi8(zero, a)),
                                    to_halves(p->m, _mm256_unpackhi_epi8(zero, b)));
    const __m256i mag = _mm256_packus_epi16(round_halves(p, low), round_halves(p, high));
    const __m256i none = _mm256_cmpeq_epi8(mag, zero);
    _mm256_storeu_si256((__m256i *)acc,
                        pick(_mm256_or_si256(all, none), mag, _mm256_packs_epi16(low, high)));
}

/* ---- bf16: the upper half of an fp32 ---- */

struct pair {
    __m256 even, odd;
};

ADD_INLINE struct pair load_bf16(const uint8_t *codes)
{
    const __m256i x = load(codes);
    return (struct pair){
        _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)),
        _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000)))};
}
ADD_INLINE struct pair plus(struct pair a, struct pair b)
{
    return (struct pair){_mm256_add_ps(a.even, b.even), _mm256_add_ps(a.odd, b.odd)};
}

/* The upper halves, in order. */
ADD_INLINE __m256i uppers(__m256i even, __m256i odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
}

/* |x| plus half a unit of a bf16, less one if its last bit is 0: its upper half is rounded. A carry
 * out of the mantissa gives the next exponent, or inf. */
ADD_INLINE __m256i rounded(__m256 x)
{
    const __m256i mag = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(mag, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(mag, _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff)));
}

ADD_INLINE __m256i to_bf16(int beyond, struct pair x)
{
    return code_of(uppers(_mm256_castps_si256(x.even), _mm256_castps_si256(x.odd)),
                   uppers(rounded(x.even), rounded(x.odd)), 0x7f80, beyond);
}

/* ---- loops over 32 bytes ---- */

ADD_INLINE void add_block(const struct add *p, enum add_way way, uint8_t *acc, const uint8_t *codes)
{
    if (way == ADD_BYTES) {
        add_as_halves(p, acc, codes);
    } else if (way == ADD_HALVES) {
        const __m256i x = add_halves(load(acc), load(codes));
        const __m256i mag = _mm256_and_si256(x, words(0x7fff));
        _mm256_storeu_si256((__m256i *)acc, code_of(x, mag, 0x7c00, p->beyond));
    } else {
        const struct pair x = plus(load_bf16(acc), load_bf16(codes));
        _mm256_storeu_si256((__m256i *)acc, to_bf16(p->beyond, x));
    }
}

ADD_INLINE void prefetch(const uint8_t *p)
{
    _mm_prefetch((const char *)((uintptr_t)p + AHEAD), _MM_HINT_T0);
}

ADD_INLINE void add_loop(struct add p, enum add_way way, int m, uint8_t *acc, const uint8_t *codes,
                         size_t bytes)
{
    size_t i = 0;
    p.m = m;
    for (; i + BYTES <= bytes; i += BYTES) {
        prefetch(acc + i), prefetch(codes + i);
        add_block(&p, way, acc + i, codes + i);
    }
    if (i < bytes) {
        uint8_t a[BYTES] = {0}, b[BYTES] = {0};
        memcpy(a, acc + i, bytes - i);
        memcpy(b, codes + i, bytes - i);
        add_block(&p, way, a, b);
        memcpy(acc + i, a, bytes - i);
    }
}

/* Constant arguments give each way, and e4m3, its own loop. */
static __attribute__((noinline)) void add_in_ieee(const struct add *p, enum add_way way,
                                                  uint8_t *acc, const uint8_t *codes, size_t bytes)
{
    if (way == ADD_HALVES)
        add_loop(*p, ADD_HALVES, p->m, acc, codes, bytes);
    else if (way == ADD_BF16)
        add_loop(*p, ADD_BF16, p->m, acc, codes, bytes);
    else if (p->m == 3)
        add_loop(*p, ADD_BYTES, 3, acc, codes, bytes);
    else
        add_loop(*p, ADD_BYTES, p->m, acc, codes, bytes);
}

static __attribute__((noinline)) void sum_bf16_in_ieee(int beyond, const uint8_t *const *parts,
                                                       int n_parts, size_t bytes, uint8_t *codes)
{
    for (size_t i = 0; i < bytes; i += BYTES) {
        const size_t n = bytes - i < BYTES ? bytes - i : BYTES;
        struct pair sum = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        uint8_t rest[BYTES] = {0};
        for (int r = 0; r < n_parts; r++) {
            prefetch(parts[r] + i);
            const uint8_t *from = parts[r] + i;
            if (n < BYTES)
                from = memcpy(rest, from, n);
            sum = plus(sum, load_bf16(from));
        }
        const __m256i code = to_bf16(beyond, sum);
        if (n == BYTES)
            _mm256_storeu_si256((__m256i *)(codes + i), code);
        else
            memcpy(codes + i, &code, n);
    }
}

bool add_avx2(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    struct add p = {.beyond = sum_beyond(sum), .special = (int)mf_special(sum->in), .m = sum->in.m};
    enum add_way way = ADD_BYTES;
    if (sum->rule != VEC_NEAREST)
        return false;
    if (mf_same(sum->in, mf_half()))
        way = ADD_HALVES;
    else if (sum_is_bf16(sum))
        way = ADD_BF16;
    else if (!sum_exact_add_plan(sum, &p.exact))
        return false;
    const uint64_t mode = fp_mode_ieee();
    add_in_ieee(&p, way, acc, codes, vec_bytes(sum->in, n));
    fp_mode_back(mode);
    return true;
}

bool sum_bf16_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                   struct mf_fmt out, int shift, uint8_t *codes)
{
    if (sum->rule != VEC_FP32 || !sum_is_bf16(sum) || !mf_same(out, sum->in) || shift != 0)
        return false;
    const uint64_t mode = fp_mode_ieee();
    sum_bf16_in_ieee(sum_beyond(sum), parts, n_parts, vec_bytes(sum->in, n), codes);
    fp_mode_back(mode);
    return true;
}
#endif
