/* algo_scatter.c : reduce-scatters like `direct`, but by the caller's ranges; gathers them on all
 * ranks. */
#include "comm/algo/algo_pipe.h"
#include "comm/comm_inside.h"

static size_t scatter_scratch_bytes(const struct reduce_op *f, size_t longest, int n_ranks,
                                    int group)
{
    (void)group;
    return algo_pipe_cut_bytes(f, longest, n_ranks);
}

static int scatter_run(struct comm *c, const struct algo_call *call)
{
    return algo_pipe_run(c, call, c->n_ranks, ALGO_PIPE_REDUCE);
}
static int scatter_allgather(struct comm *c, const struct algo_call *call)
{
    return algo_pipe_run(c, call, c->n_ranks, ALGO_PIPE_GATHER);
}

const struct algo algo_scatter = {
    .name = "direct",
    .flows = true,
    .scratch_bytes = scatter_scratch_bytes,
    .run = scatter_run,
    .allgather = scatter_allgather,
    .by_nccl = &algo_scatter_nccl,
    .by_ipc = &algo_scatter_ipc,
    .device_codes = true,
};
