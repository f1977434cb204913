/* cpu_ops.h : shares the CPU backend's context, matrix products and compiler settings among its
 * files. */
#ifndef CPU_OPS_H
#define CPU_OPS_H
#include <cblas.h>
#include <math.h>
#include "base/clock.h"
#include "nn/cpu/gemm_bf16.h"
#include "nn/cpu/gemm_low.h"
#include "nn/nn_ops.h"

/* Compile a hot loop for three generations of x86, one chosen at load time. Clones neither
 * reassociate nor contract operations, so all give the same bits. Only for static functions, as
 * clang renames clones. */
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
    const struct gemm_rule *gemm;            /* NULL: CBLAS, or bf16 */
    struct gemm_bf16 *bf16;                  /* NULL: fp32 */
    const struct winograd_kernels *winograd; /* for windows that fit; NULL: GEMM */
    const float *scale;                      /* of activation gradients; NULL: 1 */
};

/* Return the factor on losses' gradients; 1 if cpu is NULL. */
static inline double cpu_scale_of(const struct cpu *cpu)
{
    return cpu && cpu->scale ? (double)*cpu->scale : 1;
}
/* Divide weight gradients g [n] by the scale of the activation gradients they come from. g may be
 * NULL. */
void cpu_unscale(const struct cpu *cpu, size_t n, real *g);

/* c [m][n] = op(a) [m][k] * op(b) [k][n] + beta * c, row-major. ta: a is [k][m]. tb: b is [n][k].
 * beta: 0 or 1. Uses the context's gemm rule, or bf16, if there is one (not in double). */
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
    if (cpu->bf16 && gemm_bf16(cpu->bf16, ta, tb, m, n, k, a, lda, b, ldb, beta != 0, c, ldc)) {
        cpu->gemm_s += clock_s() - start;
        return;
    }
#endif
    CBLAS(gemm)
    (CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1, a,
     lda, b, ldb, beta, c, ldc);
    cpu->gemm_s += clock_s() - start;
}

static inline real cpu_root(real x)
{
#ifdef NN_REAL_DOUBLE
    return sqrt(x);
#else
    return sqrtf(x);
#endif
}

/* Return the sum of x [n] in the order of hls/nn/layer.h. */
static inline real cpu_row_sum(size_t n, const real *x)
{
    real lane[ROW_LANES] = {0};
    size_t i = 0;
    for (; i + ROW_LANES <= n; i += ROW_LANES)
        for (size_t j = 0; j < ROW_LANES; j++)
            lane[j] += x[i + j];
    for (size_t j = 0; i + j < n; j++)
        lane[j] += x[i + j];
    for (size_t half = ROW_LANES / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

/* Set sum [c] to the sums of x [n][c] over rows. */
void cpu_sum_rows(size_t n, int c, const real *x, real *sum);

/* conv2d of one group, for cpu_conv_groups.c. */
size_t cpu_conv_whole_scratch(const struct cpu *cpu, const struct nn_window *g);
void cpu_conv_whole_forward(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *w, const real *bias, real *y, void *scratch);
void cpu_conv_whole_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                             const real *w, const real *dy, real *dx, bool add, real *dw,
                             real *dbias, void *scratch);

/* Add the softmax cross-entropy of one row, smoothed as in layers.def, to *result. Unless dz is
 * NULL, set dz [classes] to k times the gradient of loss / n. Returns how many logits rank before
 * the label's. Equal logits rank in order of their classes; a nan gives NN_TOP or more. */
int cpu_softmax_row(int classes, double smoothing, const real *z, int label, int n, double k,
                    real *dz, struct nn_result *result);

#define PLAN(name, params, args)        int cpu_##name(void *ctx, LIST params);
#define PASS(name, params, args, makes) void cpu_##name(void *ctx, LIST params);
#include "hls/nn/layers.def"
void cpu_add_divide(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y);
int cpu_optim_plan(void *ctx, const struct nn_optim *o, void **plan);
void cpu_optim_close(void *ctx, void *plan);
void cpu_optim(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
               const real *g, real *const *state);

/* ---- for optimisers ---- */

/* A tensor in one step. */
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

enum { OPTIM_BLOCK = 1024 }; /* elements; fits the nearest cache */

/* Compute y = k * x, or y = a + k * b, rounded unless rule is NULL. */
void cpu_step_times(const struct round_rule *rule, size_t n, real k, const real *x, real *y);
void cpu_step_plus(const struct round_rule *rule, size_t n, const real *a, real k, const real *b,
                   real *y);
void cpu_step_round(const struct round_rule *rule, size_t n, real *x);

#endif
