/* sum_exact_body.h : sums packed codes exactly in blocks of LANES, or LANES / 2 halves, by the
 * including file's sum_block() and sum_block_halves(), as SUM_EXACT(). */
#ifndef SUM_EXACT_BODY_H
#define SUM_EXACT_BODY_H
#include "vec/fp_mode.h"

static void sum_halves(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                       size_t n, uint8_t *codes)
{
    size_t i = 0;
    for (; i + LANES / 2 <= n; i += LANES / 2)
        sum_block_halves(plan, parts, n_parts, i, LANES / 2, codes);
    if (i < n)
        sum_block_halves(plan, parts, n_parts, i, n - i, codes);
}

/* Constant arguments give each of the three kinds of codes its own loop. */
EXACT_INLINE void sum_all(struct sum_exact plan, bool two, bool nibbles,
                          const uint8_t *const *parts, int n_parts, size_t n, uint8_t *codes)
{
    plan.two = two;
    plan.nibbles = nibbles;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum_block(&plan, parts, n_parts, i, LANES, codes);
    if (i < n)
        sum_block(&plan, parts, n_parts, i, n - i, codes);
}

static __attribute__((noinline)) void sum_in_ieee(const struct sum_exact *plan,
                                                  const uint8_t *const *parts, int n_parts,
                                                  size_t n, uint8_t *codes)
{
    if (plan->halves)
        sum_halves(plan, parts, n_parts, n, codes);
    else if (plan->two)
        sum_all(*plan, true, false, parts, n_parts, n, codes);
    else if (plan->nibbles)
        sum_all(*plan, false, true, parts, n_parts, n, codes);
    else
        sum_all(*plan, false, false, parts, n_parts, n, codes);
}

void SUM_EXACT(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts, size_t n,
               uint8_t *codes)
{
    const uint64_t mode = fp_mode_ieee();
    sum_in_ieee(plan, parts, n_parts, n, codes);
    fp_mode_back(mode);
}

#endif
