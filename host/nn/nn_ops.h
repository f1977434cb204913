/* nn_ops.h : declares the backend table: memory, feeds, layers and optimisers for models. nn_cpu is
 * the table of the CPU, in C and CBLAS. nn_cuda is the table of the GPU, in the device library.
 * Models do not know which of them they use.
 * - Tensors are NHWC and contiguous. Weights of conv are [out][k][k][in], and those of linear are
 *   [out][in].
 * - Activations and their gradients (x, y, addend, dx, dy, logits, dlogits) have elements of
 *   act_bytes() bytes. Weights, their gradients, optimiser states and running statistics have
 *   elements of weight_bytes() bytes. All of them are passed as real * even if elements have 16
 *   bits, and only the backend reads them. All other numbers are real.
 * - Pointers are to backend memory (from alloc) unless noted. "Shared" memory is pinned host memory
 *   (from alloc_shared), which passes do not access.
 * - The work of calls runs in the order of the calls. This also holds for several contexts of one
 *   backend that one thread uses. A call may return before its work is done.
 * - The caller allocates the scratch memory, whose size *_plan returns. One block can serve all
 *   calls, since nothing is kept in it between calls.
 * - Slots without a return code cannot fail on a CPU. A GPU reports a failed
 *   launch and returns it from wait().
 * - Passes overwrite gradients unless noted.
 * - A slot that a backend does not support returns -ENOSYS without printing an error. */
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

/* Algorithms of convolutions on the CPU. AUTO uses winograd.h where it fits and the CPU supports
 * it. WINOGRAD does the same, but opening fails if the CPU does not support it. GEMM uses im2row
 * and GEMM only. A GPU chooses its algorithms by timing them. */
enum nn_conv { NN_CONV_AUTO, NN_CONV_WINOGRAD, NN_CONV_GEMM };

/* Adaptive loss scales: the rule that finds them, applied every `every` steps. */
struct scale_setup {
    struct scale_rule rule;
    uint32_t every;
};

/* Setup of a context; NULL means fp32. */
struct nn_setup {
    enum nn_math math;
    /* for fp16, or if `scaled`: factor on the loss's gradient; 0: the model adapts it */
    double loss_scale;
    /* activation gradients carry scales also in fp32 and pure fp16 */
    bool scaled;
    /* if not NULL, each layer has its own scale instead of loss_scale */
    const struct scale_setup *adaptive;
    /* rounds every product and partial sum; NULL: the machine's arithmetic */
    const struct gemm_rule *gemm;
    enum nn_conv conv; /* always GEMM if there is a gemm rule */
    /* activation gradients may be counted: nn_model_watch */
    bool watched;
    /* for nn_round: the tensors to round, and the backend that computes */
    const struct round_setup *round;
    /* for the model: factor on channels and hidden units; 0 means 1 */
    double width;
    /* for the model: form of residual blocks; NULL: plain */
    const struct nn_block *block;
    /* for the model: loss of its heads; NULL: the network's own losses */
    const struct nn_loss *loss;
    /* for error messages: the option that lowers the number of images in memory; NULL: none */
    const char *fewer;
};

/* An optimiser and its tensors. */
struct nn_optim {
    struct optim_options o;
    const struct optim_tensor *tensors; /* [n_tensors] */
    int n_tensors;
    /* NULL means that nothing is rounded. Else the rule rounds (r) each operation on an element,
     * and each factor except the betas. It must outlive the plan.
     *   SGD   d = r(g + r(decay * w)), with LARS r(trust's factor * d)
     *         v = r(r(momentum * v) + d)
     *         w = r(w - r(lr * v)), Nesterov: r(lr * r(d + r(momentum * v)))
     *   AdamW m = r(beta1 * m + (1 - beta1) * g)     s = r(sqrt(beta2 * s^2 + (1 - beta2) * g^2))
     *         d = r(r(m / (1 - beta1^t)) / r(r(s / sqrt(1 - beta2^t)) + eps))
     *         w = r(w - r(lr * r(d + r(decay * w))))
     * Instead of dividing by 1 - beta1^t and sqrt(1 - beta2^t), backends multiply by the
     * reciprocals in optim_step. */
    const struct round_rule *round;
};

/* Images as bytes, which the backend normalises, augments and scales. The results have the same
 * bits as those of dataset_batch(); after that the backend rounds them to elements of act_bytes. */
struct nn_feed {
    struct nn_shape image, shown; /* shape of stored images; shape that the network reads */
    int max_batch;
    float mean[3], inv_std[3]; /* per channel */
    struct augment augment;    /* of training images */
    uint64_t seed;
};
struct nn_bytes {
    const uint8_t *images; /* host memory: [any number, image] */
    const uint32_t *index; /* [n] indices into images, also keys of the augmentation */
    int n;
    bool augment;
    uint64_t epoch;
};
enum { NN_SLOTS = 2 }; /* number of batches that can be in transfer at once */

struct nn_ops {
    const char *name;

    /* Open a context. Returns 0, -ENOMEM, or one of these after reporting: -EINVAL (unsupported
     * setup), -ENODEV, -EIO. */
    int (*open)(const struct nn_setup *setup, void **ctx);
    void (*close)(void *ctx);
    size_t (*act_bytes)(const void *ctx); /* bytes of an activation */
    /* bytes of a weight: 2 for a half, else sizeof(real) */
    size_t (*weight_bytes)(const void *ctx);
    /* Allocate zeroed memory, aligned to 64 bytes. Returns NULL after reporting a failure. free
     * accepts NULL. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    void *(*alloc_shared)(void *ctx, size_t bytes);
    void (*free_shared)(void *ctx, void *p);
    /* Copy asynchronously between shared memory and the backend's memory. The source of an upload
     * must not change before wait(); the result of a download may be read after wait(). */
    void (*upload_async)(void *ctx, void *dst, const void *src, size_t bytes);
    void (*download_async)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Upload from host memory, which may be changed once the call has returned. */
    void (*upload)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Download to host memory. Blocks until the data are there. */
    void (*download)(void *ctx, void *dst, const void *src, size_t bytes);
    /* Wait until all work is done. Returns 0 or the first failure since open (-errno). */
    int (*wait)(void *ctx);
    /* Set *flag (shared) to 1 when all earlier work is done and visible to all processors. */
    void (*mark)(void *ctx, uint32_t *flag);
    /* Return the seconds spent in GEMMs since open, or 0 if unknown. */
    double (*gemm_s)(const void *ctx);

    /* Calls between begin and end are recorded, not executed. play executes them with the recorded
     * arguments and the current contents of memory. Recorded calls must not copy from or to the
     * host, wait or plan. begin, end and play return 0, -ENOSYS or -EIO (reported). */
    int (*record_begin)(void *ctx);
    int (*record_end)(void *ctx, void **record);
    int (*record_play)(void *ctx, void *record);
    void (*record_close)(void *ctx, void *record); /* accepts NULL */

    /* Announce that all weights passed to layers lie in w [n]. */
    int (*weights_plan)(void *ctx, const real *w, size_t n);
    /* Prepare the weights for a pass. Call before every pass, as the weights may have changed. */
    void (*weights)(void *ctx);
    /* From now on *scale, read as passes run, multiplies the gradients of losses and divides weight
     * gradients. It is 1 until set, and stays 1 where the math needs no scale (unless
     * setup->scaled). */
    void (*loss_scale)(void *ctx, const float *scale);

    /* Announce that the caller will tally() into `to` the activation gradient that the next
     * convolution or linear layer makes. A rounding backend then counts the values itself before it
     * rounds them. to NULL: no tally follows. */
    void (*watch)(void *ctx, struct scale_tally *to);

    /* Copy x [n] from host memory to y [n], n <= max_n. x may be changed once the call has
     * returned. */
    int (*input_plan)(void *ctx, size_t max_n);
    void (*input)(void *ctx, size_t n, const real *x, real *y);
    /* Feed of images as bytes. feed_open is called once. feed_send uploads a batch into slot 0 to
     * NN_SLOTS-1 during other work; the caller may change bytes and index once it has returned.
     * feed_take writes the batch that was last sent into the slot to x [n, shown]. */
    int (*feed_open)(void *ctx, const struct nn_feed *f);
    void (*feed_send)(void *ctx, int slot, const struct nn_bytes *b);
    void (*feed_take)(void *ctx, int slot, real *x);

    /* Passes of layers and losses, listed in hls/nn/layers.def. */
#define PLAN(name, params, args)        int (*name)(void *ctx, LIST params);
#define PASS(name, params, args, makes) void (*name)(void *ctx, LIST params);
#include "hls/nn/layers.def"

    /* For gradients: y [n] = (a + b) / divisor, rounded twice, or a / divisor if b is NULL. y may
     * be a or b. */
    void (*add_divide)(void *ctx, size_t n, const real *a, const real *b, real divisor, real *y);

    /* optim does one optimiser step (optim.h) over the planned tensors [first, first + n). w, g and
     * each state are flat arrays. */
    int (*optim_plan)(void *ctx, const struct nn_optim *o, void **plan);
    void (*optim_close)(void *ctx, void *plan); /* accepts NULL */
    void (*optim)(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
                  const real *g, real *const *state);
};

extern const struct nn_ops nn_cpu;
#ifndef NN_REAL_DOUBLE
extern const struct nn_ops nn_cuda; /* on the GPU that vec/gpu/gpu.h opened */
#endif

/* Set the number of CBLAS threads in this process, if the CBLAS is OpenBLAS. Equal bits need a
 * fixed number; ranks use 1. */
void nn_cpu_threads(int n);

#endif
