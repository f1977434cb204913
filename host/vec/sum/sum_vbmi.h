/* sum_vbmi.h : declares the sums with VBMI and VNNI.
 *
 * Each that returns a bool returns false, and does nothing, if it cannot make the sum. */
#ifndef SUM_VBMI_H
#define SUM_VBMI_H
#include "vec/vec.h"

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
