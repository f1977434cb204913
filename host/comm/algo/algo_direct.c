/* algo_direct.c : all-reduces by sending range r of all ranks straight to rank r, which adds it in
 * rank order and sends the sum to all ranks. */
#include "comm/algo/algo_pipe.h"
#include "comm/comm_inside.h"

static size_t direct_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)group;
    return algo_pipe_scratch_bytes(f, n, n_ranks, n_ranks);
}

static int direct_run(struct comm *c, const struct algo_call *call)
{
    return algo_pipe_run(c, call, c->n_ranks, ALGO_PIPE_BOTH);
}

static int direct_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                         struct algo_phase *phases)
{
    const int n_phases = algo_pipe_phases(f, n, n_ranks, n_ranks, phases);
    (void)group;
    for (int i = 0; i < n_phases; i++)
        phases[i].inside = false;
    return n_phases;
}

const struct algo algo_direct = {
    .name = "direct",
    .help = "rank r adds part r in rank order and sends the sum to all: 2 rounds",
    .flows = true,
    .scratch_bytes = direct_scratch_bytes,
    .run = direct_run,
    .phases = direct_phases,
    .by_nccl = &algo_direct_nccl,
    .by_ipc = &algo_direct_ipc,
    .device_codes = true,
};
