/* algo_group_master_gpu.c : runs group-master on GPUs, bit for bit like algo_group_master.c.
 * Masters form a ring over MPI, from pinned memory. */
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "comm/gpu/gpu_peers.h"
#include "vec/gpu/gpu.h"
#include <stdlib.h>

struct master {
    struct gpu_peers *peers;
    uint8_t *staging; /* pinned, [room], on a master */
    size_t room;
};

/* a call's scratch, in device memory */
struct layout {
    uint8_t *group; /* [part_bytes(n)] the group's sum, complete on the master */
    uint8_t *store; /* [gpu_peers_store_bytes()] */
};
static size_t lay_out(const struct gpu_peers_link *link, const struct algo_cut *in, void *scratch,
                      struct layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->group = algo_take(&a, algo_bytes(in->op, ALGO_PART, in->whole.n));
    l->store = algo_take(&a, gpu_peers_store_bytes(link, in));
    return a.used;
}

/* the master's pinned buffers */
struct stage {
    uint8_t *group, *hop, *result;
};
static size_t lay_out_stage(const struct algo_cut *ring, void *base, struct stage *s)
{
    struct algo_arena a = {.base = base};
    s->group = algo_take(&a, algo_bytes(ring->op, ALGO_PART, ring->whole.n));
    s->hop = algo_take(&a, 2 * algo_hop_bytes(ring));
    s->result = algo_take(&a, algo_bytes(ring->op, ALGO_OUT, ring->whole.n));
    return a.used;
}

/* Grows in the first step, and later only if nc_force_fp32() makes buckets longer. */
static int stage_room(struct master *g, size_t bytes)
{
    if (bytes <= g->room)
        return 0;
    gpu()->run->free_pinned(g->staging);
    g->staging = gpu()->run->alloc_pinned(bytes);
    g->room = g->staging ? bytes : 0;
    return g->staging ? 0 : -ENOMEM;
}

static int among_masters(struct comm *c, const struct algo_call *call, struct master *g,
                         const uint8_t *group)
{
    const struct algo_set masters = algo_across(c, call->group);
    const struct reduce_op *f = &call->op;
    const struct algo_cut in = {
        .op = f, .form = ALGO_PART, .whole = {.n = call->n}, .n_parts = masters.n};
    const struct algo_cut out = {
        .op = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = masters.n};
    struct stage s;
    TRY(stage_room(g, lay_out_stage(&in, NULL, &s)));
    lay_out_stage(&in, g->staging, &s);
    TRY(gpu_peers_copy(s.group, group, algo_bytes(f, ALGO_PART, call->n)));
    TRY(algo_ring_reduce(c, &masters, &in, s.group, NULL, s.hop, ALGO_OUT, s.result));
    TRY(algo_ring_allgather(c, &masters, &out, s.result));
    return gpu_peers_copy(call->result, s.result, algo_bytes(f, ALGO_OUT, call->n));
}

static void master_close(struct comm *c, struct algo_buffers *buffers)
{
    struct master *g = buffers->state;
    (void)c;
    gpu_peers_close(g->peers);
    gpu()->run->free_pinned(g->staging);
    free(g);
}

static int master_open(struct comm *c, const struct algo_call *call,
                       const struct gpu_peers_link *link)
{
    const struct algo_set node = algo_node(c, call->group);
    struct master *g = buf_alloc(sizeof *g);
    int rc = comm_agree(c, g ? 0 : -ENOMEM);
    if (rc == 0)
        rc = gpu_peers_open(c, &node, link, call->buffers, &g->peers);
    if (rc == 0)
        call->buffers->state = g;
    else
        free(g);
    return rc;
}

static int master_on(struct comm *c, const struct algo_call *call,
                     const struct gpu_peers_link *link)
{
    const struct algo_set node = algo_node(c, call->group);
    const struct reduce_op *f = &call->op;
    const struct algo_cut in = {
        .op = f, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = node.n};
    const struct algo_cut sums = {.op = f, .form = ALGO_PART, .whole = in.whole, .n_parts = node.n};
    struct layout l;
    lay_out(link, &in, call->scratch, &l);
    if (!call->buffers->state)
        TRY(master_open(c, call, link));
    struct master *g = call->buffers->state;
    TRY(gpu_peers_gather(g->peers, &in, call->codes, l.store));
    for (int i = 0; i < node.n; i++) /* ring order: this member's codes come last */
        g->peers->order[i] = g->peers->parts[(node.me + 1 + i) % node.n];
    algo_add_parts(f, algo_cut_range(&in, node.me), ALGO_IN, g->peers->order, node.n, NULL,
                   ALGO_PART, l.group + algo_cut_at(&sums, node.me));
    TRY(gpu_peers_noted(g->peers, gpu_failed()));
    TRY(gpu_peers_to_first(g->peers, &sums, l.group));
    if (node.me == 0)
        TRY(gpu_peers_noted(g->peers, among_masters(c, call, g, l.group)));
    return gpu_peers_from_first(g->peers, call->result, algo_bytes(f, ALGO_OUT, call->n));
}

static int master_ipc(struct comm *c, const struct algo_call *call)
{
    return master_on(c, call, &gpu_peers_ipc);
}
static int master_nccl(struct comm *c, const struct algo_call *call)
{
    return master_on(c, call, &gpu_peers_nccl);
}

static size_t scratch_on(const struct gpu_peers_link *link, const struct reduce_op *f, size_t n,
                         int group)
{
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = group};
    struct layout l;
    return lay_out(link, &in, NULL, &l);
}
static size_t ipc_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n_ranks;
    return scratch_on(&gpu_peers_ipc, f, n, group);
}
static size_t nccl_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n_ranks;
    return scratch_on(&gpu_peers_nccl, f, n, group);
}

static int master_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec;
    return algo_check_group(algo_group_master_ipc.name, n_ranks, group);
}

#define MASTER                                                                             \
    .name = "group-master", .needs = REDUCE_PARTS, .grouped = true, .check = master_check, \
    .close = master_close

const struct algo algo_group_master_ipc = {MASTER, .scratch_bytes = ipc_scratch_bytes,
                                           .run = master_ipc};
const struct algo algo_group_master_nccl = {MASTER, .scratch_bytes = nccl_scratch_bytes,
                                            .run = master_nccl};
