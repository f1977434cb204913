/* algo_group_scatter_gpu.c : runs group-scatter on GPUs, bit for bit like algo_group_scatter.c.
 *
 * Member i's GPU adds part i of its node's codes, from the members' memory (CUDA IPC) or from
 * memory that NCCL has filled. The nodes' sums travel over MPI in chunks, from pinned memory or, if
 * MPI accepts it, device memory. Instead of sums that would be rounded, group_scatter_exact sends
 * the members' codes:
 *
 *     chunk s   node's sum -> wide[s % 2] => nodes
 *         s-1                 store[..] -> sum -> out[..] => nodes
 *         s-2                                    out[..] -> result */
#include "base/buf.h"
#include "base/err.h"
#include "comm/algo/algo_pipe.h"
#include "comm/comm_inside.h"
#include "comm/comm.h"
#include "comm/gpu/gpu_peers.h"
#include "vec/gpu/gpu.h"
#include <stdlib.h>

enum {
    CHUNK = 256 * 1024, /* elements */
    WIDEST = 8,         /* largest bytes of a partial sum */
    CODE = 4            /* largest bytes of a code */
};

struct scatter {
    struct gpu_peers *peers;
    void *acc; /* device: accumulators of a chunk */
    /* two chunks each, in memory that MPI can access: the node's sum (or the members' codes), other
     * nodes' sums of this rank's range, the result */
    uint8_t *wide[2], *store[2], *out[2];
    bool on_device; /* wide, store and out are in device memory */
};

static void scatter_close(struct comm *c, struct algo_buffers *buffers)
{
    struct scatter *s = buffers->state;
    const struct dev_run_ops *run = gpu()->run;
    (void)c;
    gpu_peers_close(s->peers);
    run->free(s->acc);
    for (int i = 0; i < 2; i++) {
        (s->on_device ? run->free : run->free_pinned)(s->wide[i]);
        (s->on_device ? run->free : run->free_pinned)(s->store[i]);
        (s->on_device ? run->free : run->free_pinned)(s->out[i]);
    }
    free(s);
}

/* Buffers fit any format. One node needs none. element: bytes of a node's sum or codes. */
static int make_buffers(const struct comm *c, struct scatter *s, int n_nodes, size_t element)
{
    const struct dev_run_ops *run = gpu()->run;
    s->on_device = comm_is_mpi(c) && comm_cuda_aware();
    if (n_nodes == 1)
        return 0;
    s->acc = run->alloc((size_t)CHUNK * WIDEST);
    for (int i = 0; i < 2; i++) {
        s->wide[i] = (s->on_device ? run->alloc : run->alloc_pinned)(CHUNK * element);
        s->store[i] = (s->on_device ? run->alloc : run->alloc_pinned)(CHUNK * element);
        s->out[i] = (s->on_device ? run->alloc : run->alloc_pinned)((size_t)CHUNK * CODE);
        if (!s->wide[i] || !s->store[i] || !s->out[i])
            return -ENOMEM;
    }
    return s->acc ? 0 : -ENOMEM;
}

static int scatter_open(struct comm *c, const struct algo_call *call,
                        const struct gpu_peers_link *link, bool exact)
{
    const struct algo_set node = algo_node(c, call->group);
    const size_t codes = exact ? (size_t)call->group * CODE : 0;
    struct scatter *s = buf_alloc(sizeof *s);
    int rc = comm_agree(
        c, s ? make_buffers(c, s, comm_n_ranks(c) / call->group, codes > WIDEST ? codes : WIDEST)
             : -ENOMEM);
    if (rc == 0)
        rc = gpu_peers_open(c, &node, link, call->buffers, &s->peers);
    if (s)
        call->buffers->state = s;
    if (rc < 0 && s) {
        scatter_close(c, call->buffers);
        call->buffers->state = NULL;
    }
    return rc;
}

struct across {
    struct comm *comm;
    const struct algo_call *call;
    struct scatter *s;
    struct algo_set nodes;
    struct algo_range part;
    enum algo_form form; /* of messages between nodes */
    int n_blocks;        /* a node's messages: 1 for its sum, K for its members' codes */
    uint8_t *result;     /* of this rank's part */
};

static struct algo_cut chunk(const struct across *a, size_t i, enum algo_form form)
{
    const size_t skip = i * CHUNK, left = a->part.n - skip;
    return (struct algo_cut){.op = &a->call->op,
                             .form = form,
                             .whole = {.at = a->part.at + skip, .n = left < CHUNK ? left : CHUNK},
                             .n_parts = a->nodes.n};
}

/* Block k of this node's messages, and where that of the node `by` nodes back arrives. */
static uint8_t *block_of(const struct across *a, size_t i, const struct algo_cut *cut, int k)
{
    return a->s->wide[i % 2] + (size_t)k * algo_bytes(cut->op, a->form, cut->whole.n);
}
static uint8_t *block_from(const struct across *a, size_t i, const struct algo_cut *cut, int by,
                           int k)
{
    return a->s->store[i % 2] + (size_t)((by - 1) * a->n_blocks + k) * algo_cut_most(cut);
}

static int add_node(const struct across *a, size_t i)
{
    const struct algo_cut cut = chunk(a, i, a->form);
    struct gpu_peers *m = a->s->peers;
    for (int k = 0; k < m->set.n; k++)
        m->order[k] = m->parts[k] + algo_bytes(cut.op, ALGO_IN, i * CHUNK);
    if (a->n_blocks == 1)
        algo_add_blocks(cut.op, CHUNK, cut.whole, ALGO_IN, m->order, m->set.n, a->s->acc, a->form,
                        block_of(a, i, &cut, 0));
    for (int k = 0; k < a->n_blocks && a->n_blocks > 1; k++)
        TRY(gpu_peers_copy(block_of(a, i, &cut, k), m->order[k],
                           algo_bytes(cut.op, a->form, cut.whole.n)));
    return 0;
}

static int post_node(const struct across *a, size_t i)
{
    const struct algo_cut cut = chunk(a, i, a->form);
    const size_t mine = algo_cut_bytes(&cut, a->nodes.me);
    for (int by = 1; by < a->nodes.n; by++)
        for (int k = 0; k < a->n_blocks; k++)
            TRY(comm_recv(a->comm, algo_rank(&a->nodes, algo_around(&a->nodes, -by)),
                          block_from(a, i, &cut, by, k), mine));
    for (int by = 1; by < a->nodes.n; by++) {
        const int to = algo_around(&a->nodes, by);
        for (int k = 0; k < a->n_blocks; k++)
            TRY(comm_send(a->comm, algo_rank(&a->nodes, to),
                          block_of(a, i, &cut, k) + algo_cut_at(&cut, to),
                          algo_cut_bytes(&cut, to)));
    }
    return 0;
}

static void add_nodes(const struct across *a, size_t i)
{
    const struct algo_cut cut = chunk(a, i, a->form), out = chunk(a, i, ALGO_OUT);
    const uint8_t **parts = a->comm->host_scratch;
    for (int k = 0; k < a->n_blocks; k++) {
        parts[a->nodes.me * a->n_blocks + k] =
            block_of(a, i, &cut, k) + algo_cut_at(&cut, a->nodes.me);
        for (int by = 1; by < a->nodes.n; by++)
            parts[algo_around(&a->nodes, -by) * a->n_blocks + k] = block_from(a, i, &cut, by, k);
    }
    algo_add_blocks(cut.op, CHUNK, algo_cut_range(&cut, a->nodes.me), a->form, parts,
                    a->nodes.n * a->n_blocks, a->s->acc, ALGO_OUT,
                    a->s->out[i % 2] + algo_cut_at(&out, a->nodes.me));
}

static int post_sum(const struct across *a, size_t i)
{
    const struct algo_cut out = chunk(a, i, ALGO_OUT);
    for (int by = 1; by < a->nodes.n; by++) {
        const int from = algo_around(&a->nodes, -by);
        TRY(comm_recv(a->comm, algo_rank(&a->nodes, from),
                      a->s->out[i % 2] + algo_cut_at(&out, from), algo_cut_bytes(&out, from)));
    }
    for (int by = 1; by < a->nodes.n; by++)
        TRY(comm_send(a->comm, algo_rank(&a->nodes, algo_around(&a->nodes, by)),
                      a->s->out[i % 2] + algo_cut_at(&out, a->nodes.me),
                      algo_cut_bytes(&out, a->nodes.me)));
    return 0;
}

static int copy_out(const struct across *a, size_t i)
{
    const struct algo_cut out = chunk(a, i, ALGO_OUT);
    return gpu_peers_copy(a->result + algo_bytes(out.op, ALGO_OUT, i * CHUNK), a->s->out[i % 2],
                          algo_bytes(out.op, ALGO_OUT, out.whole.n));
}

static int across_nodes(const struct across *a)
{
    const size_t n = (a->part.n + CHUNK - 1) / CHUNK;
    a->comm->count.rounds += 2;
    for (size_t i = 0; i < n + 2; i++) {
        if (i < n)
            TRY(add_node(a, i));
        TRY(comm_wait(a->comm)); /* nodes' sums of chunk i - 1, results of chunk i - 2 */
        TRY(gpu_failed());
        if (i < n)
            TRY(post_node(a, i));
        if (i >= 1 && i - 1 < n) {
            add_nodes(a, i - 1);
            TRY(post_sum(a, i - 1));
        }
        if (i >= 2)
            TRY(copy_out(a, i - 2));
    }
    return 0;
}

/* exact: sums that would be rounded are made of all ranks' codes, as by `direct`. */
static int scatter_on(struct comm *c, const struct algo_call *whole,
                      const struct gpu_peers_link *link, bool exact)
{
    struct algo_call of_nodes = *whole;
    of_nodes.op = algo_pipe_op(&whole->op, whole->group);
    const struct algo_call *call = &of_nodes;
    const struct reduce_op *f = &call->op;
    const struct algo_set node = algo_node(c, call->group);
    const struct algo_cut in = {
        .op = f, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = node.n};
    const struct algo_cut out = {.op = f, .form = ALGO_OUT, .whole = in.whole, .n_parts = node.n};
    if (!call->buffers->state)
        TRY(scatter_open(c, call, link, exact));
    struct scatter *s = call->buffers->state;
    const bool apart = exact && !algo_is_wide(f);
    const struct across a = {.comm = c,
                             .call = call,
                             .s = s,
                             .nodes = algo_across(c, call->group),
                             .part = algo_cut_range(&in, node.me),
                             .form = apart ? ALGO_IN : algo_pipe_form(f),
                             .n_blocks = apart ? node.n : 1,
                             .result = call->result + algo_cut_at(&out, node.me)};
    TRY(gpu_peers_gather(s->peers, &in, call->codes, call->scratch));
    if (a.nodes.n > 1)
        TRY(gpu_peers_noted(s->peers, across_nodes(&a)));
    else
        algo_add_parts(f, a.part, ALGO_IN, s->peers->parts, node.n, NULL, ALGO_OUT, a.result);
    TRY(gpu_peers_noted(s->peers, gpu_failed()));
    return gpu_peers_spread(s->peers, &out, call->result);
}

static int scatter_ipc(struct comm *c, const struct algo_call *call)
{
    return scatter_on(c, call, &gpu_peers_ipc, false);
}
static int scatter_nccl(struct comm *c, const struct algo_call *call)
{
    return scatter_on(c, call, &gpu_peers_nccl, false);
}
static int exact_ipc(struct comm *c, const struct algo_call *call)
{
    return scatter_on(c, call, &gpu_peers_ipc, true);
}
static int exact_nccl(struct comm *c, const struct algo_call *call)
{
    return scatter_on(c, call, &gpu_peers_nccl, true);
}

static size_t ipc_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)f, (void)n, (void)n_ranks, (void)group;
    return 0;
}
static size_t nccl_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n_ranks;
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = group};
    return gpu_peers_store_bytes(&gpu_peers_nccl, &in);
}

static int scatter_check(const struct codec *codec, int n_ranks, int group)
{
    (void)codec;
    return algo_check_group(algo_group_scatter_ipc.name, n_ranks, group);
}

#define SCATTER \
    .name = "group-scatter", .grouped = true, .check = scatter_check, .close = scatter_close
#define BY_IPC  SCATTER, .scratch_bytes = ipc_scratch_bytes
#define BY_NCCL SCATTER, .scratch_bytes = nccl_scratch_bytes
#define NEEDS   .needs = REDUCE_PARTS | REDUCE_WIDE | REDUCE_NODES

const struct algo algo_group_scatter_ipc = {BY_IPC, NEEDS, .run = scatter_ipc};
const struct algo algo_group_scatter_nccl = {BY_NCCL, NEEDS, .run = scatter_nccl};
const struct algo algo_group_scatter_exact_ipc = {BY_IPC, .run = exact_ipc};
const struct algo algo_group_scatter_exact_nccl = {BY_NCCL, .run = exact_nccl};
