/* nn_ops.h : declares the backend table: memory, feeds, layers and optimisers for models.
 * The CPU fills it with C and CBLAS (nn_cpu), the GPU with the device library (nn_cuda).
 * Models do not know which they use.
 * - Tensors are NHWC and contiguous. Weights of conv are [out][k][k][in], of linear [out][in].
 * - Activations and their gradients (x, y, addend, dx, dy, logits, dlogits) have elements of
 *   act_bytes; weights, their gradients, optimiser states and running statistics of weight_bytes.
 *   They are passed as real * even if 16-bit, and only the backend reads them. All else is real.
 * - Pointers are backend memory (alloc) unless noted. "Shared" is pinned host memory of
 *   alloc_shared, which passes do not access.
 * - Calls run in the order they were made, on one ctx or on several of one backend in one thread. A
 *   call may return before its work is done.
 * - Scratch is the caller's. *_plan returns its size; one block serves all calls
 *   and keeps nothing between them.
 * - Slots without a return code cannot fail on a CPU. A GPU reports a failed
 *   launch and returns it from wait().
 * - Gradients are overwritten unless noted.
 * - Unsupported slots return -ENOSYS, unreported. */
#ifndef NN_OPS_H
#define NN_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/layer.h"
#include "hls/nn/optimisers.h"
#include "hls/nn/view.h"

struct gemm_rule; /* hls/arith/rules.h */
struct round_rule;
struct round_setup; /* nn/round/round_ops.h */
struct nn_block;    /* nn/model.h */
struct nn_loss;

/* Algorithms of the CPU: AUTO: winograd.h where it fits and the CPU supports it; WINOGRAD: the
 * same, but opening fails without CPU support; GEMM: im2row and GEMM only. GPUs time theirs. */
enum nn_conv { NN_CONV_AUTO, NN_CONV_WINOGRAD, NN_CONV_GEMM };

/* Adaptive loss scales: the rule, applied every `every` steps. */
struct scale_setup {
    struct scale_rule rule;
    uint32_t every;
};

/* Setup of a context; NULL means fp32. */
struct nn_setup {
    enum nn_math math;
    /* fp16, or `scaled`: factor on the loss's gradient; 0: adapted by the model */
    double loss_scale;
    /* activation gradients carry scales in fp32 or pure fp16 too */
    bool scaled;
    /* a scale for each layer instead of loss_scale; NULL: none */
    const struct scale_setup *adaptive;
    /* rounds every product and partial sum; NULL: the machine's arithmetic */
    const struct gemm_rule *gemm;
    enum nn_conv conv; /* with a gemm rule always GEMM */
    /* activation gradients may be watched: nn_model_watch */
    bool watched;
    /* for nn_round: what is rounded, and the backend below */
    const struct round_setup *round;
    /* for the model: factor on channels and hidden units; 0 means 1 */
    double width;
    /* for the model: form of residual blocks; NULL: plain */
    const struct nn_block *block;
    /* for the model: loss of its heads; NULL: the network's own */
    const struct nn_loss *loss;
    /* for messages: option that lowers the images in memory; NULL: none */
    const char *fewer;
};

/* An optimiser and its tensors. */
struct nn_optim {
    struct optim_options o;
    const struct optim_tensor *tensors; /* [n_tensors] */
    int n_tensors;
    /* NULL: none. Else it rounds (r) each operation on an element, and each factor except the
     * betas; it must outlive the plan:
     *   SGD   d = r(g + r(decay * w)), with LARS r(trust's factor * d)
     *         v = r(r(momentum * v) + d)
     *         w = r(w - r(lr * v)), Nesterov: r(lr * r(d + r(momentum * v)))
     *   AdamW m = r(beta1 * m + (1 - beta1) * g)     s = r(sqrt(beta2 * s^2 + (1 - beta2) * g^2))
     *         d = r(r(m / (1 - beta1^t)) / r(r(s / sqrt(1 - beta2^t)) + eps))
     *         w = r(w - r(lr * r(d + r(decay * w))))
     * The divisions by 1 - beta1^t and sqrt(1 - beta2^t) are products
     * with optim_step's reciprocals. */
    const struct round_rule *round;
};

/* Images as bytes, which the backend normalises, augments and scales to the bits of
 * dataset_batch(), before it rounds them to act_bytes. */
struct nn_feed {
    struct nn_shape image, shown; /* as stored, and as the network reads them */
    int max_batch;
    float mean[3], inv_std[3]; /* per channel */
    struct augment augment;    /* of training images */
    uint64_t seed;
};
struct nn_bytes {
    const uint8_t *images; /* host memory: [.., image] */
    const uint32_t *index; /* [n] places in images; they key the augmentation */
    int n;
    bool augment;
    uint64_t epoch;
};
enum { NN_SLOTS = 2 }; /* batches in transfer at once */

struct nn_ops {
    const char *name;

    /* Returns 0, -ENOMEM, or -EINVAL (unsupported setup), -ENODEV, -EIO (reported). */
    int (*open)(const struct nn_setup *setup, void **ctx);
    void (*close)(void *ctx);
    size_t (*act_bytes)(const void *ctx);    /* of an activation */
    size_t (*weight_bytes)(const void *ctx); /* of a weight: 2 for a half, else sizeof(real) */
    /* alloc: zeroed, 64-byte aligned; NULL after reporting. free accepts NULL. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    void *(*alloc_shared)(void *ctx, size_t bytes);
    void (*free_shared)(void *ctx, void *p);
    /* Asynchronous upload (tell) from shared memory, which must not change before wait(), and
     * download (ask) to shared memory, to be read after wait(). */
    void (*tell)(void *ctx, void *dst, const void *src, size_t bytes);
    void (*ask)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Upload from host memory, which may change on return. */
    void (*put)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Download to host memory; blocks until done. */
    void (*get)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Wait until all work is done. Returns 0 or the first failure since open (-errno). */
    int (*wait)(void *ctx);
    /* Set *flag (shared) to 1 when all earlier work is done and visible to all processors. */
    void (*mark)(void *ctx, uint32_t *flag);
    /* Seconds spent in GEMMs since open; 0 if unknown. */
    double (*gemm_s)(const void *ctx);

    /* Calls between begin and end are recorded, not executed; play executes them with their
     * arguments and memory's current contents. They must not copy from or to the host, wait or
     * plan. Return 0, -ENOSYS or -EIO (reported). */
    int (*record_begin)(void *ctx);
    int (*record_end)(void *ctx, void **record);
    int (*record_play)(void *ctx, void *record);
    void (*record_close)(void *ctx, void *record); /* accepts NULL */

    /* weights_plan: all weights passed to layers lie in w [n].
     * weights: call before every pass, as weights may have changed.
     * loss_scale: from now on *scale, read as passes run, multiplies the losses'
     * gradients and divides weight gradients; 1 until set, and where the math needs
     * none (unless setup->scaled). */
    int (*weights_plan)(void *ctx, const real *w, size_t n);
    void (*weights)(void *ctx);
    void (*loss_scale)(void *ctx, const float *scale);

    /* Announce a tally() into `to` of the activation gradient that the next convolution or linear
     * layer makes, so that a rounding backend counts it before rounding. NULL: none. */
    void (*watch)(void *ctx, struct scale_tally *to);

    /* y [n] = x [n] in host memory, which may change on return; at most max_n. */
    int (*input_plan)(void *ctx, size_t max_n);
    void (*input)(void *ctx, size_t n, const real *x, real *y);
    /* Images as bytes. open: called once. send: upload a batch into slot 0..NN_SLOTS-1
     * during other work; bytes and index may change on return. take: x [n, shown] = the
     * batch last sent into the slot. */
    int (*feed_open)(void *ctx, const struct nn_feed *f);
    void (*feed_send)(void *ctx, int slot, const struct nn_bytes *b);
    void (*feed_take)(void *ctx, int slot, real *x);

    /* Passes of layers and losses: hls/nn/layers.def. */
#define PLAN(name, params, args)        int (*name)(void *ctx, LIST params);
#define PASS(name, params, args, makes) void (*name)(void *ctx, LIST params);
#include "hls/nn/layers.def"

    /* For gradients: y [n] = (a + b) / divisor, rounded twice; b NULL:
     * a / divisor. y may be a or b. */
    void (*add_divide)(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y);

    /* One optimiser step (optim.h) over planned tensors [first, first + n); w,
     * g and states are flat arrays. */
    int (*optim_plan)(void *ctx, const struct nn_optim *o, void **plan);
    void (*optim_close)(void *ctx, void *plan); /* accepts NULL */
    void (*optim)(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
                  const real *g, real *const *state);
};

extern const struct nn_ops nn_cpu;
#ifndef NN_REAL_DOUBLE
extern const struct nn_ops nn_cuda; /* for the GPU opened by vec/gpu/gpu.h */
#endif

/* Set CBLAS's threads in this process if it can (OpenBLAS). Equal bits
 * need a fixed number; ranks use 1. */
void nn_cpu_threads(int n);

#endif
