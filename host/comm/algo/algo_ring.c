/* algo_ring.c : all-reduces around a ring: partial sums, rounded at every hop, then the sums.
 * README.md of host/comm has the order of additions. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"

struct layout {
    void *acc;
    uint8_t *hop; /* [2 ranges] */
};

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, void *scratch,
                      struct layout *l)
{
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->hop = algo_take(&a, 2 * algo_hop_bytes(&in));
    return a.used;
}

static size_t ring_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)group;
    struct layout l;
    return lay_out(f, n, n_ranks, NULL, &l);
}

static int ring_run(struct comm *c, const struct algo_call *call)
{
    const struct algo_set all = algo_all(c);
    const struct algo_cut in = {
        .op = &call->op, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = all.n};
    const struct algo_cut out = {
        .op = &call->op, .form = ALGO_OUT, .whole = in.whole, .n_parts = all.n};
    struct layout l;
    lay_out(&call->op, call->n, all.n, call->scratch, &l);
    TRY(algo_ring_reduce(c, &all, &in, call->codes, l.acc, l.hop, ALGO_OUT, call->result));
    return algo_ring_allgather(c, &all, &out, call->result);
}

static int ring_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                       struct algo_phase *phases)
{
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    const struct algo_cut out = {.op = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = n_ranks};
    (void)group;
    const int n_phases = algo_phase_ring_reduce(phases, 0, &in, false);
    return algo_phase_add(phases, n_phases, algo_phase_ring(&out), false);
}

const struct algo algo_ring = {
    .name = "ring",
    .help = "partial sums travel around a ring and are rounded at every hop: 2(P-1) rounds",
    .needs = REDUCE_PARTS,
    .scratch_bytes = ring_scratch_bytes,
    .run = ring_run,
    .phases = ring_phases,
    .device_codes = true,
};
