/* nn_ops.h : what a backend does for the network: one table of layer passes, over plain shapes and
 * pointers.
 *
 * The CPU fills it with C and CBLAS (nn_cpu), the GPU with the device library (nn_cuda). A model
 * never asks which backend it runs on.
 *   - Tensors are NHWC, contiguous. Weights of conv are [out][k][k][in], of linear [out][in].
 *   - Activations and their gradients (x, y, addend, dx, dy, logits, dlogits) have elements of
 *     act_bytes: a backend with 16-bit ones gets them as real * all the same, and nobody else looks
 *     inside. Everything else is real.
 *   - All pointers are memory of the backend (alloc) unless a slot says otherwise: "shared" is what
 *     alloc_shared gives, which the host reads and writes in place.
 *   - ctx is what open made: a handle, a stream, descriptors. Calls with one ctx run in the order
 *     they were made, and so do calls with several ctx of one backend from one thread. A call may
 *     return before its work is done: wait waits.
 *   - Scratch is the caller's: *_plan says once how many bytes, one block serves every call, its
 *     contents do not survive.
 *   - Slots without a return code cannot fail on a CPU. Where they can (a launch), the backend says
 *     one line, remembers, and hands the code out by wait.
 *   - Gradients overwrite what they are written to, unless a slot says otherwise.
 *   - A slot that a backend has nothing for returns -ENOSYS without a line. */
#ifndef NN_OPS_H
#define NN_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/real.h"

/* What conv and linear compute with: float; float whose products take 10 bits of mantissa; 16-bit
 * activations and copies of the weights, with float sums, float weights and float gradients of
 * weights. */
enum nn_math { NN_FP32, NN_TF32, NN_FP16, NN_BF16 };

struct gemm_rule; /* hls/rules.h */

/* What a context is opened for; a NULL instead means fp32. */
struct nn_setup {
    enum nn_math math;
    /* fp16: the factor on the loss's gradient; 0: the model finds one as it goes */
    double loss_scale;
    /* every product and partial sum rounded by it; NULL: the machine's own */
    const struct gemm_rule *gemm;
};

struct nn_shape {
    int h, w, c;
};

/* A window of k*k pixels that walks over an image: conv2d (out.c filters) and pooling (out.c =
 * in.c). */
struct nn_window {
    struct nn_shape in, out;
    int k, stride, pad;
};

/* Batch norm over n pixels of c channels, with what may follow it:
 * y = relu(gamma * (x - mean) / sqrt(var + eps) + beta + addend). */
struct nn_norm {
    int c;
    bool relu;
    /* a second tensor is added before the ReLU: the end of a residual block */
    bool addend;
    double eps; /* 1e-5 */
    /* 0.1: running = 0.9 * running + 0.1 * batch's (variance: the unbiased one) */
    double momentum;
    const real *gamma, *beta; /* [c] */
    real *run_mean, *run_var; /* [c] */
    /* [c] each: of the batch, from forward to backward; eval may overwrite inv_std */
    real *mean, *inv_std;
};

/* SGD over a list of tensors, which are parts of flat arrays. */
struct nn_sgd_tensor {
    size_t offset, n;
    double weight_decay;
    double trust; /* LARS: the trust coefficient; 0 = plain SGD */
};
struct nn_sgd {
    double momentum;
    bool nesterov;
    const struct nn_sgd_tensor *tensors; /* [n_tensors] */
    int n_tensors;
};

struct nn_result {
    double loss_sum; /* over the batch */
    int n_correct;
};

/* Batches of images that come as bytes and are normalised, cropped and flipped by the backend, bit
 * for bit as dataset_batch() does it (before they are rounded to act_bytes). */
struct nn_feed {
    struct nn_shape image;
    int max_batch;
    float mean[3], inv_std[3]; /* per channel */
    int crop, flip;            /* as in struct dataset_augment */
    uint64_t seed;
};
struct nn_bytes {
    const uint8_t *images; /* host memory: [.., image] */
    const uint32_t *index; /* [n] which of them; the numbers that key the augmentation */
    int n;
    bool augment;
    uint64_t epoch;
};
enum { NN_SLOTS = 2 }; /* batches on their way at once */

struct nn_ops {
    const char *name;

    /* Returns 0, -ENOMEM, or -EINVAL (a setup that this backend has not) / -ENODEV / -EIO with a
     * line. */
    int (*open)(const struct nn_setup *setup, void **ctx);
    void (*close)(void *ctx);
    size_t (*act_bytes)(const void *ctx); /* of an activation */
    /* bytes of zeroed memory, 64-byte aligned; NULL after a line. free takes NULL. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    void *(*alloc_shared)(void *ctx, size_t bytes);
    void (*free_shared)(void *ctx, void *p);
    /* Copies from host memory; the host's copy may change as soon as put returns. */
    void (*put)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Copies to host memory, after all work before it; waits. */
    void (*get)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Waits until all work is done. Returns 0 or the first failure since open (negative errno). */
    int (*wait)(void *ctx);
    /* *flag (shared) counts up by one when all work before this has been done and can be seen by
     * everyone. */
    void (*mark)(void *ctx, uint32_t *flag);
    /* Seconds spent in GEMMs since open; 0 where that is not known. */
    double (*gemm_s)(const void *ctx);

    /* Calls between record_begin and record_end are noted instead of done, and done as often as
     * they are played: with the pointers and numbers they were given, and with what shared memory
     * then holds. None of them may be one that copies from or to the host, waits or plans. All
     * three return 0, -ENOSYS, or -EIO with a line. */
    int (*record_begin)(void *ctx);
    int (*record_end)(void *ctx, void **record);
    int (*record_play)(void *ctx, void *record);
    void (*record_close)(void *ctx, void *record); /* takes NULL */

    /* weights_plan: all weights that layers will be given lie in w [n]. weights: they may have
     * changed; once before every pass. loss_scale: *scale (shared) multiplies the gradient that
     * softmax_loss makes, and divides what is written to gradients of weights; 1 where it is never
     * told. */
    int (*weights_plan)(void *ctx, const real *w, size_t n);
    void (*weights)(void *ctx);
    void (*loss_scale)(void *ctx, const float *scale);

    /* y [n] = x [n], which is host memory and may change as soon as this returns. plan: n at
     * most. */
    int (*input_plan)(void *ctx, size_t max_n);
    void (*input)(void *ctx, size_t n, const real *x, real *y);
    /* Images as bytes. open: once, before the others. send: copies a batch into slot 0..NN_SLOTS-1
     * beside the work that is going on; bytes and index may change as soon as it returns. take: x
     * [n, image] = what was last sent into the slot. */
    int (*feed_open)(void *ctx, const struct nn_feed *f);
    void (*feed_send)(void *ctx, int slot, const struct nn_bytes *b);
    void (*feed_take)(void *ctx, int slot, real *x);

    /* conv2d. plan is called once for every window before its first use, and may choose an
     * algorithm. Returns 0 or -errno.
     *   x [batch, in]   w [out.c][k][k][in.c]   bias [out.c] or NULL   y [batch, out] */
    int (*conv_plan)(void *ctx, const struct nn_window *g, int max_batch, size_t *scratch_bytes);
    void (*conv_forward)(void *ctx, const struct nn_window *g, int batch, const real *x,
                         const real *w, const real *bias, real *y, void *scratch);
    /* dx NULL: not wanted. add: dx += instead of dx =. dbias NULL: no bias. */
    void (*conv_backward)(void *ctx, const struct nn_window *g, int batch, const real *x,
                          const real *w, const real *dy, real *dx, bool add, real *dw, real *dbias,
                          void *scratch);

    /* Linear: y = x w^T + bias.   x [batch][in]   w [out][in]   bias [out] or NULL   y [batch][out].   dx NULL: not wanted;
     * dbias NULL: no bias. */
    void (*linear_forward)(void *ctx, int batch, int in, int out, const real *x, const real *w,
                           const real *bias, real *y);
    void (*linear_backward)(void *ctx, int batch, int in, int out, const real *x, const real *w,
                            const real *dy, real *dx, real *dw, real *dbias);

    /* Batch norm over x [n][c] -> y [n][c]; addend [n][c] or NULL as f->addend says. */
    int (*norm_plan)(void *ctx, int c, size_t *scratch_bytes);
    void (*norm_forward)(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                         const real *addend, real *y, void *scratch);
    void (*norm_eval)(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                      const real *addend, real *y, void *scratch);
    /* dy is used up: with an addend it becomes the addend's gradient, and dx is other memory;
     * without, dx may be dy. */
    void (*norm_backward)(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                          const real *y, real *dy, real *dx, real *dgamma, real *dbeta,
                          void *scratch);

    /* y = max(x, 0); backward: dx = dy where y > 0, else 0; dx may be dy.   n elements */
    void (*relu_forward)(void *ctx, size_t n, const real *x, real *y);
    void (*relu_backward)(void *ctx, size_t n, const real *y, const real *dy, real *dx);

    /* y = a + b.   y = k * x; y may be x.   n elements */
    void (*add)(void *ctx, size_t n, const real *a, const real *b, real *y);
    void (*scale)(void *ctx, size_t n, double k, const real *x, real *y);

    /* Pooling. max: the largest of a window, pixels outside do not count; backward: to the first of
     * equals in row order. avg: sum / k^2, pixels outside count as zeros. */
    void (*pool_max_forward)(void *ctx, const struct nn_window *g, int batch, const real *x,
                             real *y);
    void (*pool_max_backward)(void *ctx, const struct nn_window *g, int batch, const real *x,
                              const real *y, const real *dy, real *dx);
    void (*pool_avg_forward)(void *ctx, const struct nn_window *g, int batch, const real *x,
                             real *y);
    void (*pool_avg_backward)(void *ctx, const struct nn_window *g, int batch, const real *dy,
                              real *dx);

    /* Mean over all pixels: x [batch][pixels][c] -> y [batch][c]. */
    void (*mean_forward)(void *ctx, int batch, int pixels, int c, const real *x, real *y);
    void (*mean_backward)(void *ctx, int batch, int pixels, int c, const real *dy, real *dx);

    /* The shortcut without parameters (He et al., option A): every second pixel of x [batch, in];
     * of the out.c channels, the first in.c are copied and the rest are zero. y [batch, (in.h + 1)
     * / 2, (in.w + 1) / 2, out_c] */
    void (*shortcut_forward)(void *ctx, struct nn_shape in, int out_c, int batch, const real *x,
                             real *y);
    void (*shortcut_backward)(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy,
                              real *dx);

    /* y_i = x_i / (1 - p) with probability 1 - p, else 0; the choice is philox_u32(philox_key(*key,
     * node, 0, 0, 0), i). key: [1] shared. Its own backward pass; y may be x. */
    void (*dropout)(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node,
                    const real *x, real *y);

    /* Softmax cross-entropy: result = sum of the losses and number of images whose label has the
     * largest logit (the first of equals); dlogits = gradient of the MEAN loss, NULL: not wanted.
     *   logits, dlogits [batch][classes]   labels [batch], result [1]: shared */
    void (*softmax_loss)(void *ctx, int batch, int classes, const real *logits,
                         const int32_t *labels, real *dlogits, struct nn_result *result);

    /* One step of SGD (optim.h has the rule) over tensors [first, first + n) of a list that was
     * planned once: weights w, gradients g and velocities v are the flat arrays. */
    int (*sgd_plan)(void *ctx, const struct nn_sgd *o, void **plan);
    void (*sgd_close)(void *ctx, void *plan); /* takes NULL */
    void (*sgd)(void *ctx, void *plan, int first, int n, double lr, real *w, const real *g,
                real *v);
};

extern const struct nn_ops nn_cpu;
#ifndef NN_REAL_DOUBLE
extern const struct nn_ops nn_cuda; /* of the GPU that is open (vec/gpu.h) */
#endif

/* Threads that CBLAS may use in this process, where it can be told (OpenBLAS). Bits are promised
 * for a fixed number; ranks take 1. */
void nn_cpu_threads(int n);

#endif
