/* nn.cuh : defines a network's context on the GPU. */
#ifndef NN_CUH
#define NN_CUH
#include "device/run/cu.cuh"
#include "device/nn/dev_nn.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct nn_conv; /* conv.cu */
struct nn_blas; /* linear.cu */

struct dev_nn {
    enum nn_math math;
    struct dev_stream *s;
    const void *weights; /* master, [n_weights]; NULL until weights_open() */
    size_t n_weights;
    void *narrow;       /* [n_weights] 16-bit copies; NULL: layers read the master weights */
    const float *scale; /* loss scale; NULL: 1 */
    bool is_low;        /* conv and linear multiply by `rule` */
    struct gemm_rule rule;
    struct nn_conv *conv;
    struct nn_blas *blas;
};

static inline bool nn_pure(const struct dev_nn *d)
{
    return d->math == NN_FP16_PURE;
}

static inline bool nn_half(const struct dev_nn *d)
{
    return d->math == NN_FP16 || nn_pure(d);
}

static inline size_t nn_bytes(const struct dev_nn *d)
{
    return nn_half(d) || d->math == NN_BF16 ? 2 : 4;
}

/* The type of weights, their gradients, statistics and optimiser states. */
static inline enum vec_type nn_par(const struct dev_nn *d)
{
    return nn_pure(d) ? VEC_HALF : VEC_FLOAT;
}

/* w: master weights. Layers read their 16-bit copy, if any. */
static inline const void *nn_weight(const struct dev_nn *d, const void *w)
{
    return d->narrow ? (const char *)d->narrow + 2 * ((const float *)w - (const float *)d->weights)
                     : (const char *)w;
}

/* Call launch<T>(args) with the type of activations. NN_BY_PAR: the type of weights. */
#define NN_BY_TYPE(d, launch, ...)                               \
    (nn_half(d)             ? launch<__half>(__VA_ARGS__)        \
     : (d)->math == NN_BF16 ? launch<__nv_bfloat16>(__VA_ARGS__) \
                            : launch<float>(__VA_ARGS__))
#define NN_BY_PAR(d, launch, ...) \
    (nn_pure(d) ? launch<__half>(__VA_ARGS__) : launch<float>(__VA_ARGS__))

int nn_open(enum nn_math math, struct dev_stream *s, struct dev_nn **out);
void nn_close(struct dev_nn *d);
int nn_weights_open(struct dev_nn *d, const void *w, size_t n);
int nn_weights(struct dev_nn *d);
void nn_loss_scale(struct dev_nn *d, const float *scale);
int nn_gemm(struct dev_nn *d, const struct gemm_rule *rule);
int nn_gemm_low(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k, const float *a,
                int lda, const float *b, int ldb, bool add, float *c, int ldc,
                struct dev_stream *s);
#define PASS(name, params, args, makes) int nn_##name(struct dev_nn *d, LIST params);
#define ACT                             void
#define PAR                             void
#include "hls/nn/layers.def"
int nn_add_divide(struct dev_nn *d, size_t n, const void *a, const void *b, float divisor, void *y);
int nn_conv_apart(const struct dev_nn *d);
#define OPTIMISER(name, takes, states, update, help)                                             \
    int nn_##name(struct dev_nn *d, const struct optim_options *o,                               \
                  const struct optim_tensor *list, int n_tensors, const struct optim_step *step, \
                  void *w, const void *g, void *const *state, float *scratch);
#include "hls/nn/optimisers.def"
int nn_feed(struct dev_nn *d, const struct dev_feed *f, const uint8_t *bytes, const uint32_t *which,
            const uint64_t *keys, void *x);
int nn_to_math(struct dev_nn *d, size_t n, const float *x, void *y);

#endif
