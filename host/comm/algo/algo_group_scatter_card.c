/* algo_group_scatter_card.c : runs group-scatter in one node while a card in rank 0's machine adds,
 * bit for bit like algo_group_scatter.c. Only rank 0 can find out that the card is lost. It then
 * adds the rest of the call itself and tells the other ranks after each sum. Later calls run
 * group-scatter without a card. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"

enum { SEGMENT = 1 << 20 }; /* elements, enough for a card; rank 0 holds P segments */

struct layout {
    void *acc;
    uint8_t *store; /* [(P - 1) segments] other ranks' codes */
};

static size_t segment_of(const struct reduce_op *f, size_t left)
{
    const size_t most = f->unit < SEGMENT ? SEGMENT / f->unit * f->unit : f->unit;
    return left < most ? left : most;
}

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, void *scratch,
                      struct layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->store = algo_take(&a, (size_t)(n_ranks - 1) * algo_bytes(f, ALGO_IN, segment_of(f, n)));
    return a.used;
}

static size_t card_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    struct layout l;
    const size_t with = lay_out(f, n, n_ranks, NULL, &l),
                 without = algo_group_scatter.scratch_bytes(f, n, n_ranks, group);
    return with > without ? with : without;
}

static int add_segment(struct comm *c, const struct algo_call *call, struct algo_range r)
{
    const int n_ranks = comm_n_ranks(c);
    const struct reduce_op *f = &call->op;
    const size_t bytes = algo_bytes(f, ALGO_IN, r.n);
    uint8_t *sums = call->result + algo_bytes(f, ALGO_OUT, r.at);
    const uint8_t **parts = c->host_scratch;
    struct algo_node_sum *node = call->node;
    struct layout l;
    lay_out(f, call->n, n_ranks, call->scratch, &l);
    parts[0] = call->codes + algo_bytes(f, ALGO_IN, r.at);
    for (int from = 1; from < n_ranks; from++) {
        uint8_t *place = l.store + (size_t)(from - 1) * bytes;
        TRY(comm_recv(c, from, place, bytes));
        parts[from] = place;
    }
    TRY(comm_round(c));
    node->gone = node->gone || !node->add(node->arg, parts, n_ranks, r.n, sums);
    if (node->gone)
        algo_add_parts(f, r, ALGO_IN, parts, n_ranks, l.acc, ALGO_OUT, sums);
    for (int to = 1; to < n_ranks; to++) {
        TRY(comm_send(c, to, sums, algo_bytes(f, ALGO_OUT, r.n)));
        TRY(comm_send(c, to, &node->gone, sizeof node->gone));
    }
    return comm_round(c);
}

static int hand_in(struct comm *c, const struct algo_call *call, struct algo_range r)
{
    const struct reduce_op *f = &call->op;
    TRY(comm_send(c, 0, call->codes + algo_bytes(f, ALGO_IN, r.at), algo_bytes(f, ALGO_IN, r.n)));
    TRY(comm_recv(c, 0, call->result + algo_bytes(f, ALGO_OUT, r.at),
                  algo_bytes(f, ALGO_OUT, r.n)));
    TRY(comm_recv(c, 0, &call->node->gone, sizeof call->node->gone));
    return comm_round(c);
}

static int card_run(struct comm *c, const struct algo_call *call)
{
    if (!call->node || call->node->gone)
        return algo_group_scatter.run(c, call);
    struct algo_range r = {.at = 0};
    for (; r.at < call->n; r.at += r.n) {
        r.n = segment_of(&call->op, call->n - r.at);
        TRY(comm_rank(c) > 0 ? hand_in(c, call, r) : add_segment(c, call, r));
    }
    return 0;
}

static int card_check(const struct codec *codec, int n_ranks, int group)
{
    return algo_group_scatter.check(codec, n_ranks, group);
}

const struct algo algo_group_scatter_card = {
    .name = "group-scatter",
    .needs = REDUCE_PARTS | REDUCE_WIDE | REDUCE_NODES,
    .grouped = true,
    .check = card_check,
    .scratch_bytes = card_scratch_bytes,
    .run = card_run,
};
