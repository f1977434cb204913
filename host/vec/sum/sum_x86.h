/* sum_x86.h : declares the x86 sums. */
#ifndef SUM_X86_H
#define SUM_X86_H
#include "vec/sum/sum_plan.h"
#include <immintrin.h>

/* plan: made for n_parts */
void sum_exact_avx2(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                    size_t n, uint8_t *codes);
void sum_exact_avx512(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                      size_t n, uint8_t *codes);

/* vec.h's add by nearest, and sum in fp32 to the same format, of bf16. Return false, with nothing
 * written, for other sums. */
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

#endif
