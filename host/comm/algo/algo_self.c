/* algo_self.c : rounds a single rank's codes like a sum of one addend. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"

static int self_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec, (void)group;
    if (n_ranks != 1)
        return ERR(-EINVAL, "\"self\" adds nothing: it needs 1 rank, not %d", n_ranks);
    return 0;
}

static size_t self_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n, (void)n_ranks, (void)group;
    return algo_acc_bytes(f);
}

static int self_run(struct comm *c, const struct algo_call *call)
{
    (void)c;
    algo_add_parts(&call->op, (struct algo_range){.n = call->n}, ALGO_IN, &call->codes, 1,
                   call->scratch, ALGO_OUT, call->result);
    return 0;
}

static int self_allgather(struct comm *c, const struct algo_call *call)
{
    (void)c, (void)call;
    return 0;
}

static int self_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                       struct algo_phase *phases)
{
    (void)f, (void)n, (void)n_ranks, (void)group, (void)phases;
    return 0;
}

const struct algo algo_self = {
    .name = "self",
    .help = "a single rank",
    .check = self_check,
    .scratch_bytes = self_scratch_bytes,
    .run = self_run,
    .allgather = self_allgather,
    .phases = self_phases,
};
