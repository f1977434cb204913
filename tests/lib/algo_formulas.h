/* algo_formulas.h : computes the bytes and rounds that each algorithm should need. */
#ifndef ALGO_FORMULAS_H
#define ALGO_FORMULAS_H
#include "comm/algo/algo.h"
#include <math.h>

/* Parts are whole units of 8 elements, the longer parts first. */
static inline size_t part_at(size_t n, int parts, int i)
{
    size_t units = n / 8, p = (size_t)parts, k = (size_t)i, longer = units % p;
    return 8 * (k * (units / p) + (k < longer ? k : longer));
}
static inline size_t part_n(size_t n, int parts, int i)
{
    return (i + 1 < parts ? part_at(n, parts, i + 1) : n) - part_at(n, parts, i);
}

static inline double formula_rounds(const struct algo *a, int p, int k)
{
    if (a == &algo_ring)
        return 2 * (p - 1);
    if (a == &algo_group_master)
        return 4 * (k - 1) + 2 * (p / k - 1);
    if (a == &algo_direct)
        return p > 1 ? 2 : 0;
    if (a == &algo_gather)
        return p > 1 ? 1 : 0;
    if (a == &algo_gather_sum)
        return ceil(log2(p));
    if (a == &algo_group_scatter)
        return (k > 1 ? 2 : 0) + (p / k > 1 ? 2 : 0);
    return 0;
}

static inline uint64_t in_part(const struct vec_sum *s, size_t n, int parts, int i)
{
    return vec_bytes(s->in, part_n(n, parts, i));
}
static inline uint64_t out_part(const struct vec_sum *s, size_t n, int parts, int i)
{
    return vec_bytes(s->out, part_n(n, parts, i));
}

static inline uint64_t partial_part(const struct vec_sum *s, size_t n, int parts, int i)
{
    return vec_bytes(vec_acc_fmt(s), part_n(n, parts, i));
}

/* Bytes that a member sends for partial sums. codes: the first message holds codes instead. */
static inline uint64_t ring_bytes(const struct vec_sum *s, size_t n, int p, int i, bool codes)
{
    const int left = (i + p - 1) % p;
    const uint64_t sums = vec_bytes(vec_acc_fmt(s), n) - partial_part(s, n, p, i);
    return p == 1 ? 0 : codes ? sums - partial_part(s, n, p, left) + in_part(s, n, p, left) : sums;
}
static inline uint64_t gather_bytes(const struct vec_sum *s, size_t n, int p, int i)
{
    return vec_bytes(s->out, n) - out_part(s, n, p, (i + 1) % p);
}

static inline uint64_t master_bytes(const struct vec_sum *s, size_t n, int p, int k, int me)
{
    const int i = me % k;
    uint64_t bytes = ring_bytes(s, n, k, i, true) + gather_bytes(s, n, k, i);
    if (i > 0)
        return bytes + partial_part(s, n, k, i);
    return bytes + ring_bytes(s, n, p / k, me / k, false) + gather_bytes(s, n, p / k, me / k) +
           vec_bytes(s->out, n) - out_part(s, n, k, 0);
}

/* UINT64_MAX: there is no formula. */
static inline uint64_t formula_bytes(const struct algo *a, int p, int k, int me,
                                     const struct vec_sum *s, size_t n)
{
    const uint64_t in = vec_bytes(s->in, n), others = (uint64_t)(p - 1);
    if (p == 1)
        return 0;
    if (a == &algo_direct)
        return in - in_part(s, n, p, me) + others * out_part(s, n, p, me);
    if (a == &algo_ring)
        return ring_bytes(s, n, p, me, true) + gather_bytes(s, n, p, me);
    if (a == &algo_group_master)
        return master_bytes(s, n, p, k, me);
    if (a == &algo_gather || a == &algo_gather_sum)
        return others * in;
    if (a == &algo_native)
        return in;
    if (a == &algo_group_scatter) {
        const int nodes = p / k, node = me / k, i = me % k;
        const size_t mine = part_n(n, k, i), range = part_n(mine, nodes, node);
        struct vec_sum of_node = *s;
        of_node.n_ranks = k;
        const uint64_t across = s->rule == VEC_EXACT ? vec_wide_bytes(&of_node, mine - range)
                                                     : vec_bytes(vec_acc_fmt(s), mine - range);
        const uint64_t inside = in - in_part(s, n, k, i) + (uint64_t)(k - 1) * out_part(s, n, k, i);
        return inside + (nodes > 1 ? across + (uint64_t)(nodes - 1) * vec_bytes(s->out, range) : 0);
    }
    return UINT64_MAX;
}

#endif
