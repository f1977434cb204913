/* algo_range.c : computes each rank's part of a vector and its place in memory. */
#include "comm/algo/algo_step.h"
#include <assert.h>

struct algo_range algo_part(struct algo_range whole, size_t unit, int n_parts, int i)
{
    const size_t units = whole.n / unit, p = (size_t)n_parts, k = (size_t)i;
    const size_t each = units / p, longer = units % p;
    assert(whole.n % unit == 0 && i >= 0 && i < n_parts);
    return (struct algo_range){.at = whole.at + unit * (k * each + (k < longer ? k : longer)),
                               .n = unit * (each + (k < longer))};
}

size_t algo_cut_longest(const struct algo_range *cut, int n_ranks)
{
    size_t n = 0;
    for (int r = 0; r < n_ranks; r++)
        n = cut[r].n > n ? cut[r].n : n;
    return n;
}

size_t algo_bytes(const struct reduce_op *f, enum algo_form form, size_t n)
{
    switch (form) {
    case ALGO_IN:
        return f->ops->in_bytes(f, n);
    case ALGO_PART:
        return f->ops->part_bytes(f, n);
    case ALGO_OUT:
        return f->ops->out_bytes(f, n);
    default:
        return f->ops->wide_bytes(f, n);
    }
}

struct algo_range algo_cut_range(const struct algo_cut *cut, int i)
{
    return cut->ranges ? cut->ranges[i] : algo_part(cut->whole, cut->op->unit, cut->n_parts, i);
}

size_t algo_place(const struct reduce_op *f, enum algo_form form, size_t at)
{
    return algo_bytes(f, form, at) - reduce_op_spared(f, at);
}

size_t algo_cut_at(const struct algo_cut *cut, int i)
{
    return algo_place(cut->op, cut->form, algo_cut_range(cut, i).at) -
           algo_place(cut->op, cut->form, cut->whole.at);
}

size_t algo_cut_bytes(const struct algo_cut *cut, int i)
{
    const struct algo_range r = algo_cut_range(cut, i);
    return algo_place(cut->op, cut->form, r.at + r.n) - algo_place(cut->op, cut->form, r.at);
}

size_t algo_cut_most(const struct algo_cut *cut)
{
    const size_t n =
        cut->ranges ? algo_cut_longest(cut->ranges, cut->n_parts) : algo_cut_range(cut, 0).n;
    return algo_bytes(cut->op, cut->form, n);
}

struct algo_set algo_all(const struct comm *c)
{
    return (struct algo_set){.first = 0, .stride = 1, .n = comm_n_ranks(c), .me = comm_rank(c)};
}

struct algo_set algo_node(const struct comm *c, int group)
{
    const int me = comm_rank(c) % group;
    return (struct algo_set){.first = comm_rank(c) - me, .stride = 1, .n = group, .me = me};
}

struct algo_set algo_across(const struct comm *c, int group)
{
    return (struct algo_set){.first = comm_rank(c) % group,
                             .stride = group,
                             .n = comm_n_ranks(c) / group,
                             .me = comm_rank(c) / group};
}

void *algo_take(struct algo_arena *a, size_t bytes)
{
    void *place = a->base ? a->base + a->used : NULL;
    a->used += (bytes + 63) & ~(size_t)63;
    return place;
}
