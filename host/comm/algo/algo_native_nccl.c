/* algo_native_nccl.c : all-reduces by ncclAllReduce, as a baseline on GPUs, in fp32, fp16, bf16,
 * e4m3fn and e5m2. NCCL chooses the order of additions and the result of overflows. As in
 * algo_native.c, the sum then passes through the reduce op, no rounds are counted, and bytes count
 * once. */
#include "base/err.h"
#include "comm/comm_inside.h"
#include "comm/gpu/gpu_peers_nccl.h"
#include "device/run/dev_nccl.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"

static const struct choice {
    struct mf_fmt fmt;
    enum vec_rule rule;
    enum dev_nccl_type type;
} choices[] = {
    {{8, 23, 0}, VEC_FP32, DEV_NCCL_FP32},   {{5, 10, 0}, VEC_NEAREST, DEV_NCCL_FP16},
    {{8, 7, 0}, VEC_NEAREST, DEV_NCCL_BF16}, {{4, 3, 1}, VEC_NEAREST, DEV_NCCL_E4M3},
    {{5, 2, 0}, VEC_NEAREST, DEV_NCCL_E5M2},
};
enum { N_CHOICES = sizeof choices / sizeof choices[0] };
enum { NCCL_FP8_MAJOR = 9 }; /* least compute capability */

static const struct choice *find_choice(struct mf_fmt fmt)
{
    for (int i = 0; i < N_CHOICES; i++)
        if (mf_same(choices[i].fmt, fmt))
            return &choices[i];
    return NULL;
}

static bool native_adds(const struct vec_sum *sum)
{
    const struct choice *choice = find_choice(sum->in);
    return choice && choice->rule == sum->rule;
}

static int native_check(const struct codec *codec, int n_ranks, int group)
{
    const enum dev_nccl_type type = find_choice(codec_sum(codec)->in)->type;
    const struct dev_info *info = gpu_info();
    (void)n_ranks, (void)group;
    if (info->major < NCCL_FP8_MAJOR && (type == DEV_NCCL_E4M3 || type == DEV_NCCL_E5M2))
        return ERR(-EINVAL,
                   "algorithm \"native\" cannot add fp8 by NCCL on GPU %d of compute capability "
                   "%d.%d: it needs %d.0; use direct, or fp16, bf16 or fp32",
                   info->ordinal, info->major, info->minor, NCCL_FP8_MAJOR);
    return 0;
}

static size_t native_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n_ranks, (void)group;
    return algo_bytes(f, ALGO_IN, n);
}

static int native_run(struct comm *c, const struct algo_call *call)
{
    const struct algo_set all = algo_all(c);
    struct gpu_peers *m = call->buffers->state;
    if (!m) {
        TRY(gpu_peers_open(c, &all, &gpu_peers_nccl, call->buffers, &m));
        call->buffers->state = m;
    }
    struct gpu_lane *lane = gpu_lane();
    if (!lane)
        return gpu_failed();
    const int rc =
        gpu()->nccl->all_reduce(m->state, call->codes, call->scratch, call->n,
                                find_choice(codec_sum(call->codec)->in)->type, lane->stream);
    TRY(gpu_peers_noted(m, rc < 0 ? rc : gpu_peers_nccl_wait(m)));
    const uint8_t *const one[] = {call->scratch};
    algo_add_parts(&call->op, (struct algo_range){.n = call->n}, ALGO_IN, one, 1, NULL, ALGO_OUT,
                   call->result);
    c->count.sent_bytes += all.n > 1 ? algo_bytes(&call->op, ALGO_IN, call->n) : 0;
    return gpu_peers_noted(m, gpu_failed());
}

static void native_close(struct comm *c, struct algo_buffers *buffers)
{
    (void)c;
    gpu_peers_close(buffers->state);
}

const struct algo algo_native_nccl = {
    .name = "native",
    .adds = native_adds,
    .check = native_check,
    .scratch_bytes = native_scratch_bytes,
    .run = native_run,
    .close = native_close,
};
