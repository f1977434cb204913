/* dev_nn.h : layers of a network on the GPU: cuDNN and cuBLAS where they do the work, our kernels
 * where they are faster.
 *
 * The meaning of every pass is that of host/nn/nn_ops.h. Activations, and their gradients, are NHWC
 * in the type that the math says (float, half or bfloat16): `void *`. Weights, their gradients,
 * statistics and states of optimisers are float, with NN_FP16_PURE half: `void *`, too, and float * in structs of
 * hls/nn/layer.h all the same; 16-bit copies of float weights are made by weights(). With a loss scale, gradients of activations carry it and gradients of weights do not. All passes of a
 * context run on its stream. */
#ifndef DEV_NN_H
#define DEV_NN_H
#include "device/run/dev.h"
#include "hls/nn/layer.h"
#include "hls/nn/optimisers.h"
#include "hls/arith/rules.h"
#include "hls/nn/view.h"

enum { DEV_OPTIM_SCRATCH = 64 }; /* floats a tensor */
/* A batch of images that waits in device memory as bytes. */
struct dev_feed {
    struct nn_shape image, shown; /* as it waits, and as the network sees it; no smaller */
    int batch;
    float mean[3], inv_std[3];
    struct augment augment;
};

struct dev_nn; /* handles, stream, plans, 16-bit weights */

struct dev_nn_ops {
    int (*open)(enum nn_math math, struct dev_stream *s, struct dev_nn **out);
    void (*close)(struct dev_nn *d);

    /* From now on weights() keeps 16-bit copies of w [n] (fp16, bf16: allocates once; else
     * nothing). Weights given to conv and linear lie inside w. */
    int (*weights_open)(struct dev_nn *d, const void *w, size_t n);
    /* Makes the copies: once a pass, before any layer. */
    int (*weights)(struct dev_nn *d);
    /* The loss's gradient is multiplied by *scale (device, one float, read when a pass runs), that of
     * weights divided by it. NULL: 1. */
    void (*loss_scale)(struct dev_nn *d, const float *scale);
    /* From now on conv and linear multiply as host/nn/cpu/gemm_low.h does by the rule (a copy is kept),
     * bit for bit as the CPU's layers; NULL: as the machine does. Before conv_plan. Returns 0, or
     * -EINVAL with a line (NN_FP32 only). */
    int (*gemm)(struct dev_nn *d, const struct gemm_rule *rule);

    /* The passes of layers and losses: hls/nn/layers.def. All they read and write is device memory, so
     * that a graph can be repeated with other keys, labels and scales, which are copied there before
     * it. */
#define PASS(name, params, args, makes) int (*name)(struct dev_nn * d, LIST params);
#define ACT                             void
#define PAR                             void
#include "hls/nn/layers.def"

    /* Windows planned whose gradient cuDNN cannot add to dx: it is made apart, and a kernel of ours adds
     * it. */
    int (*conv_apart)(const struct dev_nn *d);

    /* y [n] = (a + b) / divisor, device memory; b NULL: a / divisor. y may be a or b. */
    int (*add_divide)(struct dev_nn *d, size_t n, const void *a, const void *b, float divisor,
                      void *y);

    /* One step of an optimiser over all tensors of a list, in one launch (two with LARS), by
     * optim_kind. list, step [1]: device. scratch: device, [DEV_OPTIM_SCRATCH * n_tensors] float.
     * g [n]: not changed. state: those that the optimiser has, [n] each. With NN_FP16_PURE every
     * operation on an element is rounded to half, and so are the factors (nn_optim's `round` of
     * nn_ops.h). */
    int (*optim[N_OPTIMISERS])(struct dev_nn *d, const struct optim_options *o,
                               const struct optim_tensor *list, int n_tensors,
                               const struct optim_step *step, void *w, const void *g,
                               void *const *state, float *scratch);

    /* x [batch, shown] in the type of activations: normalised, cropped, flipped and scaled, the bits
     * of dataset_batch() before they are rounded to that type. bytes [batch, image]; which
     * [batch]: index of each image in the training set; keys [2]: seed, epoch; device memory
     * all. */
    int (*feed)(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                const uint32_t *which, const uint64_t *keys, void *x);
    /* y (type of activations) = x (float); and back. n elements */
    int (*to_math)(struct dev_nn *d, size_t n, const float *x, void *y);
    int (*from_math)(struct dev_nn *d, size_t n, const void *x, float *y);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_nn_ops dev_nn;

#endif
