/* algo_group_scatter.c : all to all inside a node, all-reduce of each part across nodes, all to all
 * inside again.
 *
 * A node is K consecutive ranks. Member i of each node adds part i of the node's K vectors in rank
 * order; the ranks of equal index all-reduce their part like `direct`, in node order; members share
 * the result. Between nodes exact sums travel wide, with nothing rounded (so the bits are those of
 * `direct`), the others rounded, to the input format or to one of their own. One node or K = 1 leave out a step; 4 rounds
 * otherwise. Source: APS paper, section 4.2; fp8 paper, Algorithm 1. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"

/* The shape of one call. */
struct plan {
    struct algo_cut in, out;            /* the vector among the members of a node */
    struct algo_cut across, across_out; /* this rank's part among the nodes, and its result */
};

static struct plan make_plan(const struct fold *f, size_t n, int n_ranks, int group, int me)
{
    struct plan p;
    const bool exact = f->ops->wide_bytes(f, f->unit) > 0;
    p.in = (struct algo_cut){.fold = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = group};
    p.out = p.in;
    p.out.form = ALGO_OUT;
    p.across = (struct algo_cut){
        .fold = f, .whole = algo_cut_range(&p.in, me), .n_parts = n_ranks / group};
    p.across.form = exact ? ALGO_WIDE : ALGO_PART;
    p.across_out = p.across;
    p.across_out.form = ALGO_OUT;
    return p;
}

struct layout {
    void *acc;
    uint8_t *store;      /* [K - 1 parts of the vector] */
    uint8_t *node;       /* the node's sum of this rank's part */
    uint8_t *node_store; /* [P/K - 1 ranges of that] */
};

static size_t lay_out(const struct fold *f, size_t n, int n_ranks, int group, void *scratch,
                      struct layout *l)
{
    const struct plan p = make_plan(f, n, n_ranks, group, 0); /* member 0 has the longest part */
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->store = algo_take(&a, (size_t)(group - 1) * algo_cut_most(&p.in));
    l->node = algo_take(&a, algo_bytes(f, p.across.form, p.across.whole.n));
    l->node_store = algo_take(&a, (size_t)(n_ranks / group - 1) * algo_cut_most(&p.across));
    return a.used;
}

static size_t scatter_scratch_bytes(const struct fold *f, size_t n, int n_ranks, int group)
{
    struct layout l;
    return lay_out(f, n, n_ranks, group, NULL, &l);
}

/* result: where this rank's part of the result begins. */
static int across_nodes(struct comm *c, const struct algo_call *call, const struct plan *p,
                        const struct layout *l, uint8_t *result)
{
    const struct algo_set nodes = algo_across(c, call->group);
    const uint8_t **parts = c->book;
    TRY(algo_alltoall(c, &nodes, &p->across, l->node, l->node_store, parts));
    algo_fold(&call->fold, algo_cut_range(&p->across, nodes.me), p->across.form, parts, nodes.n,
              l->acc, ALGO_OUT, result + algo_cut_at(&p->across_out, nodes.me));
    return algo_allgather(c, &nodes, &p->across_out, result);
}

static int scatter_run(struct comm *c, const struct algo_call *call)
{
    const struct algo_set node = algo_node(c, call->group);
    const bool one_node = node.n == comm_n_ranks(c);
    const struct plan p = make_plan(&call->fold, call->n, comm_n_ranks(c), call->group, node.me);
    uint8_t *result = call->result + algo_cut_at(&p.out, node.me);
    const uint8_t **parts = c->book;
    struct layout l;
    lay_out(&call->fold, call->n, comm_n_ranks(c), call->group, call->scratch, &l);
    TRY(algo_alltoall(c, &node, &p.in, call->codes, l.store, parts));
    algo_fold(&call->fold, p.across.whole, ALGO_IN, parts, node.n, l.acc,
              one_node ? ALGO_OUT : p.across.form, one_node ? result : l.node);
    if (!one_node)
        TRY(algo_rescale(c, &call->fold, p.across.whole, l.node));
    if (!one_node)
        TRY(across_nodes(c, call, &p, &l, result));
    return algo_allgather(c, &node, &p.out, call->result);
}

static int scatter_legs(const struct fold *f, size_t n, int n_ranks, int group,
                        struct algo_leg *legs)
{
    const struct plan p = make_plan(f, n, n_ranks, group, 0);
    int n_legs = algo_leg_add(legs, 0, algo_leg_all(&p.in, true), true);
    n_legs = algo_leg_add(legs, n_legs, algo_leg_all(&p.across, true), false);
    n_legs = algo_leg_add(legs, n_legs, algo_leg_all(&p.across_out, false), false);
    return algo_leg_add(legs, n_legs, algo_leg_all(&p.out, false), true);
}

static int scatter_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec;
    return algo_check_group(algo_group_scatter.name, n_ranks, group);
}

const struct algo algo_group_scatter = {
    .name = "group-scatter",
    .help = "all to all inside nodes of K ranks, then each part across nodes: 4 rounds",
    .needs = FOLD_PARTS | FOLD_WIDE | FOLD_NODES,
    .grouped = true,
    .check = scatter_check,
    .scratch_bytes = scatter_scratch_bytes,
    .run = scatter_run,
    .legs = scatter_legs,
    .by_nccl = &algo_group_scatter_nccl,
    .by_ipc = &algo_group_scatter_ipc,
    .device_codes = true,
};
