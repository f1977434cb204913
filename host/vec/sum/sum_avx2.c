/* sum_avx2.c : sums codes with AVX2. sum_step.h's tables add 32 codes of m <= 2 at a time.
 * add_avx2() adds halves, bf16 and other 8-bit codes, add_nibble_avx2() 4-bit codes.
 * sum_exact_avx2() makes the exact sums that sum_exact_plan() accepts. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_x86.h"
#include "vec/sum/sum_body.h"

#define ADD_INLINE static inline __attribute__((always_inline))

enum { LANES = 32 };

ADD_INLINE __m256i bytes(int x)
{
    return _mm256_set1_epi8((char)x);
}

/* The last two bits of each byte of `big` select the table. */
ADD_INLINE __m256i look_up_row(const int8_t rows[4][16], __m256i big, __m256i at)
{
    /* bits 0 and 1 of each byte, moved to bit 7 */
    const __m256i one = _mm256_slli_epi16(big, 7), two = _mm256_slli_epi16(big, 6);
    const __m256i even =
        _mm256_blendv_epi8(look_up_avx2(rows[0], at), look_up_avx2(rows[1], at), one);
    const __m256i odd =
        _mm256_blendv_epi8(look_up_avx2(rows[2], at), look_up_avx2(rows[3], at), one);
    return _mm256_blendv_epi8(even, odd, two);
}

/* x = |a| and y = |b| may be inf or nan. The signs of nans in *sign are cleared. */
static __m256i with_specials(const struct sum_step_fmt *f, __m256i x, __m256i y, __m256i differ,
                             __m256i mag, __m256i *sign)
{
    const __m256i inf = bytes(f->inf), below = bytes(f->inf - 1), zero = bytes(0);
    const __m256i clash = _mm256_and_si256(_mm256_cmpeq_epi8(x, inf), _mm256_cmpeq_epi8(y, inf));
    const __m256i any_inf =
        _mm256_or_si256(_mm256_cmpgt_epi8(x, below), _mm256_cmpgt_epi8(y, below));
    __m256i nan = _mm256_or_si256(_mm256_cmpgt_epi8(x, inf), _mm256_cmpgt_epi8(y, inf));
    nan = _mm256_or_si256(nan, _mm256_and_si256(clash, _mm256_cmpgt_epi8(zero, differ)));
    *sign = _mm256_andnot_si256(nan, *sign);
    return _mm256_blendv_epi8(_mm256_blendv_epi8(mag, bytes(f->beyond), any_inf), bytes(f->nan),
                              nan);
}

/* signs in bit 7 */
ADD_INLINE __m256i add32(const struct sum_step_fmt *f, bool trunc, __m256i a, __m256i b)
{
    const struct sum_step *t = f->step;
    const __m256i x = _mm256_and_si256(a, bytes(0x7f)), y = _mm256_and_si256(b, bytes(0x7f)),
                  far = bytes(0x70);
    /* + 0x70 sets bit 7 of indices from 16 on, where the shuffle gives 0 */
    const __m256i xr = _mm256_add_epi8(x, look_up_avx2(t->renumber, _mm256_adds_epu8(x, far)));
    const __m256i yr = _mm256_add_epi8(y, look_up_avx2(t->renumber, _mm256_adds_epu8(y, far)));
    const __m256i big = _mm256_max_epi8(xr, yr),
                  apart = _mm256_sub_epi8(big, _mm256_min_epi8(xr, yr));
    const __m256i at = _mm256_adds_epu8(apart, far), differ = _mm256_xor_si256(a, b),
                  zero = bytes(0);
    __m256i step_differ = look_up_row(t->differ, big, at);
    if (trunc) {
        const __m256i until = look_up_avx2(t->minus_one, _mm256_and_si256(big, bytes(3)));
        const __m256i late = _mm256_cmpeq_epi8(_mm256_subs_epu8(until, apart), zero);
        const __m256i near = _mm256_cmpeq_epi8(_mm256_subs_epu8(apart, bytes(15)), zero);
        step_differ = _mm256_blendv_epi8(bytes(-1), step_differ, _mm256_or_si256(late, near));
    }
    const __m256i step = _mm256_blendv_epi8(look_up_row(t->same, big, at), step_differ, differ);

    __m256i mag = _mm256_adds_epi8(big, step);
    const __m256i low = look_up_avx2(t->back, _mm256_add_epi8(mag, bytes(4)));
    mag = _mm256_blendv_epi8(mag, low, _mm256_cmpgt_epi8(bytes(4), mag));
    mag = _mm256_min_epi8(mag, bytes(f->beyond));
    __m256i sign = _mm256_and_si256(_mm256_blendv_epi8(a, b, _mm256_cmpgt_epi8(y, x)), bytes(-128));
    if (__builtin_expect(_mm256_movemask_epi8(_mm256_cmpgt_epi8(big, bytes(f->inf - 1))) != 0, 0))
        mag = with_specials(f, x, y, differ, mag, &sign);
    return _mm256_or_si256(mag, _mm256_andnot_si256(_mm256_cmpeq_epi8(mag, zero), sign));
}

ADD_INLINE void prefetch(const uint8_t *p)
{
    _mm_prefetch((const char *)((uintptr_t)p + 2048), _MM_HINT_T0);
}

ADD_INLINE void add_lanes(const struct sum_step_fmt *f, bool trunc, uint8_t *acc,
                          const uint8_t *codes)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)acc),
                  b = _mm256_loadu_si256((const __m256i *)codes);
    _mm256_storeu_si256((__m256i *)acc, add32(f, trunc, a, b));
}

ADD_INLINE void add_bytes(struct sum_step_fmt f, bool trunc, uint8_t *acc, const uint8_t *codes,
                          size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        prefetch(acc + i), prefetch(codes + i);
        add_lanes(&f, trunc, acc + i, codes + i);
    }
    if (i < n) {
        uint8_t a[LANES] = {0}, b[LANES] = {0};
        memcpy(a, acc + i, n - i);
        memcpy(b, codes + i, n - i);
        add_lanes(&f, trunc, a, b);
        memcpy(acc + i, a, n - i);
    }
}

static bool add_first(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    return add_avx2(sum, acc, codes, n) || add_nibble_avx2(sum, acc, codes, n);
}

static bool sum_first(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes)
{
    return sum_nibble_avx2(sum, parts, n_parts, n, out, shift, codes) ||
           sum_bf16_avx2(sum, parts, n_parts, n, out, shift, codes);
}

#define SUM_ADD_FIRST  add_first
#define SUM_FIRST      sum_first
#define SUM_NAME(what) sum_avx2_##what
#define SUM_EXACT      sum_exact_avx2
#define SUM_WIDE(way)  sum_##way##_wide_avx2
#include "vec/sum/sum_fast_body.h"
#endif
