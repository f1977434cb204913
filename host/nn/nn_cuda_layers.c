/* nn_cuda_layers.c : the layers on the GPU: every pass is one of the device library's, in the same
 * words. */
#include "nn/nn_cuda.h"

_Static_assert(sizeof(struct dev_result) == sizeof(struct nn_result) &&
                   offsetof(struct dev_result, n_correct) == offsetof(struct nn_result, n_correct),
               "the device writes the host's struct");

static struct dev_window window_of(const struct nn_window *g)
{
    return (struct dev_window){cuda_shape(g->in), cuda_shape(g->out), g->k, g->stride, g->pad};
}

/* Calls a slot of the device library and keeps its failure. */
#define CALL(ctx, slot, ...)                                        \
    do {                                                            \
        struct cuda *cuda_ = (ctx);                                 \
        cuda_keep(cuda_, cuda_->ops->slot(cuda_->nn, __VA_ARGS__)); \
    } while (0)

int cuda_conv_plan(void *ctx, const struct nn_window *g, int max_batch, size_t *scratch_bytes)
{
    const struct cuda *c = ctx;
    const struct dev_window w = window_of(g);
    return c->ops->conv_plan(c->nn, &w, max_batch, scratch_bytes);
}

void cuda_conv_forward(void *ctx, const struct nn_window *g, int batch, const real *x,
                       const real *w, const real *bias, real *y, void *scratch)
{
    const struct dev_window window = window_of(g);
    CALL(ctx, conv_forward, &window, batch, x, w, bias, y, scratch);
}

void cuda_conv_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                        const real *w, const real *dy, real *dx, bool add, real *dw, real *dbias,
                        void *scratch)
{
    const struct dev_window window = window_of(g);
    CALL(ctx, conv_backward, &window, batch, x, w, dy, dx, add, dw, dbias, scratch);
}

void cuda_linear_forward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                         const real *bias, real *y)
{
    CALL(ctx, linear_forward, batch, in, out, x, w, bias, y);
}

void cuda_linear_backward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                          const real *dy, real *dx, real *dw, real *dbias)
{
    CALL(ctx, linear_backward, batch, in, out, x, w, dy, dx, dw, dbias);
}

static struct dev_norm norm_of(const struct nn_norm *f)
{
    return (struct dev_norm){
        .c = f->c,
        .relu = f->relu,
        .addend = f->addend,
        .eps = (float)f->eps,
        .momentum = (float)f->momentum,
        .gamma = f->gamma,
        .beta = f->beta,
        .run_mean = f->run_mean,
        .run_var = f->run_var,
        .mean = f->mean,
        .inv_std = f->inv_std,
    };
}

int cuda_norm_plan(void *ctx, int channels, size_t *scratch_bytes)
{
    const struct cuda *c = ctx;
    return c->ops->norm_plan(c->nn, channels, scratch_bytes);
}

void cuda_norm_forward(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                       const real *addend, real *y, void *scratch)
{
    const struct dev_norm norm = norm_of(f);
    CALL(ctx, norm_forward, &norm, n, x, addend, y, scratch);
}

void cuda_norm_eval(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *addend,
                    real *y, void *scratch)
{
    const struct dev_norm norm = norm_of(f);
    CALL(ctx, norm_eval, &norm, n, x, addend, y, scratch);
}

void cuda_norm_backward(void *ctx, const struct nn_norm *f, size_t n, const real *x, const real *y,
                        real *dy, real *dx, real *dgamma, real *dbeta, void *scratch)
{
    const struct dev_norm norm = norm_of(f);
    CALL(ctx, norm_backward, &norm, n, x, y, dy, dx, dgamma, dbeta, scratch);
}

void cuda_relu_forward(void *ctx, size_t n, const real *x, real *y)
{
    CALL(ctx, relu_forward, n, x, y);
}

void cuda_relu_backward(void *ctx, size_t n, const real *y, const real *dy, real *dx)
{
    CALL(ctx, relu_backward, n, y, dy, dx);
}

void cuda_add(void *ctx, size_t n, const real *a, const real *b, real *y)
{
    CALL(ctx, add, n, a, b, y);
}

void cuda_scale(void *ctx, size_t n, double k, const real *x, real *y)
{
    CALL(ctx, scale, n, (float)k, x, y);
}

void cuda_pool_max_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y)
{
    const struct dev_window window = window_of(g);
    CALL(ctx, pool_max_forward, &window, batch, x, y);
}

void cuda_pool_max_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *y, const real *dy, real *dx)
{
    const struct dev_window window = window_of(g);
    CALL(ctx, pool_max_backward, &window, batch, x, y, dy, dx);
}

void cuda_pool_avg_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y)
{
    const struct dev_window window = window_of(g);
    CALL(ctx, pool_avg_forward, &window, batch, x, y);
}

void cuda_pool_avg_backward(void *ctx, const struct nn_window *g, int batch, const real *dy,
                            real *dx)
{
    const struct dev_window window = window_of(g);
    CALL(ctx, pool_avg_backward, &window, batch, dy, dx);
}

void cuda_mean_forward(void *ctx, int batch, int pixels, int c, const real *x, real *y)
{
    CALL(ctx, mean_forward, batch, pixels, c, x, y);
}

void cuda_mean_backward(void *ctx, int batch, int pixels, int c, const real *dy, real *dx)
{
    CALL(ctx, mean_backward, batch, pixels, c, dy, dx);
}

void cuda_shortcut_forward(void *ctx, struct nn_shape in, int out_c, int batch, const real *x,
                           real *y)
{
    CALL(ctx, shortcut_forward, cuda_shape(in), out_c, batch, x, y);
}

void cuda_shortcut_backward(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy,
                            real *dx)
{
    CALL(ctx, shortcut_backward, cuda_shape(in), out_c, batch, dy, dx);
}

void cuda_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                  real *y)
{
    CALL(ctx, dropout, n, (float)p, key, node, x, y);
}

void cuda_softmax_loss(void *ctx, int batch, int classes, const real *logits, const int32_t *labels,
                       real *dlogits, struct nn_result *result)
{
    CALL(ctx, softmax_loss, batch, classes, logits, labels, dlogits,
         (struct dev_result *)(void *)result);
}
