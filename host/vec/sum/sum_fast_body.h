/* sum_fast_body.h : chooses how the including file adds two vectors and sums many: by add_bytes()
 * and SUM_EXACT. SUM_WIDE() names the sums of wide words. SUM_ADD_FIRST and SUM_FIRST are asked
 * first and return false if they do not add. */
#ifndef SUM_FAST_BODY_H
#define SUM_FAST_BODY_H

void SUM_NAME(add)(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    struct sum_step_fmt f;
    if (SUM_ADD_FIRST(sum, acc, codes, n))
        return;
    if (!sum_step_fmt(sum, &f))
        body_add_packed(sum, acc, codes, n);
    else if (sum->rule == VEC_TRUNC)
        add_bytes(f, true, acc, codes, n);
    else
        add_bytes(f, false, acc, codes, n);
}

void SUM_NAME(sum)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                   struct mf_fmt out, int shift, uint8_t *codes)
{
    struct sum_exact plan;
    if (SUM_FIRST(sum, parts, n_parts, n, out, shift, codes))
        return;
    if (sum_exact_plan(sum, n_parts, out, shift, &plan))
        SUM_EXACT(&plan, parts, n_parts, n, codes);
    else if (!sum_packed(SUM_NAME(add), sum, parts, n_parts, n, out, shift, codes))
        body_sum(sum, parts, n_parts, n, out, shift, codes);
}

void SUM_NAME(fill)(struct vec_ops *ops)
{
    body_fill(ops);
    ops->sum_to_wide = SUM_WIDE(to);
    ops->sum_of_wide = SUM_WIDE(of);
    ops->add = SUM_NAME(add);
    ops->sum = SUM_NAME(sum);
}

#endif
