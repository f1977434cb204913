/* cpu_ops.h : what the files of the CPU backend share: the context, the one way into CBLAS or what
 * stands in for it, and vector code for the machine at hand. */
#ifndef CPU_OPS_H
#define CPU_OPS_H
#include <cblas.h>
#include "base/clock.h"
#include "nn/cpu/gemm_low.h"
#include "nn/nn_ops.h"

/* A hot loop is compiled for three generations of x86 and chosen at load time. No clone
 * reassociates or contracts, so all give the same bits. For static functions only: clang renames
 * what it clones. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define CPU_HOT __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define CPU_HOT
#endif

#ifdef NN_REAL_DOUBLE
#define CBLAS(name) cblas_d##name
#else
#define CBLAS(name) cblas_s##name
#endif

struct winograd_kernels; /* nn/cpu/winograd.h */

struct cpu {
    double gemm_s;
    const struct gemm_rule *gemm;            /* NULL: CBLAS */
    const struct winograd_kernels *winograd; /* for windows that it fits; NULL: for none */
    const float *scale;                      /* of gradients of activations; NULL: 1 */
};

/* What losses multiply their gradients by. NULL: 1. */
static inline double cpu_scale_of(const struct cpu *cpu)
{
    return cpu && cpu->scale ? (double)*cpu->scale : 1;
}
/* Gradients of weights, which were made of scaled ones, leave without the scale. NULL: none. */
void cpu_unscale(const struct cpu *cpu, size_t n, real *g);

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

/* conv2d in one group: what the slots do for a window without groups, and for each group of one
 * that has them (cpu_conv_groups.c). */
size_t cpu_conv_whole_scratch(const struct cpu *cpu, const struct nn_window *g);
void cpu_conv_whole_forward(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *w, const real *bias, real *y, void *scratch);
void cpu_conv_whole_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                             const real *w, const real *dy, real *dx, bool add, real *dw,
                             real *dbias, void *scratch);

/* Softmax cross-entropy of one row of logits: adds to the result what its label costs; dz [classes]
 * = gradient of loss / n, NULL: not wanted. Returns how many stand before the label by size, the
 * first of equals first; where one is nan NN_TOP or more. */
int cpu_softmax_row(int classes, const real *z, int label, int n, double k, real *dz,
                    struct nn_result *result);

/* One function for each slot. */
#define PLAN(name, params, args)        int cpu_##name(void *ctx, LIST params);
#define PASS(name, params, args, makes) void cpu_##name(void *ctx, LIST params);
#include "hls/nn/layers.def"
void cpu_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y);
int cpu_optim_plan(void *ctx, const struct nn_optim *o, void **plan);
void cpu_optim_close(void *ctx, void *plan);
void cpu_optim(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
               const real *g, real *const *state);

/* ---- what the files of optimisers share: cpu_optim.c, cpu_round.c ---- */

/* A tensor in one step, of which `state` are those that the optimiser has. */
struct cpu_part {
    const struct nn_optim *how;
    const struct optim_tensor *t;
    const struct optim_step *step;
    real *w;
    const real *g;
    real *state[OPTIM_STATES];
};
#define OPTIMISER(name, takes, states, update, help) void cpu_##name(const struct cpu_part *p);
#include "hls/nn/optimisers.def"

enum { OPTIM_BLOCK = 1024 }; /* of elements, which stay in the nearest cache */

/* y = k * x, and y = a + k * b; rounded, unless rule is NULL. */
void cpu_step_times(const struct round_rule *rule, size_t n, real k, const real *x, real *y);
void cpu_step_plus(const struct round_rule *rule, size_t n, const real *a, real k, const real *b,
                   real *y);
/* x is rounded, unless rule is NULL. */
void cpu_step_round(const struct round_rule *rule, size_t n, real *x);

#endif
