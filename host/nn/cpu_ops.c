/* cpu_ops.c : the CPU's table: memory is host memory, calls return when their work is done. */
#include "nn/cpu_ops.h"
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"

static int cpu_open(void **ctx)
{
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return ERR(-ENOMEM, "cannot open the cpu backend: no memory");
    *ctx = cpu;
    return 0;
}

static void cpu_close(void *ctx)
{
    free(ctx);
}

static void *cpu_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return buf_alloc(bytes);
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

static double cpu_gemm_s(const void *ctx)
{
    const struct cpu *cpu = ctx;
    return cpu->gemm_s;
}

/* Weak: another CBLAS than OpenBLAS does not have it. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

void nn_cpu_threads(int n)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(n);
}

const struct nn_ops nn_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .put = cpu_copy,
    .get = cpu_copy,
    .wait = cpu_wait,
    .gemm_s = cpu_gemm_s,
    .conv_plan = cpu_conv_plan,
    .conv_forward = cpu_conv_forward,
    .conv_backward = cpu_conv_backward,
    .linear_forward = cpu_linear_forward,
    .linear_backward = cpu_linear_backward,
    .norm_plan = cpu_norm_plan,
    .norm_forward = cpu_norm_forward,
    .norm_eval = cpu_norm_eval,
    .norm_backward = cpu_norm_backward,
    .relu_forward = cpu_relu_forward,
    .relu_backward = cpu_relu_backward,
    .pool_max_forward = cpu_pool_max_forward,
    .pool_max_backward = cpu_pool_max_backward,
    .pool_avg_forward = cpu_pool_avg_forward,
    .pool_avg_backward = cpu_pool_avg_backward,
    .mean_forward = cpu_mean_forward,
    .mean_backward = cpu_mean_backward,
    .shortcut_forward = cpu_shortcut_forward,
    .shortcut_backward = cpu_shortcut_backward,
    .dropout = cpu_dropout,
    .softmax_loss = cpu_softmax_loss,
    .sgd = cpu_sgd,
};
