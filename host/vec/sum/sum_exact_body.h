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

EXACT_INLINE void sum_all(struct sum_exact plan, bool two, bool nibbles, int m,
                          const uint8_t *const *parts, int n_parts, size_t n, uint8_t *codes)
{
    plan.two = two;
    plan.nibbles = nibbles;
    plan.m = m;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum_block(&plan, parts, n_parts, i, LANES, codes);
    if (i < n)
        sum_block(&plan, parts, n_parts, i, n - i, codes);
}

/* Constant arguments give each of these kinds of codes its own loop. Only AVX2 uses m. */
#define SUM_KIND(name, two, nibbles, m)                                                            \
    static __attribute__((noinline)) void name(const struct sum_exact *plan,                       \
                                               const uint8_t *const *parts, int n_parts, size_t n, \
                                               uint8_t *codes)                                     \
    {                                                                                              \
        sum_all(*plan, two, nibbles, m, parts, n_parts, n, codes);                                 \
    }
SUM_KIND(sum_two, true, false, 2)
SUM_KIND(sum_nibbles, false, true, plan->m)
SUM_KIND(sum_m3, false, false, 3)
SUM_KIND(sum_others, false, false, plan->m)
#undef SUM_KIND

static __attribute__((noinline)) void sum_in_ieee(const struct sum_exact *plan,
                                                  const uint8_t *const *parts, int n_parts,
                                                  size_t n, uint8_t *codes)
{
    if (plan->halves)
        sum_halves(plan, parts, n_parts, n, codes);
    else if (plan->two)
        sum_two(plan, parts, n_parts, n, codes);
    else if (plan->nibbles)
        sum_nibbles(plan, parts, n_parts, n, codes);
    else if (plan->m == 3)
        sum_m3(plan, parts, n_parts, n, codes);
    else
        sum_others(plan, parts, n_parts, n, codes);
}

void SUM_EXACT(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts, size_t n,
               uint8_t *codes)
{
    const uint64_t mode = fp_mode_ieee();
    sum_in_ieee(plan, parts, n_parts, n, codes);
    fp_mode_back(mode);
}

#endif
