/* dev_nn.h : layers of a network on the GPU: cuDNN and cuBLAS where they do the work, our kernels
 * where they are faster.
 *
 * The meaning of every pass is that of host/nn/nn_ops.h. Activations, and their gradients, are NHWC
 * in the type that the math says (float, half or bfloat16): `void *`. Weights, their gradients,
 * statistics and velocities are float; 16-bit copies of the weights are made by weights(). With a
 * loss scale, gradients of activations carry it and gradients of weights do not. All passes of a
 * context run on its stream. */
#ifndef DEV_NN_H
#define DEV_NN_H
#include "device/dev.h"
#include "hls/rules.h"

enum dev_math { DEV_FP32, DEV_TF32, DEV_FP16, DEV_BF16 };

struct dev_shape {
    int h, w, c;
};
struct dev_window { /* conv2d (out.c filters) and pooling */
    struct dev_shape in, out;
    int k, stride, pad;
};
struct dev_norm {
    int c;
    bool relu, addend;
    float eps, momentum;
    const float *gamma, *beta;
    float *run_mean, *run_var, *mean, *inv_std;
};
struct dev_sgd {      /* one tensor of a step; lists are reachable memory */
    size_t offset, n; /* into weights, gradients, velocities */
    float weight_decay, trust;
};
enum { DEV_SGD_SCRATCH = 64 }; /* floats a tensor */
struct dev_sgd_all {
    float momentum;
    bool nesterov;
};
struct dev_result { /* as struct nn_result */
    double loss_sum;
    int n_correct;
};
/* A batch of images that waits in device memory as bytes. */
struct dev_feed {
    struct dev_shape image;
    int batch;
    float mean[3], inv_std[3];
    int crop, flip; /* as struct dataset_augment; both 0: none */
};

struct dev_nn; /* handles, stream, plans, 16-bit weights */

struct dev_nn_ops {
    int (*open)(enum dev_math math, struct dev_stream *s, struct dev_nn **out);
    void (*close)(struct dev_nn *d);

    /* From now on weights() keeps 16-bit copies of w [n] (fp16, bf16: allocates once; else
     * nothing). Weights given to conv and linear lie inside w. */
    int (*weights_open)(struct dev_nn *d, const float *w, size_t n);
    /* Makes the copies: once a pass, before any layer. */
    int (*weights)(struct dev_nn *d);
    /* The loss's gradient is multiplied by *scale (pinned or device, one float), that of weights
     * divided by it. NULL: 1. */
    void (*loss_scale)(struct dev_nn *d, const float *scale);
    /* From now on conv and linear multiply as host/nn/gemm_low.h does by the rule (a copy is kept),
     * bit for bit as the CPU's layers; NULL: as the machine does. Before conv_plan. Returns 0, or
     * -EINVAL with a line (DEV_FP32 only). */
    int (*gemm)(struct dev_nn *d, const struct gemm_rule *rule);

    int (*conv_plan)(struct dev_nn *d, const struct dev_window *g, int max_batch,
                     size_t *scratch_bytes);
    int (*conv_forward)(struct dev_nn *d, const struct dev_window *g, int batch, const void *x,
                        const float *w, const float *bias, void *y, void *scratch);
    int (*conv_backward)(struct dev_nn *d, const struct dev_window *g, int batch, const void *x,
                         const float *w, const void *dy, void *dx, bool add, float *dw,
                         float *dbias, void *scratch);
    int (*linear_forward)(struct dev_nn *d, int batch, int in, int out, const void *x,
                          const float *w, const float *bias, void *y);
    int (*linear_backward)(struct dev_nn *d, int batch, int in, int out, const void *x,
                           const float *w, const void *dy, void *dx, float *dw, float *dbias);

    int (*norm_plan)(struct dev_nn *d, int c, size_t *scratch_bytes);
    int (*norm_forward)(struct dev_nn *d, const struct dev_norm *f, size_t n, const void *x,
                        const void *addend, void *y, void *scratch);
    int (*norm_eval)(struct dev_nn *d, const struct dev_norm *f, size_t n, const void *x,
                     const void *addend, void *y, void *scratch);
    int (*norm_backward)(struct dev_nn *d, const struct dev_norm *f, size_t n, const void *x,
                         const void *y, void *dy, void *dx, float *dgamma, float *dbeta,
                         void *scratch);

    int (*relu_forward)(struct dev_nn *d, size_t n, const void *x, void *y);
    int (*relu_backward)(struct dev_nn *d, size_t n, const void *y, const void *dy, void *dx);
    int (*add)(struct dev_nn *d, size_t n, const void *a, const void *b, void *y); /* y = a + b */
    /* y = k * x; y may be x */
    int (*scale)(struct dev_nn *d, size_t n, float k, const void *x, void *y);
    int (*pool_max_forward)(struct dev_nn *d, const struct dev_window *g, int batch, const void *x,
                            void *y);
    int (*pool_max_backward)(struct dev_nn *d, const struct dev_window *g, int batch, const void *x,
                             const void *y, const void *dy, void *dx);
    int (*pool_avg_forward)(struct dev_nn *d, const struct dev_window *g, int batch, const void *x,
                            void *y);
    int (*pool_avg_backward)(struct dev_nn *d, const struct dev_window *g, int batch,
                             const void *dy, void *dx);
    int (*mean_forward)(struct dev_nn *d, int batch, int pixels, int c, const void *x, void *y);
    int (*mean_backward)(struct dev_nn *d, int batch, int pixels, int c, const void *dy, void *dx);
    int (*shortcut_forward)(struct dev_nn *d, struct dev_shape in, int out_c, int batch,
                            const void *x, void *y);
    int (*shortcut_backward)(struct dev_nn *d, struct dev_shape in, int out_c, int batch,
                             const void *dy, void *dx);
    /* key: [1] reachable, so that a graph can be repeated with another key; node: mixed into it as
     * nn/model.c does. */
    int (*dropout)(struct dev_nn *d, size_t n, float p, const uint64_t *key, uint32_t node,
                   const void *x, void *y);
    /* labels, result: reachable. dlogits NULL: not wanted. */
    int (*softmax_loss)(struct dev_nn *d, int batch, int classes, const void *logits,
                        const int32_t *labels, void *dlogits, struct dev_result *result);

    /* One step of SGD over all tensors of a list, in one launch (two with LARS). rate: [1]
     * reachable. scratch: device, [DEV_SGD_SCRATCH * n_tensors] float, used where a trust
     * coefficient is not 0; NULL: none is. g [n]: not changed. */
    int (*sgd)(struct dev_nn *d, const struct dev_sgd_all *o, const struct dev_sgd *list,
               int n_tensors, const float *rate, float *w, const float *g, float *v,
               float *scratch);

    /* x [batch, image] in the type of activations: normalised, cropped and flipped, the bits of
     * dataset_batch() before they are rounded to that type. bytes [batch, image] device; which
     * [batch] reachable: index of each image in the training set; keys [2] reachable: seed,
     * epoch. */
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
