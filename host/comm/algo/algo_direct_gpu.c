/* algo_direct_gpu.c : runs `direct`, and algo_scatter by the caller's ranges, on GPUs, bit for bit
 * like algo_direct.c and algo_scatter.c: each GPU adds its range from all ranks' memory (CUDA IPC)
 * or from memory that NCCL has filled. */
#include "base/err.h"
#include "comm/gpu/gpu_peers.h"
#include "vec/gpu/gpu.h"

static int peers_of(struct comm *c, const struct algo_call *call, const struct gpu_peers_link *link,
                    struct gpu_peers **out)
{
    const struct algo_set all = algo_all(c);
    if (!call->buffers->state) {
        struct gpu_peers *m;
        TRY(gpu_peers_open(c, &all, link, call->buffers, &m));
        call->buffers->state = m;
    }
    *out = call->buffers->state;
    return 0;
}

static struct algo_cut cut_of(const struct gpu_peers *m, const struct algo_call *call,
                              enum algo_form form)
{
    return (struct algo_cut){.op = &call->op,
                             .form = form,
                             .whole = {.n = call->n},
                             .n_parts = m->set.n,
                             .ranges = call->cut};
}

static int add_own(struct gpu_peers *m, const struct algo_call *call, uint8_t *sum)
{
    const struct algo_cut in = cut_of(m, call, ALGO_IN);
    TRY(gpu_peers_gather(m, &in, call->codes, call->scratch));
    algo_add_parts(&call->op, algo_cut_range(&in, m->set.me), ALGO_IN, m->parts, m->set.n, NULL,
                   ALGO_OUT, sum);
    return gpu_peers_noted(m, gpu_failed());
}

static int direct_on(struct comm *c, const struct algo_call *call,
                     const struct gpu_peers_link *link)
{
    struct gpu_peers *m;
    TRY(peers_of(c, call, link, &m));
    const struct algo_cut out = cut_of(m, call, ALGO_OUT);
    TRY(add_own(m, call, call->result + algo_cut_at(&out, m->set.me)));
    return gpu_peers_spread(m, &out, call->result);
}

static int scatter_on(struct comm *c, const struct algo_call *call,
                      const struct gpu_peers_link *link)
{
    struct gpu_peers *m;
    TRY(peers_of(c, call, link, &m));
    TRY(add_own(m, call, call->result));
    return gpu_peers_fence(m); /* the caller may then write codes */
}

static int allgather_on(struct comm *c, const struct algo_call *call,
                        const struct gpu_peers_link *link)
{
    struct gpu_peers *m;
    TRY(peers_of(c, call, link, &m));
    const struct algo_cut out = cut_of(m, call, ALGO_OUT);
    TRY(gpu_peers_fence(m)); /* others may still read the last result */
    return gpu_peers_spread(m, &out, call->result);
}

static int direct_ipc(struct comm *c, const struct algo_call *call)
{
    return direct_on(c, call, &gpu_peers_ipc);
}
static int direct_nccl(struct comm *c, const struct algo_call *call)
{
    return direct_on(c, call, &gpu_peers_nccl);
}
static int scatter_ipc(struct comm *c, const struct algo_call *call)
{
    return scatter_on(c, call, &gpu_peers_ipc);
}
static int scatter_nccl(struct comm *c, const struct algo_call *call)
{
    return scatter_on(c, call, &gpu_peers_nccl);
}
static int allgather_ipc(struct comm *c, const struct algo_call *call)
{
    return allgather_on(c, call, &gpu_peers_ipc);
}
static int allgather_nccl(struct comm *c, const struct algo_call *call)
{
    return allgather_on(c, call, &gpu_peers_nccl);
}

static void direct_close(struct comm *c, struct algo_buffers *buffers)
{
    (void)c;
    gpu_peers_close(buffers->state);
}

static size_t ipc_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)f, (void)n, (void)n_ranks, (void)group;
    return 0;
}
static size_t nccl_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)group;
    const struct algo_cut in = {.op = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    return gpu_peers_store_bytes(&gpu_peers_nccl, &in);
}
/* n: of the longest range */
static size_t scatter_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    return nccl_scratch_bytes(f, n * (size_t)n_ranks, n_ranks, group);
}

#define DIRECT .name = "direct", .close = direct_close

const struct algo algo_direct_ipc = {DIRECT, .scratch_bytes = ipc_scratch_bytes, .run = direct_ipc};
const struct algo algo_direct_nccl = {DIRECT, .scratch_bytes = nccl_scratch_bytes,
                                      .run = direct_nccl};
const struct algo algo_scatter_ipc = {DIRECT, .scratch_bytes = ipc_scratch_bytes,
                                      .run = scatter_ipc, .allgather = allgather_ipc};
const struct algo algo_scatter_nccl = {DIRECT, .scratch_bytes = scatter_scratch_bytes,
                                       .run = scatter_nccl, .allgather = allgather_nccl};
