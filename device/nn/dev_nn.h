/* dev_nn.h : layers of a network on the GPU, by cuDNN and cuBLAS, or by our
 * kernels where they are faster.
 *
 * Every pass means the same as in host/nn/nn_ops.h. All passes of a context run on its stream.
 *
 * - Activations and their gradients are NHWC in the type of the math (float, half or
 *   bfloat16), passed as `void *`.
 * - Weights, their gradients, statistics and optimiser states are float; with NN_FP16_PURE they are
 *   half, passed as `void *`, and as float * in the structs of hls/nn/layer.h. weights() makes
 *   16-bit copies of float weights.
 * - With a loss scale, activation gradients include the scale and weight gradients do not. */
#ifndef DEV_NN_H
#define DEV_NN_H
#include "device/run/dev.h"
#include "hls/nn/layer.h"
#include "hls/nn/optimisers.h"
#include "hls/arith/rules.h"
#include "hls/nn/view.h"

enum { DEV_OPTIM_SCRATCH = 64 }; /* floats per tensor */
/* A batch of images in device memory, as bytes. */
struct dev_feed {
    struct nn_shape image, shown; /* as stored, and as the network sees it; shown is not smaller */
    int batch;
    float mean[3], inv_std[3];
    struct augment augment;
};

struct dev_nn; /* handles, stream, plans, 16-bit weights */

struct dev_nn_ops {
    int (*open)(enum nn_math math, struct dev_stream *s, struct dev_nn **out);
    void (*close)(struct dev_nn *d);

    /* Set the weights w[n]. From now on weights() keeps 16-bit copies of them (fp16, bf16:
     * allocates once; other maths: nothing). Weights passed to conv and linear are inside w. */
    int (*weights_open)(struct dev_nn *d, const void *w, size_t n);
    /* Make the copies: once per pass, before any layer. */
    int (*weights)(struct dev_nn *d);
    /* Multiply the loss's gradient by *scale (device, one float, read when a pass runs) and divide
     * weight gradients by it. NULL: 1. */
    void (*loss_scale)(struct dev_nn *d, const float *scale);
    /* Let conv and linear multiply by the rule (copied), with the same bits as the CPU's layers
     * (host/nn/cpu/gemm_low.h). NULL: as the machine does. Call before conv_plan. Returns 0, or
     * reports -EINVAL unless the math is NN_FP32. */
    int (*gemm)(struct dev_nn *d, const struct gemm_rule *rule);

    /* The passes of layers and losses: hls/nn/layers.def. They read and write only
     * device memory. So a graph can be repeated with other keys, labels and scales,
     * which are copied there before it. */
#define PASS(name, params, args, makes) int (*name)(struct dev_nn * d, LIST params);
#define ACT                             void
#define PAR                             void
#include "hls/nn/layers.def"

    /* Return the number of planned windows whose gradient cuDNN cannot add to dx. It is computed
     * separately, and one of our kernels adds it. */
    int (*conv_apart)(const struct dev_nn *d);

    /* Set y[n] = (a + b) / divisor, in device memory; b NULL: a / divisor. y may be a or b. */
    int (*add_divide)(struct dev_nn *d, size_t n, const void *a, const void *b, float divisor,
                      void *y);

    /* Do one step of an optimiser (optim_kind) on all tensors of a list, in one launch (two with
     * LARS). list and step[1]: device memory. scratch: [DEV_OPTIM_SCRATCH * n_tensors] float,
     * device. g[n] is not changed. state: the arrays that the optimiser has, [n] each. With
     * NN_FP16_PURE, every operation on an element and all factors are rounded to half
     * (nn_optim's `round` of nn_ops.h). */
    int (*optim[N_OPTIMISERS])(struct dev_nn *d, const struct optim_options *o,
                               const struct optim_tensor *list, int n_tensors,
                               const struct optim_step *step, void *w, const void *g,
                               void *const *state, float *scratch);

    /* Fill x[batch, shown], in the type of activations, with images normalised, cropped, flipped
     * and scaled. Before rounding to that type, the bits are those of dataset_batch(). bytes:
     * [batch, image]. which: [batch] index of each image in the training set. keys: [2] seed,
     * epoch. All are device memory. */
    int (*feed)(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                const uint32_t *which, const uint64_t *keys, void *x);
    /* Convert n elements: y (type of activations) = x (float), and back. */
    int (*to_math)(struct dev_nn *d, size_t n, const float *x, void *y);
    int (*from_math)(struct dev_nn *d, size_t n, const void *x, float *y);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_nn_ops dev_nn;

#endif
