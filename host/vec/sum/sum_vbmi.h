/* sum_vbmi.h : the pieces of the sums with AVX-512, VBMI and VNNI that lie in files of their own.
 * Each returns false, and has done nothing, where the sum must go another way. */
#ifndef SUM_VBMI_H
#define SUM_VBMI_H
#include "vec/vec.h"

/* Slot add of vec.h: nearest of e5m2, e6m1, e7m0, e4m3, e4m3fn and e5m10. */
bool add_avx512vbmi(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

/* Slot sum of vec.h: exact, of codes of 8 bits with e <= 5 to such of 8 bits. */
bool sum_dot_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes);

/* The same of codes of 4 bits that stay in their format, without a shift. */
bool sum_nibble_avx512vbmi(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                           size_t n, struct mf_fmt out, int shift, uint8_t *codes);

#endif
