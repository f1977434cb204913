/* nn_ops.h : what a backend does for the network: one table of layer passes, over plain shapes and pointers.
 *
 * The CPU fills it with C and CBLAS (nn_cpu). A model never asks which backend it runs on.
 *   - Tensors are NHWC, contiguous. Weights of conv are [out][k][k][in], of linear [out][in].
 *   - All real, label and result pointers are memory of the backend (alloc); only put and get see host memory.
 *   - ctx is what open made: a handle, a stream, descriptors. Calls with one ctx run in the order they were made, and
 *     so do calls with several ctx of one backend from one thread. A call may return before its work is done:
 *     wait waits.
 *   - Scratch is the caller's: *_plan says once how many bytes, one block serves every call, its contents do
 *     not survive.
 *   - Slots without a return code cannot fail on a CPU. Where they can (a launch), the backend says one line,
 *     remembers, and hands the code out by wait.
 *   - Gradients overwrite what they are written to, unless a slot says otherwise. */
#ifndef NN_OPS_H
#define NN_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/real.h"

struct nn_shape {
    int h, w, c;
};

/* A window of k*k pixels that walks over an image: conv2d (out.c filters) and pooling (out.c = in.c). */
struct nn_window {
    struct nn_shape in, out;
    int k, stride, pad;
};

/* Batch norm over n pixels of c channels, with what may follow it:
 * y = relu(gamma * (x - mean) / sqrt(var + eps) + beta + addend). */
struct nn_norm {
    int c;
    bool relu;
    bool addend;              /* a second tensor is added before the ReLU: the end of a residual block */
    double eps;               /* 1e-5 */
    double momentum;          /* 0.1: running = 0.9 * running + 0.1 * batch's (variance: the unbiased one) */
    const real *gamma, *beta; /* [c] */
    real *run_mean, *run_var; /* [c] */
    real *mean, *inv_std;     /* [c] each: of the batch, from forward to backward; eval may overwrite inv_std */
};

struct nn_sgd {
    double lr, momentum, weight_decay;
    double trust; /* LARS: the trust coefficient; 0 = plain SGD */
    bool nesterov;
};

struct nn_result {
    double loss_sum; /* over the batch */
    int n_correct;
};

struct nn_ops {
    const char *name;

    /* Returns 0, -ENOMEM, or -ENODEV / -EIO with a line. */
    int (*open)(void **ctx);
    void (*close)(void *ctx);
    /* bytes of zeroed memory, 64-byte aligned; NULL after a line. free takes NULL. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    /* Copies from host memory; the host's copy may change as soon as put returns. */
    void (*put)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Copies to host memory, after all work before it; waits. */
    void (*get)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Waits until all work is done. Returns 0 or the first failure since open (negative errno). */
    int (*wait)(void *ctx);
    /* Seconds spent in GEMMs since open; 0 where that is not known. */
    double (*gemm_s)(const void *ctx);

    /* conv2d. plan is called once for every window before its first use, and may choose an algorithm. Returns 0 or
     * -errno.
     *   x [batch, in]   w [out.c][k][k][in.c]   bias [out.c] or NULL   y [batch, out] */
    int (*conv_plan)(void *ctx, const struct nn_window *g, int max_batch, size_t *scratch_bytes);
    void (*conv_forward)(void *ctx, const struct nn_window *g, int batch, const real *x, const real *w,
                         const real *bias, real *y, void *scratch);
    /* dx NULL: not wanted. add: dx += instead of dx =. dbias NULL: no bias. */
    void (*conv_backward)(void *ctx, const struct nn_window *g, int batch, const real *x, const real *w, const real *dy,
                          real *dx, bool add, real *dw, real *dbias, void *scratch);

    /* Linear: y = x w^T + bias.   x [batch][in]   w [out][in]   bias [out]   y [batch][out].   dx NULL: not wanted. */
    void (*linear_forward)(void *ctx, int batch, int in, int out, const real *x, const real *w, const real *bias,
                           real *y);
    void (*linear_backward)(void *ctx, int batch, int in, int out, const real *x, const real *w, const real *dy,
                            real *dx, real *dw, real *dbias);

    /* Batch norm over x [n][c] -> y [n][c]; addend [n][c] or NULL as f->addend says. */
    int (*norm_plan)(void *ctx, int c, size_t *scratch_bytes);
    void (*norm_forward)(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *addend, real *y,
                         void *scratch);
    void (*norm_eval)(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *addend, real *y,
                      void *scratch);
    /* dy is used up: with an addend it becomes the addend's gradient, and dx is other memory; without, dx may be dy. */
    void (*norm_backward)(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *y, real *dy,
                          real *dx, real *dgamma, real *dbeta, void *scratch);

    /* y = max(x, 0); backward: dx = dy where y > 0, else 0; dx may be dy.   n elements */
    void (*relu_forward)(void *ctx, size_t n, const real *x, real *y);
    void (*relu_backward)(void *ctx, size_t n, const real *y, const real *dy, real *dx);

    /* Pooling. max: the largest of a window, pixels outside do not count; backward: to the first of equals in row
     * order. avg: sum / k^2, pixels outside count as zeros. */
    void (*pool_max_forward)(void *ctx, const struct nn_window *g, int batch, const real *x, real *y);
    void (*pool_max_backward)(void *ctx, const struct nn_window *g, int batch, const real *x, const real *y,
                              const real *dy, real *dx);
    void (*pool_avg_forward)(void *ctx, const struct nn_window *g, int batch, const real *x, real *y);
    void (*pool_avg_backward)(void *ctx, const struct nn_window *g, int batch, const real *dy, real *dx);

    /* Mean over all pixels: x [batch][pixels][c] -> y [batch][c]. */
    void (*mean_forward)(void *ctx, int batch, int pixels, int c, const real *x, real *y);
    void (*mean_backward)(void *ctx, int batch, int pixels, int c, const real *dy, real *dx);

    /* The shortcut without parameters (He et al., option A): every second pixel of x [batch, in]; of the out.c
     * channels, the first in.c are copied and the rest are zero. y [batch, (in.h + 1) / 2, (in.w + 1) / 2, out_c] */
    void (*shortcut_forward)(void *ctx, struct nn_shape in, int out_c, int batch, const real *x, real *y);
    void (*shortcut_backward)(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy, real *dx);

    /* y_i = x_i / (1 - p) with probability 1 - p, else 0; the choice is philox_u32(key, i). Its own backward pass; y
     * may be x. */
    void (*dropout)(void *ctx, size_t n, double p, uint64_t key, const real *x, real *y);

    /* Softmax cross-entropy: result = sum of the losses and number of images whose label has the largest logit (the
     * first of equals); dlogits = gradient of the MEAN loss, NULL: not wanted.
     *   logits, dlogits [batch][classes]   labels [batch] */
    void (*softmax_loss)(void *ctx, int batch, int classes, const real *logits, const int32_t *labels, real *dlogits,
                         struct nn_result *result);

    /* One step of SGD over a tensor of n weights w with gradients g and velocities v (optim.h has the rule). */
    void (*sgd)(void *ctx, const struct nn_sgd *o, size_t n, real *w, const real *g, real *v);
};

extern const struct nn_ops nn_cpu;

/* Threads that CBLAS may use in this process, where it can be told (OpenBLAS). Bits are promised for a fixed number;
 * ranks take 1. */
void nn_cpu_threads(int n);

#endif
