/* sum_avx512vbmi.c : uses VBMI and VNNI for the sums that they speed up. */
#include "vec/vec_isa.h"
#ifdef VEC_X86
#include "vec/sum/sum_blocks.h"
#include "vec/sum/sum_x86.h"

void sum_avx512vbmi_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    if (!add_avx512vbmi(sum, acc, codes, n) && !add_nibble_avx512vbmi(sum, acc, codes, n))
        sum_avx512_add(sum, acc, codes, n);
}

void sum_avx512vbmi_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                        size_t n, struct mf_fmt out, int shift, uint8_t *codes)
{
    if (!sum_dot_avx512vbmi(sum, parts, n_parts, n, out, shift, codes) &&
        !sum_nibble_avx512vbmi(sum, parts, n_parts, n, out, shift, codes) &&
        !sum_packed(sum_avx512vbmi_add, sum, parts, n_parts, n, out, shift, codes))
        sum_avx512_sum(sum, parts, n_parts, n, out, shift, codes);
}

void sum_avx512vbmi_fill(struct vec_ops *ops)
{
    ops->add = sum_avx512vbmi_add;
    ops->sum = sum_avx512vbmi_sum;
    ops->sum_to_wide = sum_to_wide_avx512vbmi;
    ops->sum_of_wide = sum_of_wide_avx512vbmi;
}
#endif
