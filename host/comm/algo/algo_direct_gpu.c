/* algo_direct_gpu.c : Runs `direct` on GPUs, with the bits of algo_direct.c.
 *
 * Rank r's GPU adds range r of all ranks in rank order, straight from their memory (CUDA IPC) or
 * from what NCCL delivered, and returns the sum to all ranks the same way. */
#include "base/err.h"
#include "comm/gpu/mates.h"
#include "vec/gpu/gpu.h"

static int direct_on(struct comm *c, const struct algo_call *call, const struct mates_link *link)
{
    const struct algo_set all = algo_all(c);
    const struct algo_cut in = {
        .fold = &call->fold, .form = ALGO_IN, .whole = {.n = call->n}, .n_parts = all.n};
    const struct algo_cut out = {
        .fold = &call->fold, .form = ALGO_OUT, .whole = in.whole, .n_parts = all.n};
    struct mates *m = call->home->state;
    if (!m) {
        TRY(mates_open(c, &all, link, call->home, &m));
        call->home->state = m;
    }
    TRY(mates_gather(m, &in, call->codes, call->scratch));
    algo_fold(&call->fold, algo_cut_range(&in, all.me), ALGO_IN, m->parts, all.n, NULL, ALGO_OUT,
              call->result + algo_cut_at(&out, all.me));
    TRY(mates_noted(m, gpu_failed()));
    return mates_spread(m, &out, call->result);
}

static int direct_ipc(struct comm *c, const struct algo_call *call)
{
    return direct_on(c, call, &mates_ipc);
}
static int direct_nccl(struct comm *c, const struct algo_call *call)
{
    return direct_on(c, call, &mates_nccl);
}

static void direct_close(struct comm *c, struct algo_home *home)
{
    (void)c;
    mates_close(home->state);
}

static size_t ipc_scratch_bytes(const struct fold *f, size_t n, int n_ranks, int group)
{
    (void)f, (void)n, (void)n_ranks, (void)group;
    return 0;
}
static size_t nccl_scratch_bytes(const struct fold *f, size_t n, int n_ranks, int group)
{
    (void)group;
    const struct algo_cut in = {.fold = f, .form = ALGO_IN, .whole = {.n = n}, .n_parts = n_ranks};
    return mates_store_bytes(&mates_nccl, &in);
}

#define DIRECT .name = "direct", .close = direct_close

const struct algo algo_direct_ipc = {DIRECT, .scratch_bytes = ipc_scratch_bytes, .run = direct_ipc};
const struct algo algo_direct_nccl = {DIRECT, .scratch_bytes = nccl_scratch_bytes,
                                      .run = direct_nccl};
