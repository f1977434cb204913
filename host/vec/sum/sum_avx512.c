/* sum_avx512.c : sums codes with AVX-512, 64 at a time by sum_step.h's tables (m <= 2). sum_avx2.c
 * explains the helpers and the other sums. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_x86.h"
#include "vec/sum/sum_body.h"

static inline __m512i bytes(int x)
{
    return _mm512_set1_epi8((char)x);
}
static inline __m512i table(const void *sixteen)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128(sixteen));
}

static __m512i with_specials(const struct sum_step_fmt *f, __m512i x, __m512i y, __mmask64 differ,
                             __m512i mag, __mmask64 *negative)
{
    const __m512i inf = bytes(f->inf);
    const __mmask64 x_inf = _mm512_cmpge_epi8_mask(x, inf), y_inf = _mm512_cmpge_epi8_mask(y, inf);
    const __mmask64 nan =
        _mm512_cmpgt_epi8_mask(x, inf) | _mm512_cmpgt_epi8_mask(y, inf) | (x_inf & y_inf & differ);
    *negative &= ~nan;
    return _mm512_mask_mov_epi8(_mm512_mask_mov_epi8(mag, x_inf | y_inf, bytes(f->beyond)), nan,
                                bytes(f->nan));
}

static inline __attribute__((always_inline)) __m512i add64(const struct sum_step_fmt *f, bool trunc,
                                                           __m512i a, __m512i b)
{
    const struct sum_step *t = f->step;
    const __m512i x = _mm512_and_si512(a, bytes(0x7f)), y = _mm512_and_si512(b, bytes(0x7f)),
                  far = bytes(0x70);
    const __m512i renumber = table(t->renumber); /* + 0x70: shuffles give 0 from index 16 on */
    const __m512i xr = _mm512_add_epi8(x, _mm512_shuffle_epi8(renumber, _mm512_adds_epu8(x, far)));
    const __m512i yr = _mm512_add_epi8(y, _mm512_shuffle_epi8(renumber, _mm512_adds_epu8(y, far)));
    const __m512i big = _mm512_max_epi8(xr, yr),
                  apart = _mm512_sub_epi8(big, _mm512_min_epi8(xr, yr));
    const __m512i at = _mm512_adds_epu8(apart, far);
    const __mmask64 differ = _mm512_movepi8_mask(_mm512_xor_si512(a, b));
    const __mmask64 one = _mm512_test_epi8_mask(big, bytes(1)),
                    two = _mm512_test_epi8_mask(big, bytes(2));

    __m512i step = _mm512_shuffle_epi8(table(t->same[0]), at);
    step = _mm512_mask_shuffle_epi8(step, one, table(t->same[1]), at);
    step = _mm512_mask_shuffle_epi8(step, two, table(t->same[2]), at);
    step = _mm512_mask_shuffle_epi8(step, one & two, table(t->same[3]), at);
    step = _mm512_mask_shuffle_epi8(step, differ, table(t->differ[0]), at);
    step = _mm512_mask_shuffle_epi8(step, differ & one, table(t->differ[1]), at);
    step = _mm512_mask_shuffle_epi8(step, differ & two, table(t->differ[2]), at);
    step = _mm512_mask_shuffle_epi8(step, differ & one & two, table(t->differ[3]), at);
    if (trunc) {
        const __m512i until =
            _mm512_shuffle_epi8(table(t->minus_one), _mm512_and_si512(big, bytes(3)));
        const __mmask64 less =
            _mm512_cmplt_epu8_mask(apart, until) & _mm512_cmpge_epu8_mask(apart, bytes(16));
        step = _mm512_mask_mov_epi8(step, less & differ, bytes(-1));
    }

    __m512i mag = _mm512_adds_epi8(big, step);
    const __mmask64 low = _mm512_cmplt_epi8_mask(mag, bytes(4));
    mag = _mm512_mask_shuffle_epi8(mag, low, table(t->back), _mm512_add_epi8(mag, bytes(4)));
    mag = _mm512_min_epi8(mag, bytes(f->beyond));
    __mmask64 negative =
        _mm512_movepi8_mask(_mm512_mask_mov_epi8(a, _mm512_cmplt_epi8_mask(x, y), b));
    if (__builtin_expect(_mm512_cmpge_epi8_mask(big, bytes(f->inf)) != 0, 0))
        mag = with_specials(f, x, y, differ, mag, &negative);
    negative = _mm512_mask_test_epi8_mask(negative, mag, mag);
    return _mm512_mask_add_epi8(mag, negative, mag, bytes(-128));
}

static inline void prefetch(const uint8_t *p)
{
    _mm_prefetch((const char *)((uintptr_t)p + 2048), _MM_HINT_T0);
}

static inline __attribute__((always_inline)) void
add_bytes(struct sum_step_fmt f, bool trunc, uint8_t *acc, const uint8_t *codes, size_t n)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        prefetch(acc + i), prefetch(codes + i);
        _mm512_storeu_si512(
            acc + i, add64(&f, trunc, _mm512_loadu_si512(acc + i), _mm512_loadu_si512(codes + i)));
    }
    if (i < n) {
        const __mmask64 rest = (1ull << (n - i)) - 1;
        const __m512i a = _mm512_maskz_loadu_epi8(rest, acc + i),
                      b = _mm512_maskz_loadu_epi8(rest, codes + i);
        _mm512_mask_storeu_epi8(acc + i, rest, add64(&f, trunc, a, b));
    }
}

static bool add_first(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    struct sum_exact exact;
    if (sum_exact_add_plan(sum, &exact)) {
        sum_exact_avx512(&exact, (const uint8_t *const[]){acc, codes}, 2, n, acc);
        return true;
    }
    return add_bf16_avx512(sum, acc, codes, n) || add_nibble_avx2(sum, acc, codes, n) ||
           (mf_same(sum->in, mf_half()) && add_avx2(sum, acc, codes, n));
}

static bool sum_first(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes)
{
    return sum_nibble_avx2(sum, parts, n_parts, n, out, shift, codes) ||
           sum_bf16_avx512(sum, parts, n_parts, n, out, shift, codes);
}

static void sum_exact(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                      size_t n, uint8_t *codes)
{
    (plan->out_width == 32 ? sum_exact_avx2 : sum_exact_avx512)(plan, parts, n_parts, n, codes);
}

#define SUM_NAME(what) sum_avx512_##what
#define SUM_ADD_FIRST  add_first
#define SUM_FIRST      sum_first
#define SUM_EXACT      sum_exact
#define SUM_WIDE(way)  sum_##way##_wide_avx2
#include "vec/sum/sum_fast_body.h"
#endif
