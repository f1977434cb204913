/* nn_ops.h : what a backend does for the network: one table of memory, feeds and layer passes, over
 * plain shapes and pointers.
 *
 * The CPU fills it with C and CBLAS (nn_cpu), the GPU with the device library (nn_cuda). A model
 * never asks which backend it runs on.
 *   - Tensors are NHWC, contiguous. Weights of conv are [out][k][k][in], of linear [out][in].
 *   - Activations and their gradients (x, y, addend, dx, dy, logits, dlogits) have elements of
 *     act_bytes; weights, their gradients, states of optimisers and running statistics of weight_bytes: a
 *     backend with 16-bit ones gets them as real * all the same, and nobody else looks inside.
 *     Everything else is real.
 *   - All pointers are memory of the backend (alloc) unless a slot says otherwise: "shared" is what
 *     alloc_shared gives, the host's memory, which passes neither read nor write.
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
#include "hls/nn/layer.h"
#include "hls/nn/optimisers.h"
#include "hls/nn/view.h"

struct gemm_rule; /* hls/arith/rules.h */
struct round_rule;
struct round_setup; /* nn/round/round_ops.h */
struct nn_block;    /* nn/model.h */

/* How the CPU convolves: by winograd.h where it fits and this CPU can; the same, or it is refused;
 * by im2row and GEMM alone. A GPU times its own ways. */
enum nn_conv { NN_CONV_AUTO, NN_CONV_WINOGRAD, NN_CONV_GEMM };

/* Scales of layers: the rule, and after how many steps it is asked again. */
struct scale_setup {
    struct scale_rule rule;
    uint32_t every;
};

/* What a context is opened for; a NULL instead means fp32. */
struct nn_setup {
    enum nn_math math;
    /* fp16, or scaled: the factor on the loss's gradient; 0: the model finds one as it goes */
    double loss_scale;
    /* gradients of activations carry scales though the math is fp32, or pure fp16 */
    bool scaled;
    /* every layer finds its own scale, and loss_scale says nothing; NULL: one for all */
    const struct scale_setup *adaptive;
    /* every product and partial sum rounded by it; NULL: the machine's own */
    const struct gemm_rule *gemm;
    enum nn_conv conv; /* with a rule for products there is GEMM alone */
    /* gradients of activations may be watched: nn_model_watch */
    bool watched;
    /* what is rounded between layers, and in front of which backend: for nn_round alone */
    const struct round_setup *round;
    /* factor on the channels and hidden units of a network's layers, for the model alone; 0 is 1 */
    double width;
    /* the form of residual blocks, for the model alone; NULL: plain */
    const struct nn_block *block;
    /* for messages: what makes fewer images at a time of the same work; NULL: nothing */
    const char *fewer;
};

/* Steps of an optimiser over a list of tensors. */
struct nn_optim {
    struct optim_options o;
    const struct optim_tensor *tensors; /* [n_tensors] */
    int n_tensors;
    /* NULL: none. Else the result of each operation on an element is rounded by it, and so are the
     * factors except betas; r stands for that:
     *     SGD   d = r(g + r(decay * w)), with LARS r(trust's factor * d)
     *           v = r(r(momentum * v) + d)     w = r(w - r(lr * v)), Nesterov: r(lr * r(d + r(momentum * v)))
     *     AdamW m = r(beta1 * m + (1 - beta1) * g)     s = r(sqrt(beta2 * s^2 + (1 - beta2) * g^2))
     *           d = r(r(m / (1 - beta1^t)) / r(r(s / sqrt(1 - beta2^t)) + eps))
     *           w = r(w - r(lr * r(d + r(decay * w))))     both divisions are by factors, multiplied
     * It lives as long as the plan. */
    const struct round_rule *round;
};

/* Batches of images that come as bytes and are normalised, augmented and scaled by the
 * backend, bit for bit as dataset_batch() does it (before they are rounded to act_bytes). */
struct nn_feed {
    struct nn_shape image, shown; /* as they come, and as the network sees them */
    int max_batch;
    float mean[3], inv_std[3]; /* per channel */
    struct augment augment;    /* of training images */
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
    size_t (*act_bytes)(const void *ctx);    /* of an activation */
    size_t (*weight_bytes)(const void *ctx); /* of a weight: 2 for a half, or a real's */
    /* bytes of zeroed memory, 64-byte aligned; NULL after a line. free takes NULL. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    void *(*alloc_shared)(void *ctx, size_t bytes);
    void (*free_shared)(void *ctx, void *p);
    /* tell: copies from shared memory, which stays as it is until wait; ask: to shared memory, after
     * all work before it, where it may be read after wait. */
    void (*tell)(void *ctx, void *dst, const void *src, size_t bytes);
    void (*ask)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Copies from host memory; the host's copy may change as soon as put returns. */
    void (*put)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Copies to host memory, after all work before it; waits. */
    void (*get)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Waits until all work is done. Returns 0 or the first failure since open (negative errno). */
    int (*wait)(void *ctx);
    /* *flag (shared) becomes 1 when all work before this has been done and can be seen by
     * everyone. */
    void (*mark)(void *ctx, uint32_t *flag);
    /* Seconds spent in GEMMs since open; 0 where that is not known. */
    double (*gemm_s)(const void *ctx);

    /* Calls between record_begin and record_end are noted instead of done, and done as often as
     * they are played: with the pointers and numbers they were given, and with what memory then
     * holds. None of them may be one that copies from or to the host, waits or plans. All
     * three return 0, -ENOSYS, or -EIO with a line. */
    int (*record_begin)(void *ctx);
    int (*record_end)(void *ctx, void **record);
    int (*record_play)(void *ctx, void *record);
    void (*record_close)(void *ctx, void *record); /* takes NULL */

    /* weights_plan: all weights that layers will be given lie in w [n]. weights: they may have
     * changed; once before every pass. loss_scale: from now on *scale (when the pass runs)
     * multiplies the gradient that losses make, and divides what is written to gradients of weights;
     * 1 where it is never told, and for math that needs none (unless setup says scaled). */
    int (*weights_plan)(void *ctx, const real *w, size_t n);
    void (*weights)(void *ctx);
    void (*loss_scale)(void *ctx, const float *scale);

    /* The gradient of activations that the next convolution or linear layer makes is going to be
     * asked for by tally(), into the same place: a backend that rounds it counts it before. NULL: not. */
    void (*watch)(void *ctx, struct scale_tally *to);

    /* y [n] = x [n], which is host memory and may change as soon as this returns. plan: n at
     * most. */
    int (*input_plan)(void *ctx, size_t max_n);
    void (*input)(void *ctx, size_t n, const real *x, real *y);
    /* Images as bytes. open: once, before the others. send: copies a batch into slot 0..NN_SLOTS-1
     * beside the work that is going on; bytes and index may change as soon as it returns. take: x
     * [n, shown] = what was last sent into the slot. */
    int (*feed_open)(void *ctx, const struct nn_feed *f);
    void (*feed_send)(void *ctx, int slot, const struct nn_bytes *b);
    void (*feed_take)(void *ctx, int slot, real *x);

    /* The passes of layers and losses: hls/nn/layers.def has their shapes and rules. */
#define PLAN(name, params, args)        int (*name)(void *ctx, LIST params);
#define PASS(name, params, args, makes) void (*name)(void *ctx, LIST params);
#include "hls/nn/layers.def"

    /* y [n] = (a + b) / divisor, two roundings; b NULL: a / divisor. y may be a or b. For gradients. */
    void (*add_divide)(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y);

    /* One step of an optimiser (optim.h has the rules) over tensors [first, first + n) of a list that
     * was planned once: weights w, gradients g and the states that the optimiser has are flat
     * arrays. */
    int (*optim_plan)(void *ctx, const struct nn_optim *o, void **plan);
    void (*optim_close)(void *ctx, void *plan); /* takes NULL */
    void (*optim)(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
                  const real *g, real *const *state);
};

extern const struct nn_ops nn_cpu;
#ifndef NN_REAL_DOUBLE
extern const struct nn_ops nn_cuda; /* of the GPU that is open (vec/gpu/gpu.h) */
#endif

/* Threads that CBLAS may use in this process, where it can be told (OpenBLAS). Bits are promised
 * for a fixed number; ranks take 1. */
void nn_cpu_threads(int n);

#endif
