/* sum_x86.h : declares the x86 sums.
 *
 * Each that returns a bool returns false, and does nothing, if it cannot make the sum. */
#ifndef SUM_X86_H
#define SUM_X86_H
#include "vec/sum/sum_exact.h"
#include "vec/sum/sum_step.h"
#include <immintrin.h>

static inline bool sum_is_bf16(const struct vec_sum *sum)
{
    return sum->in.e == 8 && sum->in.m == 7 && sum->in.flavour == MF_IEEE;
}

/* magnitude of an overflow */
static inline int sum_beyond(const struct vec_sum *sum)
{
    return (int)(sum->overflow == MF_SATURATE ? mf_max(sum->in) : mf_inf(sum->in));
}

#ifdef __AVX2__
/* sixteen[at & 15] for each byte of `at`, or 0 if its bit 7 is set */
static inline __attribute__((always_inline)) __m256i look_up_avx2(const void *sixteen, __m256i at)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(sixteen)), at);
}
#endif

/* plan: made for n_parts */
void sum_exact_avx2(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                    size_t n, uint8_t *codes);
void sum_exact_avx512(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                      size_t n, uint8_t *codes);

/* vec.h's add, for nearest and the formats e5m10, e8m7 and those of 8 bits with m > 2 */
bool add_avx2(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

/* vec.h's add, for nearest and the formats e3m0, e2m1 and e1m2 */
bool add_nibble_avx2(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

/* vec.h's sum, for exact sums of 4-bit codes to their own format, without a shift */
bool sum_nibble_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes);

/* vec.h's sum in fp32, of bf16 to bf16 */
bool sum_bf16_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                   struct mf_fmt out, int shift, uint8_t *codes);

/* vec.h's add by nearest, and sum in fp32 to the same format, of bf16 */
bool add_bf16_avx512(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);
bool sum_bf16_avx512(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes);

/* vec_ops' sum_to_wide and sum_of_wide, for AVX2 and above */
bool sum_to_wide_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      uint8_t *wide);
bool sum_of_wide_avx2(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes);

/* AVX-512's slots, which VBMI uses for sums that it does not speed up */
void sum_avx512_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);
void sum_avx512_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                    struct mf_fmt out, int shift, uint8_t *codes);

/* ---- with VBMI and VNNI ---- */

/* vec.h's add, for nearest and the formats e5m2, e6m1, e7m0, e4m3, e4m3fn and e5m10 */
bool add_avx512vbmi(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

/* vec.h's add, for nearest and the formats e3m0, e2m1 and e1m2 */
bool add_nibble_avx512vbmi(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

/* vec.h's sum, for exact sums of 8-bit codes with e <= 5 to 8-bit codes, or with e <= 4 to fp32 */
bool sum_dot_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes);

/* vec.h's sum, for exact sums of 4-bit codes to their own format, without a shift */
bool sum_nibble_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                           size_t n, struct mf_fmt out, int shift, uint8_t *codes);

/* vec_ops' sum_to_wide and sum_of_wide; pass to AVX2's what they do not speed up */
bool sum_to_wide_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                            size_t n, uint8_t *wide);
bool sum_of_wide_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts,
                            size_t n, struct mf_fmt out, int shift, uint8_t *codes);

/* VBMI's slots, which AVX512-FP16 uses for sums that it does not speed up */
void sum_avx512vbmi_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);
void sum_avx512vbmi_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes);

#endif
