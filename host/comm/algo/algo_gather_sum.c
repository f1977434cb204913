/* algo_gather_sum.c : all-reduces short vectors by gathering all codes in few messages.
 *
 * A message costs more than the bytes of a short vector. ceil(log2 P) messages of doubling length
 * are therefore faster than P - 1 (`gather`) or 2(P - 1) (`direct`). Source: Bruck et al.,
 * Efficient Algorithms for All-to-All Communications, 1997, section 4. */
#include "base/err.h"
#include "comm/algo/algo.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"

struct layout {
    void *acc;
    uint8_t *all; /* [P * in_bytes(n)] */
    const uint8_t **parts;
};

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, void *scratch,
                      struct layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->all = algo_take(&a, (size_t)n_ranks * algo_bytes(f, ALGO_IN, n));
    l->parts = algo_take(&a, (size_t)n_ranks * sizeof *l->parts);
    return a.used;
}

static size_t gather_sum_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)group;
    struct layout l;
    return lay_out(f, n, n_ranks, NULL, &l);
}

static int gather_sum_run(struct comm *c, const struct algo_call *call)
{
    struct layout l;
    lay_out(&call->op, call->n, comm_n_ranks(c), call->scratch, &l);
    const size_t bytes = algo_place(&call->op, ALGO_IN, call->n);
    TRY(comm_all_gather(c, call->codes, bytes, l.all, l.parts));
    algo_add_parts(&call->op, (struct algo_range){.n = call->n}, ALGO_IN, l.parts, comm_n_ranks(c),
                   l.acc, ALGO_OUT, call->result);
    return 0;
}

static int gather_sum_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                             struct algo_phase *phases)
{
    const uint64_t bytes = algo_bytes(f, ALGO_IN, n);
    int n_phases = 0;
    (void)group;
    for (int have = 1; have < n_ranks && n_phases < ALGO_PHASES; have *= 2) {
        const bool is_last = 2 * have >= n_ranks;
        const uint64_t more = (uint64_t)(is_last ? n_ranks - have : have) * bytes;
        n_phases = algo_phase_add(
            phases, n_phases,
            (struct algo_phase){.steps = 1,
                                .sent = more,
                                .got = more,
                                .n_sent = 1,
                                .n_got = 1,
                                .added_bytes = is_last ? (uint64_t)n_ranks * bytes : 0},
            false);
    }
    return n_phases;
}

static int gather_sum_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec, (void)group;
    if (n_ranks > 1 << ALGO_PHASES)
        return ERR(-EINVAL, "\"gather-sum\" cannot run on %d ranks: at most %d; direct takes more",
                   n_ranks, 1 << ALGO_PHASES);
    return 0;
}

const struct algo algo_gather_sum = {
    .name = "gather-sum",
    .help = "for short steps: exponents and all codes go to all ranks in log2 P messages, and each "
            "rank adds them in rank order",
    .together = true,
    .check = gather_sum_check,
    .scratch_bytes = gather_sum_scratch_bytes,
    .run = gather_sum_run,
    .phases = gather_sum_phases,
};
