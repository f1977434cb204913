/* sum_neon.h : declares NEON's sums. */
#ifndef SUM_NEON_H
#define SUM_NEON_H
#include "vec/sum/sum_exact.h"
#include "vec/sum/sum_step.h"
#include <arm_neon.h>

/* plan: made for n_parts */
void sum_exact_neon(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                    size_t n, uint8_t *codes);

/* vec_ops.add, if it returns true: e5m10, and 8-bit formats that sum_exact_add_plan() accepts */
bool add_neon(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);

/* vec_ops.add by nearest, and vec_ops.sum, exact, without a shift, to the addends' format, if they
 * return true: e3m0, e2m1 and e1m2 */
bool add_nibble_neon(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);
bool sum_nibble_neon(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                     struct mf_fmt out, int shift, uint8_t *codes);

/* vec_ops' sum_to_wide and sum_of_wide */
bool sum_to_wide_neon(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      uint8_t *wide);
bool sum_of_wide_neon(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes);

#endif
