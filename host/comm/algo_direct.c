/* algo_direct.c : range r of all ranks goes straight to rank r, which adds in rank order and sends the sum to all.
 *
 * 2 rounds; a rank sends its codes but for its own range, and P - 1 times its range of the sum: the bytes of a ring. */
#include "comm/algo.h"
#include "base/err.h"
#include "comm/algo_step.h"

struct layout {
    void *acc;
    const uint8_t **parts; /* [P] */
    uint8_t *store;        /* [P - 1 ranges] */
};

static size_t lay_out(const struct fold *f, size_t n, int n_ranks, void *scratch, struct layout *l)
{
    const struct algo_cut in = {.fold = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->parts = algo_take(&a, (size_t)n_ranks * sizeof *l->parts);
    l->store = algo_take(&a, (size_t)(n_ranks - 1) * algo_cut_bytes(&in, 0));
    return a.used;
}

static size_t direct_scratch_bytes(const struct fold *f, size_t n, int n_ranks, int group)
{
    (void)group;
    struct layout l;
    return lay_out(f, n, n_ranks, NULL, &l);
}

static int direct_run(struct comm *c, const struct algo_call *call)
{
    const struct fold *f = &call->fold;
    const struct algo_set all = algo_all(c);
    const struct algo_cut in = {.fold = f, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = all.n};
    const struct algo_cut out = {.fold = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = all.n};
    struct layout l;
    lay_out(f, call->n, all.n, call->scratch, &l);
    TRY(algo_alltoall(c, &all, &in, call->codes, l.store, l.parts));
    algo_fold(f, algo_cut_range(&in, all.me), ALGO_IN, l.parts, all.n, l.acc, ALGO_OUT,
              call->result + algo_cut_at(&out, all.me));
    return algo_allgather(c, &all, &out, call->result);
}

const struct algo algo_direct = {
    .name = "direct",
    .help = "range r to rank r, which adds in rank order and sends the sum to all: 2 rounds",
    .rules = 1u << VEC_EXACT | 1u << VEC_FP32 | 1u << VEC_NEAREST | 1u << VEC_KAHAN | 1u << VEC_TRUNC,
    .scratch_bytes = direct_scratch_bytes,
    .run = direct_run,
};
