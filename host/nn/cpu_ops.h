/* cpu_ops.h : what the files of the CPU backend share: the context, the one way into CBLAS or what
 * stands in for it, and vector code for the machine at hand. */
#ifndef CPU_OPS_H
#define CPU_OPS_H
#include <cblas.h>
#include "base/clock.h"
#include "nn/gemm_low.h"
#include "nn/nn_ops.h"

/* A hot loop is compiled for three generations of x86 and chosen at load time. No clone
 * reassociates or contracts, so all give the same bits. For static functions only: clang renames
 * what it clones. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define CPU_HOT __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define CPU_HOT
#endif

struct cpu {
    double gemm_s;
    const struct gemm_rule *gemm; /* NULL: CBLAS */
};

/* c [m][n] = op(a) [m][k] * op(b) [k][n] + beta * c, all row-major; ta, tb: a is stored [k][m], b
 * is stored [n][k]. beta is 0 or 1. By a rule where the context has one; the doubles of tests have
 * none. */
static inline void cpu_gemm(struct cpu *cpu, bool ta, bool tb, int m, int n, int k, const real *a,
                            int lda, const real *b, int ldb, real beta, real *c, int ldc)
{
    double start = clock_s();
#ifndef NN_REAL_DOUBLE
    if (cpu->gemm) {
        gemm_low(cpu->gemm, ta, tb, m, n, k, a, lda, b, ldb, beta != 0, c, ldc);
        cpu->gemm_s += clock_s() - start;
        return;
    }
#endif
    CBLAS(gemm)
    (CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1, a,
     lda, b, ldb, beta, c, ldc);
    cpu->gemm_s += clock_s() - start;
}

/* sum [c] = sums over the rows of x [n][c]. */
void cpu_sum_rows(size_t n, int c, const real *x, real *sum);

int cpu_conv_plan(void *ctx, const struct nn_window *g, int max_batch, size_t *scratch_bytes);
void cpu_conv_forward(void *ctx, const struct nn_window *g, int batch, const real *x, const real *w,
                      const real *bias, real *y, void *scratch);
void cpu_conv_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                       const real *w, const real *dy, real *dx, bool add, real *dw, real *dbias,
                       void *scratch);
void cpu_linear_forward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                        const real *bias, real *y);
void cpu_linear_backward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                         const real *dy, real *dx, real *dw, real *dbias);
int cpu_norm_plan(void *ctx, int c, size_t *scratch_bytes);
void cpu_norm_forward(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                      const real *addend, real *y, void *scratch);
void cpu_norm_eval(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *addend,
                   real *y, void *scratch);
void cpu_norm_backward(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *y,
                       real *dy, real *dx, real *dgamma, real *dbeta, void *scratch);
void cpu_relu_forward(void *ctx, size_t n, const real *x, real *y);
void cpu_relu_backward(void *ctx, size_t n, const real *y, const real *dy, real *dx);
void cpu_pool_max_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y);
void cpu_pool_max_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                           const real *y, const real *dy, real *dx);
void cpu_pool_avg_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y);
void cpu_pool_avg_backward(void *ctx, const struct nn_window *g, int batch, const real *dy,
                           real *dx);
void cpu_mean_forward(void *ctx, int batch, int pixels, int c, const real *x, real *y);
void cpu_mean_backward(void *ctx, int batch, int pixels, int c, const real *dy, real *dx);
void cpu_shortcut_forward(void *ctx, struct nn_shape in, int out_c, int batch, const real *x,
                          real *y);
void cpu_shortcut_backward(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy,
                           real *dx);
void cpu_add(void *ctx, size_t n, const real *a, const real *b, real *y);
void cpu_scale(void *ctx, size_t n, double k, const real *x, real *y);
void cpu_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                 real *y);
void cpu_softmax_loss(void *ctx, int batch, int classes, const real *logits, const int32_t *labels,
                      real *dlogits, struct nn_result *result);
int cpu_sgd_plan(void *ctx, const struct nn_sgd *o, void **plan);
void cpu_sgd_close(void *ctx, void *plan);
void cpu_sgd(void *ctx, void *plan, int first, int n, double lr, real *w, const real *g, real *v);

#endif
