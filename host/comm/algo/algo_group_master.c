/* algo_group_master.c : all-reduces in groups of K consecutive ranks, the first of them the master;
 * the masters form a ring. Additions have the ring's order, among members, then among masters.
 * Source: APS paper, section 4.2. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"

struct layout {
    void *acc;
    uint8_t *hop;   /* [2 ranges] of the group's or the masters' ring */
    uint8_t *group; /* [part_bytes(n)] the group's sum */
};

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, int group, void *scratch,
                      struct layout *l)
{
    /* ranks in the ring with the longer ranges */
    const int fewest = group < n_ranks / group ? group : n_ranks / group;
    const struct algo_cut longest = {
        .op = f, .form = ALGO_PART, .whole = {.n = n}, .n_parts = fewest};
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->hop = algo_take(&a, 2 * algo_hop_bytes(&longest));
    l->group = algo_take(&a, algo_bytes(f, ALGO_PART, n));
    return a.used;
}

static size_t master_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    struct layout l;
    return lay_out(f, n, n_ranks, group, NULL, &l);
}

/* The master takes K - 1 rounds, a member 1. */
enum direction { TO_MASTER, FROM_MASTER };
static int with_master(struct comm *c, const struct algo_set *node, const struct algo_cut *cut,
                       enum direction way, uint8_t *vector)
{
    const int first = node->me == 0 ? 1 : node->me, last = node->me == 0 ? node->n - 1 : node->me;
    for (int i = first; i <= last; i++) {
        uint8_t *part = vector + algo_cut_at(cut, i);
        const int other = algo_rank(node, node->me == 0 ? i : 0);
        const bool receives = (node->me == 0) == (way == TO_MASTER);
        TRY(receives ? comm_recv(c, other, part, algo_cut_bytes(cut, i))
                     : comm_send(c, other, part, algo_cut_bytes(cut, i)));
        TRY(comm_round(c));
    }
    return 0;
}

static int among_masters(struct comm *c, const struct algo_call *call, const struct layout *l)
{
    const struct algo_set masters = algo_across(c, call->group);
    const struct algo_cut in = {
        .op = &call->op, .form = ALGO_PART, .whole = {.n = call->n}, .n_parts = masters.n};
    const struct algo_cut out = {
        .op = &call->op, .form = ALGO_OUT, .whole = in.whole, .n_parts = masters.n};
    TRY(algo_ring_reduce(c, &masters, &in, l->group, l->acc, l->hop, ALGO_OUT, call->result));
    return algo_ring_allgather(c, &masters, &out, call->result);
}

static int master_run(struct comm *c, const struct algo_call *call)
{
    const struct algo_set node = algo_node(c, call->group);
    const struct algo_cut in = {
        .op = &call->op, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = node.n};
    const struct algo_cut sums = {
        .op = &call->op, .form = ALGO_PART, .whole = in.whole, .n_parts = node.n};
    const struct algo_cut out = {
        .op = &call->op, .form = ALGO_OUT, .whole = in.whole, .n_parts = node.n};
    struct layout l;
    lay_out(&call->op, call->n, comm_n_ranks(c), call->group, call->scratch, &l);
    TRY(algo_ring_reduce(c, &node, &in, call->codes, l.acc, l.hop, ALGO_PART, l.group));
    TRY(with_master(c, &node, &sums, TO_MASTER, l.group));
    TRY(algo_rescale(c, &call->op, (struct algo_range){.n = node.me == 0 ? call->n : 0}, l.group));
    if (node.me == 0)
        TRY(among_masters(c, call, &l));
    TRY(with_master(c, &node, &out, FROM_MASTER, call->result));
    return algo_ring_allgather(c, &node, &out, call->result);
}

static int master_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                         struct algo_phase *phases)
{
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = group};
    const struct algo_cut out = {.op = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = group};
    const struct algo_cut sums = {.op = f, .form = ALGO_PART, .whole = in.whole, .n_parts = group};
    const struct algo_cut masters_in = {
        .op = f, .form = ALGO_PART, .whole = in.whole, .n_parts = n_ranks / group};
    const struct algo_cut masters_out = {
        .op = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = n_ranks / group};
    const struct algo_phase to = {.steps = group - 1, .got = algo_cut_most(&sums), .n_got = 1};
    const struct algo_phase from = {.steps = group - 1, .sent = algo_cut_most(&out), .n_sent = 1};
    int n_phases = algo_phase_ring_reduce(phases, 0, &in, true);
    n_phases = algo_phase_add(phases, n_phases, to, true);
    n_phases = algo_phase_ring_reduce(phases, n_phases, &masters_in, false);
    n_phases = algo_phase_add(phases, n_phases, algo_phase_ring(&masters_out), false);
    n_phases = algo_phase_add(phases, n_phases, from, true);
    return algo_phase_add(phases, n_phases, algo_phase_ring(&out), true);
}

static int master_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec;
    return algo_check_group(algo_group_master.name, n_ranks, group);
}

const struct algo algo_group_master = {
    .name = "group-master",
    .help = "groups of K reduce to a master, and the masters form a ring: 4(K-1)+2(P/K-1) rounds",
    .needs = REDUCE_PARTS,
    .grouped = true,
    .check = master_check,
    .scratch_bytes = master_scratch_bytes,
    .run = master_run,
    .phases = master_phases,
    .by_nccl = &algo_group_master_nccl,
    .by_ipc = &algo_group_master_ipc,
    .device_codes = true,
};
