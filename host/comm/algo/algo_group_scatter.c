/* algo_group_scatter.c : all-reduces by all-to-all inside nodes of K consecutive ranks, then each
 * part across nodes, then all-to-all inside nodes again. Additions are in rank order, then in node
 * order. Between nodes exact sums travel wide and unrounded, so the bits are those of `direct`.
 * Source: APS paper, section 4.2; fp8 paper, Algorithm 1. */
#include "comm/algo/algo_pipe.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"

struct cuts {
    struct algo_cut inside; /* among a node's members */
    struct algo_cut across; /* member me's part among the nodes */
};

/* form: ALGO_IN: codes inside a node, partial sums between nodes; ALGO_OUT: results in both. */
static struct cuts cut_up(const struct reduce_op *f, enum algo_form form, size_t n, int n_ranks,
                          int group, int me)
{
    const struct algo_cut inside = {.op = f, .form = form, .whole = {.n = n}, .n_parts = group};
    return (struct cuts){inside,
                         {.op = f,
                          .form = form == ALGO_OUT ? ALGO_OUT : algo_pipe_form(f),
                          .whole = algo_cut_range(&inside, me),
                          .n_parts = n_ranks / group}};
}

struct layout {
    void *acc;
    uint8_t *store;      /* [K - 1 parts of the vector] */
    uint8_t *node;       /* the node's sum of this rank's part */
    uint8_t *node_store; /* [P/K - 1 ranges of that part] */
};

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, int group, void *scratch,
                      struct layout *l)
{
    const struct reduce_op op = algo_pipe_op(f, group);
    /* member 0 has the longest part */
    const struct cuts in = cut_up(&op, ALGO_IN, n, n_ranks, group, 0);
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->store = algo_take(&a, (size_t)(group - 1) * algo_cut_most(&in.inside));
    l->node = algo_take(&a, algo_bytes(&op, in.across.form, in.across.whole.n));
    l->node_store = algo_take(&a, (size_t)(n_ranks / group - 1) * algo_cut_most(&in.across));
    return a.used;
}

static size_t scatter_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    struct layout l;
    const size_t whole = lay_out(f, n, n_ranks, group, NULL, &l),
                 pipe = algo_pipe_scratch_bytes(f, n, n_ranks, group);
    return whole > pipe ? whole : pipe;
}

static int add_nodes(struct comm *c, const struct algo_call *call, const struct algo_cut *across,
                     const struct layout *l, uint8_t *mine)
{
    const struct algo_set nodes = algo_across(c, call->group);
    const uint8_t **parts = c->host_scratch;
    TRY(algo_rescale(c, &call->op, across->whole, l->node));
    TRY(algo_alltoall(c, &nodes, across, l->node, l->node_store, parts));
    algo_add_parts(across->op, algo_cut_range(across, nodes.me), across->form, parts, nodes.n,
                   l->acc, ALGO_OUT, mine);
    return 0;
}

/* Leaves this rank with the sums of its range of its part. */
static int reduce(struct comm *c, const struct algo_call *call)
{
    const struct algo_set node = algo_node(c, call->group), nodes = algo_across(c, call->group);
    const int n_ranks = comm_n_ranks(c);
    const struct reduce_op op = algo_pipe_op(&call->op, call->group), *f = &op;
    const struct cuts in = cut_up(f, ALGO_IN, call->n, n_ranks, call->group, node.me);
    uint8_t *mine = call->result + reduce_op_out_at(f, algo_cut_range(&in.across, nodes.me).at);
    const uint8_t **parts = c->host_scratch;
    struct layout l;
    lay_out(f, call->n, n_ranks, call->group, call->scratch, &l);
    TRY(algo_alltoall(c, &node, &in.inside, call->codes, l.store, parts));
    algo_add_parts(f, in.across.whole, ALGO_IN, parts, node.n, l.acc,
                   nodes.n == 1 ? ALGO_OUT : in.across.form, nodes.n == 1 ? mine : l.node);
    return nodes.n == 1 ? 0 : add_nodes(c, call, &in.across, &l, mine);
}

static int spread(struct comm *c, const struct algo_call *call)
{
    const struct algo_set node = algo_node(c, call->group), nodes = algo_across(c, call->group);
    const struct cuts out =
        cut_up(&call->op, ALGO_OUT, call->n, comm_n_ranks(c), call->group, node.me);
    TRY(algo_allgather(c, &nodes, &out.across, call->result + algo_cut_at(&out.inside, node.me)));
    return algo_allgather(c, &node, &out.inside, call->result);
}

/* Sums that are cast again need the largest of the whole vector first. */
static int scatter_whole(struct comm *c, const struct algo_call *call)
{
    algo_need(call->flow, 0, call->n);
    TRY(reduce(c, call));
    TRY(spread(c, call));
    algo_have(call->flow, 0, call->n);
    return 0;
}

static int scatter_run(struct comm *c, const struct algo_call *call)
{
    size_t n_scales = 0;
    if (call->op.ops->scales)
        call->op.ops->scales(&call->op, &n_scales);
    return n_scales ? scatter_whole(c, call) : algo_pipe_run(c, call, call->group, ALGO_PIPE_BOTH);
}

static int scatter_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec;
    return algo_check_group(algo_group_scatter.name, n_ranks, group);
}

const struct algo algo_group_scatter = {
    .name = "group-scatter",
    .help = "all-to-all inside nodes of K ranks, then each part across nodes: 4 rounds",
    .needs = REDUCE_PARTS | REDUCE_WIDE | REDUCE_NODES,
    .grouped = true,
    .flows = true,
    .check = scatter_check,
    .scratch_bytes = scatter_scratch_bytes,
    .run = scatter_run,
    .phases = algo_pipe_phases,
    .by_nccl = &algo_group_scatter_nccl,
    .by_ipc = &algo_group_scatter_ipc,
    .device_codes = true,
};

static size_t exact_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    return algo_is_wide(f) ? scatter_scratch_bytes(f, n, n_ranks, group)
                           : algo_direct.scratch_bytes(f, n, n_ranks, 0);
}

static int exact_run(struct comm *c, const struct algo_call *call)
{
    struct algo_call flat = *call;
    flat.group = 0;
    return algo_is_wide(&call->op) ? scatter_run(c, call) : algo_direct.run(c, &flat);
}

const struct algo algo_group_scatter_exact = {
    .name = "group-scatter",
    .grouped = true,
    .flows = true,
    .check = scatter_check,
    .scratch_bytes = exact_scratch_bytes,
    .run = exact_run,
    .by_nccl = &algo_group_scatter_exact_nccl,
    .by_ipc = &algo_group_scatter_exact_ipc,
    .device_codes = true,
};
