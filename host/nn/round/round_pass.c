/* round_pass.c : the passes of the rounding table: the backend's, and what they have made is
 * rounded. */
#include "nn/round/round_inside.h"

static size_t elements(struct nn_shape s, int batch)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

static size_t filters(const struct nn_window *g)
{
    const int groups = g->groups ? g->groups : 1;
    return (size_t)g->out.c * (size_t)(g->k * g->k) * (size_t)(g->in.c / groups);
}

/* ---- with weights ---- */

int round_conv_plan(void *ctx, const struct nn_window *g, bool dx, bool add, int max_batch,
                    size_t *scratch_bytes)
{
    const struct rounder *r = ctx;
    return r->below->conv_plan(r->ctx, g, dx, add, max_batch, scratch_bytes);
}

void round_conv_forward(void *ctx, const struct nn_window *g, int batch, const real *x,
                        const real *w, const real *bias, real *y, void *scratch)
{
    const struct rounder *r = ctx;
    r->below->conv_forward(r->ctx, g, batch, x, round_weight(r, w), round_weight(r, bias), y,
                           scratch);
    round_values(r, ROUND_ACT, elements(g->out, batch), y);
}

void round_conv_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                         const real *w, const real *dy, real *dx, bool add, real *dw, real *dbias,
                         void *scratch)
{
    const struct rounder *r = ctx;
    r->below->conv_backward(r->ctx, g, batch, x, round_weight(r, w), dy, dx, add, dw, dbias,
                            scratch);
    round_watched(r, elements(g->in, batch), dx);
    round_values(r, ROUND_ERROR, elements(g->in, batch), dx);
    round_values(r, ROUND_GRAD, filters(g), dw);
    round_values(r, ROUND_GRAD, (size_t)g->out.c, dbias);
}

void round_linear_forward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                          const real *bias, real *y)
{
    const struct rounder *r = ctx;
    r->below->linear_forward(r->ctx, batch, in, out, x, round_weight(r, w), round_weight(r, bias),
                             y);
    round_values(r, ROUND_ACT, (size_t)batch * (size_t)out, y);
}

void round_linear_backward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                           const real *dy, real *dx, real *dw, real *dbias)
{
    const struct rounder *r = ctx;
    r->below->linear_backward(r->ctx, batch, in, out, x, round_weight(r, w), dy, dx, dw, dbias);
    round_watched(r, (size_t)batch * (size_t)in, dx);
    round_values(r, ROUND_ERROR, (size_t)batch * (size_t)in, dx);
    round_values(r, ROUND_GRAD, (size_t)out * (size_t)in, dw);
    round_values(r, ROUND_GRAD, (size_t)out, dbias);
}

/* Sums, cells and the way through time stay as the backend has them: what leaves the layer is
 * rounded. */
static struct nn_lstm lstm_rounded(const struct rounder *r, const struct nn_lstm *f)
{
    struct nn_lstm g = *f;
    g.wx = round_weight(r, f->wx);
    g.wr = round_weight(r, f->wr);
    g.wp = round_weight(r, f->wp);
    g.peep = round_weight(r, f->peep);
    g.bias = round_weight(r, f->bias);
    return g;
}

int round_lstm_plan(void *ctx, const struct nn_lstm *f, int max_batch, size_t *scratch_bytes)
{
    const struct rounder *r = ctx;
    return r->below->lstm_plan(r->ctx, f, max_batch, scratch_bytes);
}

void round_lstm_forward(void *ctx, const struct nn_lstm *f, int batch, const int32_t *lengths,
                        const real *x, real *y, real *kept, void *scratch)
{
    const struct rounder *r = ctx;
    const struct nn_lstm g = lstm_rounded(r, f);
    r->below->lstm_forward(r->ctx, &g, batch, lengths, x, y, kept, scratch);
    round_values(r, ROUND_ACT, (size_t)batch * (size_t)f->steps * (size_t)f->out, y);
}

static void round_lstm_grads(const struct rounder *r, const struct nn_lstm *f,
                             const struct nn_lstm_grads *dw)
{
    const size_t cells = (size_t)f->cells, in = (size_t)f->in, out = (size_t)f->out;
    round_values(r, ROUND_GRAD, 4 * cells * in, dw->wx);
    round_values(r, ROUND_GRAD, 4 * cells * out, dw->wr);
    round_values(r, ROUND_GRAD, out * cells, dw->wp);
    round_values(r, ROUND_GRAD, 3 * cells, dw->peep);
    round_values(r, ROUND_GRAD, 4 * cells, dw->bias);
}

void round_lstm_backward(void *ctx, const struct nn_lstm *f, int batch, const int32_t *lengths,
                         const real *x, const real *y, real *dy, real *dx,
                         const struct nn_lstm_grads *dw, real *kept, void *scratch)
{
    const struct rounder *r = ctx;
    const struct nn_lstm g = lstm_rounded(r, f);
    r->below->lstm_backward(r->ctx, &g, batch, lengths, x, y, dy, dx, dw, kept, scratch);
    round_watched(r, (size_t)batch * (size_t)f->steps * (size_t)f->in, dx);
    round_values(r, ROUND_ERROR, (size_t)batch * (size_t)f->steps * (size_t)f->in, dx);
    round_lstm_grads(r, f, dw);
    if (r->setup.of[ROUND_STATE].on) /* it has been used up, but no tensor is wider */
        round_values(r, ROUND_ERROR, (size_t)batch * (size_t)f->steps * (size_t)f->out, dy);
}

/* ---- batch norm ---- */

int round_norm_plan(void *ctx, int c, size_t *scratch_bytes)
{
    const struct rounder *r = ctx;
    return r->below->norm_plan(r->ctx, c, scratch_bytes);
}

void round_norm_forward(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                        const real *addend, real *y, void *scratch)
{
    const struct rounder *r = ctx;
    r->below->norm_forward(r->ctx, f, n, x, addend, y, scratch);
    round_values(r, ROUND_ACT, n * (size_t)f->c, y);
    round_values(r, ROUND_STATE, (size_t)f->c, f->run_mean);
    round_values(r, ROUND_STATE, (size_t)f->c, f->run_var);
}

void round_norm_eval(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                     const real *addend, real *y, void *scratch)
{
    const struct rounder *r = ctx;
    r->below->norm_eval(r->ctx, f, n, x, addend, y, scratch);
    round_values(r, ROUND_ACT, n * (size_t)f->c, y);
}

/* A backend may work out anew what passed the ReLU, before rounding: what was rounded to zero is
 * taken out first. */
void round_norm_backward(void *ctx, const struct nn_norm *f, size_t n, const real *x,
                         const real *addend, const real *y, real *dy, real *dx, real *dgamma,
                         real *dbeta, void *scratch)
{
    const struct rounder *r = ctx;
    const size_t all = n * (size_t)f->c;
    if (f->relu && r->setup.of[ROUND_ACT].on)
        r->below->relu_backward(r->ctx, all, y, dy, dy);
    r->below->norm_backward(r->ctx, f, n, x, addend, y, dy, dx, dgamma, dbeta, scratch);
    round_values(r, ROUND_ERROR, all, dx);
    if (f->swapped) /* gamma has multiplied it */
        round_values(r, ROUND_ERROR, all, dy);
    round_values(r, ROUND_GRAD, (size_t)f->c, dgamma);
    round_values(r, ROUND_GRAD, (size_t)f->c, dbeta);
}

/* ---- values that are handed on: rounded already ---- */

void round_relu_forward(void *ctx, size_t n, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->relu_forward(r->ctx, n, x, y);
}

void round_relu_backward(void *ctx, size_t n, const real *y, const real *dy, real *dx)
{
    const struct rounder *r = ctx;
    r->below->relu_backward(r->ctx, n, y, dy, dx);
}

void round_shortcut_forward(void *ctx, struct nn_shape in, int out_c, int batch, const real *x,
                            real *y)
{
    const struct rounder *r = ctx;
    r->below->shortcut_forward(r->ctx, in, out_c, batch, x, y);
}

void round_shortcut_backward(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy,
                             real *dx)
{
    const struct rounder *r = ctx;
    r->below->shortcut_backward(r->ctx, in, out_c, batch, dy, dx);
}

void round_concat_forward(void *ctx, size_t n, int c, const real *x, int at, int all, real *y)
{
    const struct rounder *r = ctx;
    r->below->concat_forward(r->ctx, n, c, x, at, all, y);
}

void round_concat_backward(void *ctx, size_t n, int c, const real *dy, int at, int all, real *dx)
{
    const struct rounder *r = ctx;
    r->below->concat_backward(r->ctx, n, c, dy, at, all, dx);
}

void round_pool_max_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->pool_max_forward(r->ctx, g, batch, x, y);
}

/* Windows that overlap add up. */
void round_pool_max_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                             const real *y, const real *dy, real *dx)
{
    const struct rounder *r = ctx;
    r->below->pool_max_backward(r->ctx, g, batch, x, y, dy, dx);
    round_values(r, ROUND_ERROR, elements(g->in, batch), dx);
}

/* ---- passes that go both ways ---- */

void round_add(void *ctx, size_t n, const real *a, const real *b, real *y)
{
    const struct rounder *r = ctx;
    r->below->add(r->ctx, n, a, b, y);
    round_values(r, ROUND_ACT, n, y);
}

void round_scale(void *ctx, size_t n, double k, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->scale(r->ctx, n, k, x, y);
    if (k != 1) /* a copy: what an addition hands to its first summand */
        round_values(r, r->back ? ROUND_ERROR : ROUND_ACT, n, y);
}

void round_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                   real *y)
{
    const struct rounder *r = ctx;
    r->below->dropout(r->ctx, n, p, key, node, x, y);
    round_values(r, r->back ? ROUND_ERROR : ROUND_ACT, n, y);
}

/* ---- the other layers ---- */

void round_lrn_forward(void *ctx, size_t n, int c, double alpha, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->lrn_forward(r->ctx, n, c, alpha, x, y);
    round_values(r, ROUND_ACT, n * (size_t)c, y);
}

void round_lrn_backward(void *ctx, size_t n, int c, double alpha, const real *x, const real *dy,
                        real *dx)
{
    const struct rounder *r = ctx;
    r->below->lrn_backward(r->ctx, n, c, alpha, x, dy, dx);
    round_values(r, ROUND_ERROR, n * (size_t)c, dx);
}

void round_pool_avg_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->pool_avg_forward(r->ctx, g, batch, x, y);
    round_values(r, ROUND_ACT, elements(g->out, batch), y);
}

void round_pool_avg_backward(void *ctx, const struct nn_window *g, int batch, const real *dy,
                             real *dx, bool add)
{
    const struct rounder *r = ctx;
    r->below->pool_avg_backward(r->ctx, g, batch, dy, dx, add);
    round_values(r, ROUND_ERROR, elements(g->in, batch), dx);
}

void round_bilinear_forward(void *ctx, struct nn_shape in, struct nn_shape out, int batch,
                            const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->bilinear_forward(r->ctx, in, out, batch, x, y);
    round_values(r, ROUND_ACT, elements(out, batch), y);
}

void round_bilinear_backward(void *ctx, struct nn_shape in, struct nn_shape out, int batch,
                             const real *dy, real *dx)
{
    const struct rounder *r = ctx;
    r->below->bilinear_backward(r->ctx, in, out, batch, dy, dx);
    round_values(r, ROUND_ERROR, elements(in, batch), dx);
}

void round_mean_forward(void *ctx, int batch, int pixels, int c, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->mean_forward(r->ctx, batch, pixels, c, x, y);
    round_values(r, ROUND_ACT, (size_t)batch * (size_t)c, y);
}

void round_mean_backward(void *ctx, int batch, int pixels, int c, const real *dy, real *dx)
{
    const struct rounder *r = ctx;
    r->below->mean_backward(r->ctx, batch, pixels, c, dy, dx);
    round_values(r, ROUND_ERROR, (size_t)batch * (size_t)pixels * (size_t)c, dx);
}

/* ---- the loss ---- */

void round_softmax_loss(void *ctx, int batch, int classes, const real *logits,
                        const int32_t *labels, real *dlogits, struct nn_result *result)
{
    struct rounder *r = ctx;
    r->below->softmax_loss(r->ctx, batch, classes, logits, labels, dlogits, result);
    r->back |= dlogits != NULL;
    round_values(r, ROUND_ERROR, (size_t)batch * (size_t)classes, dlogits);
}

int round_ctc_plan(void *ctx, int max_batch, int steps, int classes, int targets,
                   size_t *scratch_bytes)
{
    const struct rounder *r = ctx;
    return r->below->ctc_plan(r->ctx, max_batch, steps, classes, targets, scratch_bytes);
}

void round_ctc_loss(void *ctx, int batch, int steps, int classes, int targets, const real *logits,
                    const int32_t *lengths, const int32_t *labels, real *dlogits,
                    struct nn_result *result, void *scratch)
{
    struct rounder *r = ctx;
    r->below->ctc_loss(r->ctx, batch, steps, classes, targets, logits, lengths, labels, dlogits,
                       result, scratch);
    r->back |= dlogits != NULL;
    round_values(r, ROUND_ERROR, (size_t)batch * (size_t)steps * (size_t)classes, dlogits);
}

int round_dense_plan(void *ctx, int max_rows, int classes, size_t *scratch_bytes)
{
    const struct rounder *r = ctx;
    return r->below->dense_plan(r->ctx, max_rows, classes, scratch_bytes);
}

void round_dense_loss(void *ctx, int rows, int classes, const real *logits, const int32_t *labels,
                      real *dlogits, uint32_t *confusion, struct nn_result *result, void *scratch)
{
    struct rounder *r = ctx;
    r->below->dense_loss(r->ctx, rows, classes, logits, labels, dlogits, confusion, result,
                         scratch);
    r->back |= dlogits != NULL;
    round_values(r, ROUND_ERROR, (size_t)rows * (size_t)classes, dlogits);
}

void round_round_to(void *ctx, size_t n, const struct round_rule *rule, const real *x, real *y)
{
    const struct rounder *r = ctx;
    r->below->round_to(r->ctx, n, rule, x, y);
}
