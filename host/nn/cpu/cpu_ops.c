/* cpu_ops.c : fills the CPU's backend table: host memory, and calls that return when done. */
#include "nn/cpu/cpu_ops.h"
#include "base/err.h"
#include "base/memory.h"
#include "nn/cpu/winograd.h"
#include "nn/cpu/blas.h"
#include <stdlib.h>
#include <string.h>

static int n_threads = 1; /* of matrix products, in this process */

static const struct winograd_kernels *take_winograd(const struct nn_setup *setup)
{
#ifndef NN_REAL_DOUBLE
    if (!setup || (!setup->gemm && setup->conv != NN_CONV_GEMM))
        return winograd_best();
#endif
    (void)setup;
    return NULL;
}

static int cpu_open(const struct nn_setup *setup, void **ctx)
{
    if (setup && setup->math != NN_FP32 && setup->math != NN_BF16)
        return ERR(-EINVAL, "the cpu backend computes in fp32 or bf16: tf32 and fp16 need a GPU");
    const struct winograd_kernels *winograd = take_winograd(setup);
    if (setup && setup->conv == NN_CONV_WINOGRAD && !winograd)
        return ERR(-EINVAL, "--conv winograd needs a CPU with AVX2 and FMA, and products without "
                            "--gemm: use auto or gemm");
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return ERR(-ENOMEM, "cannot open the cpu backend: no memory");
    cpu->gemm = setup ? setup->gemm : NULL;
    cpu->winograd = winograd;
    const int rc = setup && setup->math == NN_BF16 ? gemm_bf16_open(n_threads, &cpu->bf16) : 0;
    if (rc) {
        free(cpu);
        return rc;
    }
    *ctx = cpu;
    return 0;
}

static void cpu_close(void *ctx)
{
    struct cpu *cpu = ctx;
    gemm_bf16_close(cpu->bf16);
    free(cpu);
}

static size_t cpu_real_bytes(const void *ctx)
{
    (void)ctx;
    return sizeof(real);
}

/* A model has memory for the largest batch, which a short training may never see. */
static void *cpu_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return memory_on_use(bytes);
}

static void cpu_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

static void cpu_copy(void *ctx, void *dst, const void *src, size_t bytes)
{
    (void)ctx;
    memcpy(dst, src, bytes);
}

static int cpu_wait(void *ctx)
{
    (void)ctx;
    return 0;
}

static void cpu_mark(void *ctx, uint32_t *flag)
{
    (void)ctx;
    *flag = 1;
}

static double cpu_gemm_s(const void *ctx)
{
    const struct cpu *cpu = ctx;
    return cpu->gemm_s;
}

/* Recording would save nothing, because calls block. */
static int cpu_record_begin(void *ctx)
{
    (void)ctx;
    return -ENOSYS;
}

static int cpu_record_end(void *ctx, void **record)
{
    (void)ctx, (void)record;
    return -ENOSYS;
}

static int cpu_record_play(void *ctx, void *record)
{
    (void)ctx, (void)record;
    return -ENOSYS;
}

static void cpu_record_close(void *ctx, void *record)
{
    (void)ctx, (void)record;
}

/* Nothing to plan: layers read w itself, not a copy. */
static int cpu_weights_plan(void *ctx, const real *w, size_t n)
{
    (void)ctx, (void)w, (void)n;
    return 0;
}

static void cpu_weights(void *ctx)
{
    (void)ctx;
}

static void cpu_loss_scale(void *ctx, const float *scale)
{
    struct cpu *cpu = ctx;
    cpu->scale = scale;
}

static void cpu_watch(void *ctx, struct scale_tally *to)
{
    (void)ctx, (void)to;
}

static int cpu_input_plan(void *ctx, size_t max_n)
{
    (void)ctx, (void)max_n;
    return 0;
}

static void cpu_input(void *ctx, size_t n, const real *x, real *y)
{
    (void)ctx;
    memcpy(y, x, n * sizeof *y);
}

/* nn/data/feed.c uses dataset_batch() instead. */
static int cpu_feed_open(void *ctx, const struct nn_feed *f)
{
    (void)ctx, (void)f;
    return -ENOSYS;
}

static void cpu_feed_send(void *ctx, int slot, const struct nn_bytes *b)
{
    (void)ctx, (void)slot, (void)b;
}

static void cpu_feed_take(void *ctx, int slot, real *x)
{
    (void)ctx, (void)slot, (void)x;
}

/* Weak: only OpenBLAS has it. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

void nn_cpu_threads(int n)
{
    n_threads = n;
    if (openblas_set_num_threads)
        openblas_set_num_threads(n);
}

const struct nn_ops nn_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .act_bytes = cpu_real_bytes,
    .weight_bytes = cpu_real_bytes,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .alloc_shared = cpu_alloc,
    .free_shared = cpu_free,
    .upload_async = cpu_copy,
    .download_async = cpu_copy,
    .upload = cpu_copy,
    .download = cpu_copy,
    .wait = cpu_wait,
    .mark = cpu_mark,
    .gemm_s = cpu_gemm_s,
    .record_begin = cpu_record_begin,
    .record_end = cpu_record_end,
    .record_play = cpu_record_play,
    .record_close = cpu_record_close,
    .weights_plan = cpu_weights_plan,
    .weights = cpu_weights,
    .loss_scale = cpu_loss_scale,
    .watch = cpu_watch,
    .input_plan = cpu_input_plan,
    .input = cpu_input,
    .feed_open = cpu_feed_open,
    .feed_send = cpu_feed_send,
    .feed_take = cpu_feed_take,
#define PASS(name, params, args, makes) .name = cpu_##name,
#include "hls/nn/layers.def"
    .add_divide = cpu_add_divide,
    .optim_plan = cpu_optim_plan,
    .optim_close = cpu_optim_close,
    .optim = cpu_optim,
};

CPU_HOT static void divided_by(size_t n, const real *a, real divisor, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] / divisor;
}

CPU_HOT static void sum_of_two(size_t n, const real *a, const real *b, real divisor, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (a[i] + b[i]) / divisor;
}

void cpu_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y)
{
    (void)ctx;
    if (b)
        sum_of_two(n, a, b, divisor, y);
    else
        divided_by(n, a, divisor, y);
}
