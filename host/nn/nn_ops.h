/* nn_ops.h : declares the backend table: memory, feeds, layers and optimisers for models. nn_cpu (C
 * and CBLAS) and nn_cuda (the device library) fill it.
 * - Tensors are NHWC and contiguous. Weights of conv are [out][k][k][in], of linear [out][in].
 * - Activations and their gradients (x, y, addend, dx, dy, logits, dlogits) have act_bytes() per
 *   element. Weights, their gradients, optimiser states and running statistics have
 *   weight_bytes(). All are passed as real *, even with 16 bits, and only the backend reads them.
 *   All other numbers are real.
 * - Pointers are to backend memory (from alloc) unless noted. "Shared" memory is pinned host memory
 *   (from alloc_shared), which passes do not access.
 * - Work runs in the order of calls, also for several contexts of a backend on one thread. A call
 * may return before its work is done.
 * - The caller allocates scratch memory of the size that *_plan returns. One block can serve all
 * calls, because calls keep nothing in it.
 * - On a CPU slots without a return code cannot fail. A GPU reports a failed launch and returns it
 * from wait().
 * - Passes overwrite gradients unless noted.
 * - Unsupported slots return -ENOSYS without printing; void ones do nothing. */
#ifndef NN_OPS_H
#define NN_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hls/nn/layer.h"
#include "hls/nn/optimisers.h"
#include "hls/nn/view.h"

static inline size_t batch_pixels(struct nn_shape s, int batch)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w;
}

/* Return the index of a pixel's first element in an image. */
static inline size_t pixel_at(struct nn_shape s, int y, int x)
{
    return ((size_t)y * (size_t)s.w + (size_t)x) * (size_t)s.c;
}

struct gemm_rule;
struct round_rule;
struct round_setup; /* nn/round/round_ops.h */
struct nn_block;    /* nn/model.h */
struct nn_loss;

/* Convolutions on the CPU. AUTO uses winograd.h where it fits and the CPU supports it. WINOGRAD
 * does the same, but opening fails on other CPUs. GEMM uses only im2row. A GPU times its algorithms
 * and chooses. */
enum nn_conv { NN_CONV_AUTO, NN_CONV_WINOGRAD, NN_CONV_GEMM };

/* Rule of adaptive loss scales, applied every `every` steps. */
struct scale_setup {
    struct scale_rule rule;
    uint32_t every;
};

/* Options of open(). NULL instead of a struct means fp32. */
struct nn_setup {
    enum nn_math math;
    /* for fp16 or `scaled`: factor on the loss's gradient; 0: the model adapts it */
    double loss_scale;
    /* scale activation gradients also in fp32 and pure fp16 */
    bool scaled;
    /* each layer's own scale instead of loss_scale, or NULL */
    const struct scale_setup *adaptive;
    /* rounds every product and partial sum; NULL: native arithmetic */
    const struct gemm_rule *gemm;
    enum nn_conv conv; /* always GEMM with a gemm rule */
    /* nn_model_watch may count gradients */
    bool watched;
    /* nn_round: tensors to round, and the backend that computes */
    const struct round_setup *round;
    /* for the model, like block and loss: factor on channels and hidden units; 0 means 1 */
    double width;
    /* form of residual blocks; NULL: plain */
    const struct nn_block *block;
    /* loss of the heads; NULL: the network's own */
    const struct nn_loss *loss;
    /* for error messages: the option that reduces the number of images in memory; NULL: none */
    const char *fewer;
};

struct nn_optim {
    struct optim_options o;
    const struct optim_tensor *tensors; /* [n_tensors] */
    int n_tensors;
    /* NULL: no rounding. Else the rule rounds (r) each operation on an element, and each factor
     * except the betas. The rule must outlive the plan.
     *   SGD   d = r(g + r(decay * w)), with LARS r(trust's factor * d)
     *         v = r(r(momentum * v) + d)
     *         w = r(w - r(lr * v)), Nesterov: r(lr * r(d + r(momentum * v)))
     *   AdamW m = r(beta1 * m + (1 - beta1) * g)     s = r(sqrt(beta2 * s^2 + (1 - beta2) * g^2))
     *         d = r(r(m / (1 - beta1^t)) / r(r(s / sqrt(1 - beta2^t)) + eps))
     *         w = r(w - r(lr * r(d + r(decay * w))))
     * Backends multiply by optim_step's reciprocals of 1 - beta1^t and sqrt(1 - beta2^t) instead of
     * dividing. */
    const struct round_rule *round;
};

/* Images as bytes. The backend normalises, augments and scales them, with the same bits as
 * dataset_batch() on the host, then rounds them to activations. */
struct nn_feed {
    struct nn_shape image, shown; /* stored images; what the network reads */
    int max_batch;
    float mean[3], inv_std[3]; /* per channel */
    struct augment augment;    /* of training images */
    uint64_t seed;
};
struct nn_bytes {
    const uint8_t *images; /* on the host: [any number, image] */
    const uint32_t *index; /* [n] into images, also keys of the augmentation */
    int n;
    bool augment;
    uint64_t epoch;
};
enum { NN_SLOTS = 2 }; /* batches in transfer at once */

struct nn_ops {
    const char *name;

    /* Returns 0, or reports -ENOMEM, -EINVAL (unsupported setup), -ENODEV or -EIO. */
    int (*open)(const struct nn_setup *setup, void **ctx);
    void (*close)(void *ctx);
    size_t (*act_bytes)(const void *ctx); /* of an activation */
    /* of a weight: 2 for a half, else sizeof(real) */
    size_t (*weight_bytes)(const void *ctx);
    /* Allocate zeroed memory, aligned to 64 bytes. Returns NULL after reporting a failure. free
     * accepts NULL. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    void *(*alloc_shared)(void *ctx, size_t bytes);
    void (*free_shared)(void *ctx, void *p);
    /* Copy asynchronously between shared and backend memory. Before wait() do not modify an
     * upload's source or read a download's result. */
    void (*upload_async)(void *ctx, void *dst, const void *src, size_t bytes);
    void (*download_async)(void *ctx, void *dst, const void *src, size_t bytes);
    /* src may change on return. */
    void (*upload)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Blocks until the data are there. */
    void (*download)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Wait for all work. Returns 0 or the first failure since open (-errno). */
    int (*wait)(void *ctx);
    /* Set *flag (shared) to 1 once all earlier work is done and visible to all processors. */
    void (*mark)(void *ctx, uint32_t *flag);
    /* Return the seconds in GEMMs since open, or 0 if unknown. */
    double (*gemm_s)(const void *ctx);

    /* Calls between begin and end are recorded, not executed. play executes them with the recorded
     * arguments and the current contents of memory. Recorded calls must not copy from or to the
     * host, wait or plan. begin, end and play return 0, -ENOSYS or -EIO (reported). */
    int (*record_begin)(void *ctx);
    int (*record_end)(void *ctx, void **record);
    int (*record_play)(void *ctx, void *record);
    void (*record_close)(void *ctx, void *record); /* accepts NULL */

    /* All weights passed to layers lie in w [n]. */
    int (*weights_plan)(void *ctx, const real *w, size_t n);
    /* Call before every pass, as weights may have changed. */
    void (*weights)(void *ctx);
    /* *scale multiplies loss gradients and divides weight gradients from now on; passes read it as
     * they run. The scale is 1 before the first call, and always if the math needs none (unless
     * setup->scaled). */
    void (*loss_scale)(void *ctx, const float *scale);

    /* Call before a backward pass whose dx the caller will tally() into `to`; NULL: no tally
     * follows. A backend that rounds dx can then count the values before it rounds them. */
    void (*watch)(void *ctx, struct scale_tally *to);

    /* Copy x [n] from host memory to y [n], n <= max_n. x may change on return. */
    int (*input_plan)(void *ctx, size_t max_n);
    void (*input)(void *ctx, size_t n, const real *x, real *y);
    /* Feed of images as bytes, opened once. feed_send uploads a batch into a slot below NN_SLOTS
     * during other work; bytes and index may change on return. feed_take writes the slot's last
     * batch to x [n, shown]. */
    int (*feed_open)(void *ctx, const struct nn_feed *f);
    void (*feed_send)(void *ctx, int slot, const struct nn_bytes *b);
    void (*feed_take)(void *ctx, int slot, real *x);

    /* Listed in hls/nn/layers.def. */
#define PLAN(name, params, args)        int (*name)(void *ctx, LIST params);
#define PASS(name, params, args, makes) void (*name)(void *ctx, LIST params);
#include "hls/nn/layers.def"

    /* For gradients: y [n] = (a + b) / divisor, rounded twice, or a / divisor if b is NULL. y may
     * be a or b. */
    void (*add_divide)(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y);

    /* optim does one step (optim.h) of the planned tensors [first, first + n). w, g and each state
     * are flat arrays. */
    int (*optim_plan)(void *ctx, const struct nn_optim *o, void **plan);
    void (*optim_close)(void *ctx, void *plan); /* accepts NULL */
    void (*optim)(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
                  const real *g, real *const *state);
};

extern const struct nn_ops nn_cpu;
#ifndef NN_REAL_DOUBLE
extern const struct nn_ops nn_cuda; /* on the GPU that vec/gpu/gpu.h opened */
#endif

/* Set this process's threads of OpenBLAS, and of oneDNN in contexts opened afterwards. Equal bits
 * need a fixed number; ranks use 1. */
void nn_cpu_threads(int n);

#endif
