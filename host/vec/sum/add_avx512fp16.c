/* add_avx512fp16.c : adds packed codes with AVX512-FP16, which adds halves.
 *
 * Rounding the sum of two 8-bit codes to a half first is harmless (add_neon.c). A register of codes
 * becomes two of halves: of its odd and of its even bytes. An e4m3, for example, moves right by
 * 5 - e = 1; the wrong bias cancels:
 *
 *     code   s eeee mmm              half   s 0eeee mmm0000000
 *     sum    s eeeee mmmmmmmmmm      its magnitude, moved left again   eeeeemmm mmmmmmm0
 *                                                                      code     cut bits
 *
 * e5m10's codes, and e5m2's inf and nan, are those of halves. Specials of other formats would be
 * numbers as halves; with_specials() sets their sums. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/fp_mode.h"
#include "vec/sum/look_avx512vbmi.h"
#include "vec/sum/sum_blocks.h"
#include "vec/sum/sum_exact.h"
#include "vec/sum/sum_step.h"
#include "vec/sum/sum_x86.h"

/* e5m10; e5m2; its rule trunc; other 8-bit formats */
enum add_way { ADD_HALVES, ADD_E5M2, ADD_TRUNC, ADD_BYTES };

struct add {
    enum add_way way;
    struct look_special specials;
    int right; /* ADD_BYTES: 5 - e */
};

LOOK_INLINE __m512i words(int x)
{
    return _mm512_set1_epi16((short)x);
}

LOOK_INLINE __m512i plus(__m512i a, __m512i b)
{
    return _mm512_castph_si512(_mm512_add_ph(_mm512_castsi512_ph(a), _mm512_castsi512_ph(b)));
}

/* Join the upper bytes, and the lower bytes, of the halves of odd and even bytes. */
LOOK_INLINE __m512i uppers(__m512i odd, __m512i even)
{
    return look_pick(words(0xff00), odd, _mm512_srli_epi16(even, 8));
}
LOOK_INLINE __m512i lowers(__m512i odd, __m512i even)
{
    return look_pick(words(0xff00), _mm512_slli_epi16(odd, 8), even);
}

/* code: rounded down; cut: the rest, of which 128 is half a unit. Ties go to even. */
LOOK_INLINE __m512i round_up(__m512i code, __m512i cut)
{
    const __m512i sticky = _mm512_ternarylogic_epi32(cut, code, look_bytes(1), 0xf8);
    const __mmask64 up = _mm512_cmpgt_epu8_mask(sticky, look_bytes(128));
    return _mm512_mask_sub_epi8(code, up, code, look_bytes(-1));
}

/* Zero and nan have no sign. */
LOOK_INLINE __m512i add_halves(const struct add *p, __m512i a, __m512i b)
{
    const __m512i all = words(0x7fff);
    __m512i sum = plus(a, b);
    const __mmask32 some = _mm512_test_epi16_mask(sum, all),
                    special = _mm512_cmpge_epu16_mask(_mm512_add_epi16(sum, sum),
                                                      words(2 * p->specials.first));
    if (__builtin_expect(special != 0, 0)) {
        const __mmask32 nan = _mm512_cmpgt_epi16_mask(_mm512_and_si512(sum, all), words(0x7c00));
        sum = _mm512_mask_mov_epi16(sum, special, look_pick(all, words(p->specials.beyond), sum));
        sum = _mm512_mask_mov_epi16(sum, nan, words(p->specials.nan));
    }
    return _mm512_maskz_mov_epi16(some, sum);
}

LOOK_INLINE __m512i add_e5m2(const struct add *p, bool trunc, __m512i a, __m512i b)
{
    const __m512i upper = words(0xff00), all = look_bytes(127);
    const __m512i odd = plus(_mm512_and_si512(a, upper), _mm512_and_si512(b, upper)),
                  even = plus(_mm512_slli_epi16(a, 8), _mm512_slli_epi16(b, 8));
    __m512i code = uppers(odd, even);
    if (!trunc)
        code = round_up(code, lowers(odd, even));
    const __mmask64 some = _mm512_test_epi8_mask(code, all);
    const __mmask64 special =
        _mm512_cmpge_epu8_mask(_mm512_add_epi8(code, code), look_bytes(2 * p->specials.first));
    if (__builtin_expect(special != 0, 0)) {
        const __mmask64 nan =
            _mm512_cmpgt_epi8_mask(_mm512_and_si512(code, all), look_bytes(p->specials.first));
        code = _mm512_mask_mov_epi8(code, special,
                                    look_pick(all, look_bytes(p->specials.beyond), code));
        code = _mm512_mask_mov_epi8(code, nan, look_bytes(p->specials.nan));
    }
    return _mm512_maskz_mov_epi8(some, code);
}

/* odd: whether the codes are the upper bytes of their words */
LOOK_INLINE __m512i to_halves(const struct add *p, __m512i codes, bool odd)
{
    const __m512i mask = words(0x8000 | 0x7f00 >> p->right);
    const __m512i x = odd ? codes : _mm512_slli_epi16(codes, 8);
    return _mm512_and_si512(_mm512_srav_epi16(x, words(p->right)), mask);
}

static __attribute__((noinline)) __m512i with_specials(const struct add *p, __m512i a, __m512i b,
                                                       __m512i code)
{
    return look_specials(&p->specials, a, b, code);
}

LOOK_INLINE __m512i add_bytes(const struct add *p, __m512i a, __m512i b)
{
    const __m512i odd = plus(to_halves(p, a, true), to_halves(p, b, true)),
                  even = plus(to_halves(p, a, false), to_halves(p, b, false));
    const __m512i o = _mm512_sllv_epi16(odd, words(p->right)),
                  e = _mm512_sllv_epi16(even, words(p->right));
    const __m512i mag =
        _mm512_min_epu8(round_up(uppers(o, e), lowers(o, e)), look_bytes(p->specials.beyond));
    const __mmask64 some = _mm512_test_epi8_mask(mag, mag);
    __m512i code = _mm512_maskz_mov_epi8(some, look_pick(look_bytes(127), mag, uppers(odd, even)));
    const __m512i most = _mm512_max_epu8(_mm512_add_epi8(a, a), _mm512_add_epi8(b, b));
    if (__builtin_expect(_mm512_cmpgt_epu8_mask(most, look_bytes(2 * p->specials.first - 1)) != 0,
                         0))
        code = with_specials(p, a, b, code);
    return code;
}

LOOK_INLINE __m512i add_64(const struct add *p, enum add_way way, __m512i a, __m512i b)
{
    return way == ADD_HALVES  ? add_halves(p, a, b)
           : way == ADD_BYTES ? add_bytes(p, a, b)
                              : add_e5m2(p, way == ADD_TRUNC, a, b);
}

LOOK_INLINE void add_loop(struct add p, enum add_way way, uint8_t *acc, const uint8_t *codes,
                          size_t bytes)
{
    enum { AHEAD = 4096 };
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64) {
        look_ahead(acc + i, AHEAD), look_ahead(codes + i, AHEAD);
        const __m512i a = _mm512_loadu_si512(acc + i), b = _mm512_loadu_si512(codes + i);
        _mm512_storeu_si512(acc + i, add_64(&p, way, a, b));
    }
    if (i < bytes) {
        const __mmask64 here = look_first(bytes - i);
        const __m512i a = _mm512_maskz_loadu_epi8(here, acc + i),
                      b = _mm512_maskz_loadu_epi8(here, codes + i);
        _mm512_mask_storeu_epi8(acc + i, here, add_64(&p, way, a, b));
    }
}

/* Constant arguments give each way its own loop. */
static __attribute__((noinline)) void add_codes(struct add p, uint8_t *acc, const uint8_t *codes,
                                                size_t bytes)
{
    switch (p.way) {
    case ADD_HALVES:
        add_loop(p, ADD_HALVES, acc, codes, bytes);
        break;
    case ADD_E5M2:
        add_loop(p, ADD_E5M2, acc, codes, bytes);
        break;
    case ADD_TRUNC:
        add_loop(p, ADD_TRUNC, acc, codes, bytes);
        break;
    case ADD_BYTES:
        add_loop(p, ADD_BYTES, acc, codes, bytes);
    }
}

static bool plan(const struct vec_sum *sum, struct add *p)
{
    const struct mf_fmt f = sum->in;
    struct sum_exact exact;
    *p = (struct add){.specials = look_special(sum), .right = 5 - f.e};
    if (mf_same(f, mf_e5m2()) && sum->rule == VEC_TRUNC)
        p->way = ADD_TRUNC;
    else if (mf_same(f, mf_e5m2()) && sum->rule == VEC_NEAREST)
        p->way = ADD_E5M2;
    else if (mf_same(f, mf_half()) && sum->rule == VEC_NEAREST)
        p->way = ADD_HALVES;
    else if (sum_exact_add_plan(sum, &exact))
        p->way = ADD_BYTES;
    else
        return false;
    return true;
}

static void avx512fp16_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    struct add p;
    if (!plan(sum, &p)) {
        sum_avx512vbmi_add(sum, acc, codes, n);
        return;
    }
    const uint64_t mode = fp_mode_ieee();
    add_codes(p, acc, codes, vec_bytes(sum->in, n));
    fp_mode_back(mode);
}

static void avx512fp16_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                           size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    if (!sum_packed(avx512fp16_add, sum, parts, n_parts, n, out, shift, codes))
        sum_avx512vbmi_sum(sum, parts, n_parts, n, out, shift, codes);
}

void sum_avx512fp16_fill(struct vec_ops *ops)
{
    ops->add = avx512fp16_add;
    ops->sum = avx512fp16_sum;
}
#endif
