/* dev_nn.h : the layers of a network on the GPU, from cuDNN, cuBLAS, or our own kernels where
 * these are faster.
 *
 * host/nn/nn_ops.h defines the passes' results. All passes of a context run on its stream.
 *
 * - Activations and their gradients are NHWC in the type of the math (float, half or bfloat16),
 *   passed as `void *`.
 * - Weights, their gradients, statistics and optimiser states are floats; with NN_FP16_PURE
 *   halves, passed as `void *`, but as `float *` in the structs of hls/nn/layer.h. weights()
 *   makes 16-bit copies of float weights.
 * - With a loss scale, activation gradients include it and weight gradients do not. */
#ifndef DEV_NN_H
#define DEV_NN_H
#include "device/run/dev.h"
#include "hls/nn/layer.h"
#include "hls/nn/optimisers.h"
#include "hls/arith/rules.h"
#include "hls/nn/view.h"

enum { DEV_OPTIM_SCRATCH = 64 }; /* floats per tensor */
struct dev_feed {
    struct nn_shape image, shown; /* as stored; as the network sees it, not smaller */
    int batch;
    float mean[3], inv_std[3];
    struct augment augment;
};

struct dev_nn; /* handles, stream, plans, 16-bit weights */

struct dev_nn_ops {
    int (*open)(enum nn_math math, struct dev_stream *s, struct dev_nn **out);
    void (*close)(struct dev_nn *d);

    /* Register all weights, w[n]; conv, linear and lstm accept only weights inside w. With fp16
     * and bf16, this allocates memory for the 16-bit copies. */
    int (*weights_open)(struct dev_nn *d, const void *w, size_t n);
    /* Make the 16-bit copies, once per pass of the network, before any layer. */
    int (*weights)(struct dev_nn *d);
    /* Set the loss scale: multiply gradients of the loss by *scale, divide weight gradients.
     * scale: a float in device memory, read when a pass runs; NULL: 1. */
    void (*loss_scale)(struct dev_nn *d, const float *scale);
    /* Make conv and linear round their products by the rule (copied), with the bits of the CPU's
     * layers (host/nn/cpu/gemm_low.h). NULL: the machine's arithmetic. Call this before conv_plan.
     * Return 0, or report -EINVAL unless the math is NN_FP32. */
    int (*gemm)(struct dev_nn *d, const struct gemm_rule *rule);
    /* Set c[m][n] = op(a)[m][k] * op(b)[k][n] with these products, for tests. add: add to c, with
     * one more rounded addition. Matrices are row-major fp32. ta: a is stored as [k][m]. tb: b is
     * [n][k]. lda, ldb, ldc: elements from row to row. Sums run over ascending k. */
    int (*gemm_low)(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k,
                    const float *a, int lda, const float *b, int ldb, bool add, float *c, int ldc,
                    struct dev_stream *s);

    /* The passes of layers and losses (hls/nn/layers.def). They access only device memory, so a
     * graph can be repeated with other keys, labels and scales. */
#define PASS(name, params, args, makes) int (*name)(struct dev_nn * d, LIST params);
#define ACT                             void
#define PAR                             void
#include "hls/nn/layers.def"

    /* Return the number of planned windows (struct nn_window) whose gradient cuDNN cannot add to
     * dx. One of our kernels then adds it. */
    int (*conv_apart)(const struct dev_nn *d);

    /* Set y[n] = (a + b) / divisor, or a / divisor if b is NULL. y may be a or b. */
    int (*add_divide)(struct dev_nn *d, size_t n, const void *a, const void *b, float divisor,
                      void *y);

    /* Do one step of an optimiser, indexed by optim_kind, on all tensors of a list, in one launch,
     * with LARS two. list[n_tensors], step[1], scratch[DEV_OPTIM_SCRATCH * n_tensors]: device
     * memory. g[n] is not changed. state: the optimiser's state arrays, [n] each. With
     * NN_FP16_PURE, the result of every operation on an element and all factors are rounded to half
     * (the field `round` of nn_optim in nn_ops.h). */
    int (*optim[N_OPTIMISERS])(struct dev_nn *d, const struct optim_options *o,
                               const struct optim_tensor *list, int n_tensors,
                               const struct optim_step *step, void *w, const void *g,
                               void *const *state, float *scratch);

    /* Fill x[batch, shown] with normalised, cropped, flipped and scaled images in the type of
     * activations. Before rounding to it, the bits are dataset_batch()'s. bytes: [batch, image].
     * which: [batch] indices of images in the training set. keys: [2] seed and epoch. All are
     * device memory. */
    int (*feed)(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes,
                const uint32_t *which, const uint64_t *keys, void *x);
    /* Convert n floats to the type of activations. */
    int (*to_math)(struct dev_nn *d, size_t n, const float *x, void *y);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_nn_ops dev_nn;

#endif
