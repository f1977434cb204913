/* algo_direct_gpu.c : runs `direct` on GPUs, bit for bit like algo_direct.c: each GPU adds its
 * range from all ranks' memory (CUDA IPC) or from memory that NCCL has filled. */
#include "base/err.h"
#include "comm/gpu/gpu_peers.h"
#include "vec/gpu/gpu.h"

static int direct_on(struct comm *c, const struct algo_call *call,
                     const struct gpu_peers_link *link)
{
    const struct algo_set all = algo_all(c);
    const struct algo_cut in = {
        .op = &call->op, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = all.n};
    const struct algo_cut out = {
        .op = &call->op, .form = ALGO_OUT, .whole = in.whole, .n_parts = all.n};
    struct gpu_peers *m = call->buffers->state;
    if (!m) {
        TRY(gpu_peers_open(c, &all, link, call->buffers, &m));
        call->buffers->state = m;
    }
    TRY(gpu_peers_gather(m, &in, call->codes, call->scratch));
    algo_add_parts(&call->op, algo_cut_range(&in, all.me), ALGO_IN, m->parts, all.n, NULL, ALGO_OUT,
                   call->result + algo_cut_at(&out, all.me));
    TRY(gpu_peers_noted(m, gpu_failed()));
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

#define DIRECT .name = "direct", .close = direct_close

const struct algo algo_direct_ipc = {DIRECT, .scratch_bytes = ipc_scratch_bytes, .run = direct_ipc};
const struct algo algo_direct_nccl = {DIRECT, .scratch_bytes = nccl_scratch_bytes,
                                      .run = direct_nccl};
