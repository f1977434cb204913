/* nn_cuda.h : what the files of the GPU backend share: the context, how failures are kept, one
 * function for each slot. */
#ifndef NN_CUDA_H
#define NN_CUDA_H
#include "device/dev_nn.h"
#include "nn/nn_ops.h"

/* Batches of bytes on their way: gathered in pinned memory, copied beside the work, turned into
 * activations. */
struct cuda_slot {
    uint8_t *host, *bytes; /* [max_batch, image] pinned; device */
    uint32_t *which;       /* [max_batch] pinned */
    uint64_t *keys;        /* [2] pinned */
    struct dev_event *copied, *taken;
    int n;
    bool augment;
};

struct cuda {
    const struct dev_run_ops *run;
    const struct dev_nn_ops *ops;
    struct dev_stream *stream;
    struct dev_nn *nn;
    enum nn_math math;
    int failed;                /* the first failure since open */
    int failed_before;         /* while recording: what `failed` was */
    float *input;              /* device; NULL: activations are floats */
    struct dev_stream *copies; /* NULL: no feed */
    struct nn_feed feed;
    struct cuda_slot slots[NN_SLOTS];
};

static inline void cuda_keep(struct cuda *c, int rc)
{
    if (rc < 0 && !c->failed)
        c->failed = rc;
}

static inline struct dev_shape cuda_shape(struct nn_shape s)
{
    return (struct dev_shape){s.h, s.w, s.c};
}

/* ---- nn_cuda_layers.c ---- */
int cuda_conv_plan(void *ctx, const struct nn_window *g, int max_batch, size_t *scratch_bytes);
void cuda_conv_forward(void *ctx, const struct nn_window *g, int batch, const real *x,
                       const real *w, const real *bias, real *y, void *scratch);
void cuda_conv_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                        const real *w, const real *dy, real *dx, bool add, real *dw, real *dbias,
                        void *scratch);
void cuda_linear_forward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                         const real *bias, real *y);
void cuda_linear_backward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                          const real *dy, real *dx, real *dw, real *dbias);
int cuda_norm_plan(void *ctx, int c, size_t *scratch_bytes);
void cuda_norm_forward(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                       const real *addend, real *y, void *scratch);
void cuda_norm_eval(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *addend,
                    real *y, void *scratch);
void cuda_norm_backward(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *y,
                        real *dy, real *dx, real *dgamma, real *dbeta, void *scratch);
void cuda_relu_forward(void *ctx, size_t n, const real *x, real *y);
void cuda_relu_backward(void *ctx, size_t n, const real *y, const real *dy, real *dx);
void cuda_add(void *ctx, size_t n, const real *a, const real *b, real *y);
void cuda_scale(void *ctx, size_t n, double k, const real *x, real *y);
void cuda_pool_max_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y);
void cuda_pool_max_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *y, const real *dy, real *dx);
void cuda_pool_avg_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y);
void cuda_pool_avg_backward(void *ctx, const struct nn_window *g, int batch, const real *dy,
                            real *dx);
void cuda_mean_forward(void *ctx, int batch, int pixels, int c, const real *x, real *y);
void cuda_mean_backward(void *ctx, int batch, int pixels, int c, const real *dy, real *dx);
void cuda_shortcut_forward(void *ctx, struct nn_shape in, int out_c, int batch, const real *x,
                           real *y);
void cuda_shortcut_backward(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy,
                            real *dx);
void cuda_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                  real *y);
void cuda_softmax_loss(void *ctx, int batch, int classes, const real *logits, const int32_t *labels,
                       real *dlogits, struct nn_result *result);

/* ---- nn_cuda_feed.c ---- */
int cuda_input_plan(void *ctx, size_t max_n);
void cuda_input(void *ctx, size_t n, const real *x, real *y);
int cuda_feed_open(void *ctx, const struct nn_feed *f);
void cuda_feed_send(void *ctx, int slot, const struct nn_bytes *b);
void cuda_feed_take(void *ctx, int slot, real *x);
void cuda_feed_close(struct cuda *c); /* of what there is */

/* ---- nn_cuda_sgd.c ---- */
int cuda_sgd_plan(void *ctx, const struct nn_sgd *o, void **plan);
void cuda_sgd_close(void *ctx, void *plan);
void cuda_sgd(void *ctx, void *plan, int first, int n, double lr, real *w, const real *g, real *v);

#endif
