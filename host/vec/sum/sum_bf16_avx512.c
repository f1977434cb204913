/* sum_bf16_avx512.c : adds bf16 codes with AVX-512.
 *
 * A bf16 is the upper half of an fp32. A register of 32 codes becomes two of fp32: of its even and
 * of its odd codes. Sums are fp32; of two codes, their second rounding is harmless. A carry out of
 * a rounded mantissa gives the next exponent, or inf. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/fp_mode.h"
#include "vec/sum/sum_x86.h"

#define BF16_INLINE static inline __attribute__((always_inline))

enum { STEP = 32, AHEAD = 2048 };

struct pair {
    __m512 even, odd;
};

BF16_INLINE __m512i words(int x)
{
    return _mm512_set1_epi16((short)x);
}

BF16_INLINE __mmask32 first_words(size_t n)
{
    return n < STEP ? (1u << n) - 1 : UINT32_MAX;
}

BF16_INLINE struct pair load(const uint8_t *codes, __mmask32 in)
{
    _mm_prefetch((const char *)((uintptr_t)codes + AHEAD), _MM_HINT_T0);
    const __m512i x = _mm512_maskz_loadu_epi16(in, codes);
    return (struct pair){
        _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
        _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000)))};
}

BF16_INLINE struct pair plus(struct pair a, struct pair b)
{
    return (struct pair){_mm512_add_ps(a.even, b.even), _mm512_add_ps(a.odd, b.odd)};
}

/* The upper halves, in order. */
BF16_INLINE __m512i uppers(__m512i even, __m512i odd)
{
    return _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), 0xaaaaaaaa, odd);
}

/* |x| plus half a unit of a bf16, less one if its last bit is 0: its upper half is rounded. */
BF16_INLINE __m512i rounded(__m512 x)
{
    const __m512i mag = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    const __m512i last = _mm512_and_si512(_mm512_srli_epi32(mag, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(mag, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
}

/* Zero and nan have no sign. */
BF16_INLINE __m512i to_codes(int beyond, struct pair x)
{
    const __m512i all = words(0x7fff),
                  cut = uppers(_mm512_castps_si512(x.even), _mm512_castps_si512(x.odd));
    const __m512i mag = _mm512_min_epu16(uppers(rounded(x.even), rounded(x.odd)), words(beyond));
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(_mm512_and_si512(cut, all), words(0x7f80));
    const __m512i code = _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(mag, mag),
                                                _mm512_ternarylogic_epi32(all, mag, cut, 0xca));
    return _mm512_mask_mov_epi16(code, nan, all);
}

static __attribute__((noinline)) void add_in_ieee(int beyond, uint8_t *acc, const uint8_t *codes,
                                                  size_t n)
{
    for (size_t i = 0; i < n; i += STEP) {
        const __mmask32 in = first_words(n - i);
        const struct pair sum = plus(load(acc + 2 * i, in), load(codes + 2 * i, in));
        _mm512_mask_storeu_epi16(acc + 2 * i, in, to_codes(beyond, sum));
    }
}

static __attribute__((noinline)) void sum_in_ieee(int beyond, const uint8_t *const *parts,
                                                  int n_parts, size_t n, uint8_t *codes)
{
    for (size_t i = 0; i < n; i += STEP) {
        const __mmask32 in = first_words(n - i);
        struct pair sum = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (int r = 0; r < n_parts; r++)
            sum = plus(sum, load(parts[r] + 2 * i, in));
        _mm512_mask_storeu_epi16(codes + 2 * i, in, to_codes(beyond, sum));
    }
}

bool add_bf16_avx512(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    if (sum->rule != VEC_NEAREST || !sum_is_bf16(sum))
        return false;
    const uint64_t mode = fp_mode_ieee();
    add_in_ieee(sum_beyond(sum), acc, codes, n);
    fp_mode_back(mode);
    return true;
}

bool sum_bf16_avx512(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes)
{
    if (sum->rule != VEC_FP32 || !sum_is_bf16(sum) || !mf_same(out, sum->in) || shift != 0)
        return false;
    const uint64_t mode = fp_mode_ieee();
    sum_in_ieee(sum_beyond(sum), parts, n_parts, n, codes);
    fp_mode_back(mode);
    return true;
}
#endif
