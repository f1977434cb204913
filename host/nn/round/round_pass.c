/* round_pass.c : rounds the tensors that layers.def lists for each pass. */
#include "nn/round/round_inside.h"

/* Watched gradients are counted first. */
static void round_gradient(const struct rounder *r, size_t n, real *dx)
{
    if (r->watched && dx && r->setup.of[ROUND_ACT_GRAD].on)
        r->below->tally(r->ctx, n, dx, r->watched);
    round_values(r, ROUND_ACT_GRAD, n, dx);
}

/* A loss's gradient begins the backward pass. */
static void round_top_gradient(struct rounder *r, size_t n, real *dx)
{
    r->back |= dx != NULL;
    if (!r->scaled_first)
        round_gradient(r, n, dx);
}

static const real *round_weight(const struct rounder *r, const real *w)
{
    return w && r->narrow ? r->narrow + (w - r->weights) : w;
}

#define VALUES(rows, each)           ((size_t)(rows) * (size_t)(each))
#define ACT_OUT(y, rows, each)       round_values(r, ROUND_ACT, VALUES(rows, each), y);
#define GRAD_OUT(dx, rows, each)     round_gradient(r, VALUES(rows, each), dx);
#define TOP_GRAD_OUT(dx, rows, each) round_top_gradient(r, VALUES(rows, each), dx);
#define BOTH_OUT(y, rows, each) \
    round_values(r, r->back ? ROUND_ACT_GRAD : ROUND_ACT, VALUES(rows, each), y);
#define PAR_GRAD_OUT(dw, rows, each) round_values(r, ROUND_GRAD, VALUES(rows, each), dw);
#define STAT_OUT(value, rows, each)  round_values(r, ROUND_STATE, VALUES(rows, each), value);
#define NONE

#define PLAN(name, params, args)                  \
    int round_##name(void *ctx, LIST params)      \
    {                                             \
        const struct rounder *r = ctx;            \
        return r->below->name(r->ctx, LIST args); \
    }
#define PASS(name, params, args, makes)       \
    void round_##name(void *ctx, LIST params) \
    {                                         \
        struct rounder *r = ctx;              \
        r->below->name(r->ctx, LIST args);    \
        makes                                 \
    }
#define OWN(name, params, args)
#define WEIGHT(w) round_weight(r, w)
#include "hls/nn/layers.def"

/* A loss's weighted gradient is rounded like a loss's gradient. */
void round_scale(void *ctx, size_t n, double k, const real *x, real *y)
{
    struct rounder *r = ctx;
    r->below->scale(r->ctx, n, k, x, y);
    if (x == y)
        TOP_GRAD_OUT(y, n, 1)
    else
        BOTH_OUT(y, n, k != 1)
}

/* Backends may recompute the ReLU's mask from unrounded values, so gradients of outputs that were
 * rounded to zero are cleared first. */
void round_batch_norm_backward(void *ctx, const struct nn_batch_norm *f, size_t n, const real *x,
                               const real *addend, const real *y, real *dy, real *dx, real *dgamma,
                               real *dbeta, void *scratch)
{
    struct rounder *r = ctx;
    const size_t all = n * (size_t)f->c;
    if (f->relu && r->setup.of[ROUND_ACT].on)
        r->below->relu_backward(r->ctx, all, y, dy, dy);
    r->below->batch_norm_backward(r->ctx, f, n, x, addend, y, dy, dx, dgamma, dbeta, scratch);
    GRAD_OUT(dx, n, f->c)
    if (f->swapped) /* the pass has multiplied dy by gamma */
        GRAD_OUT(dy, n, f->c)
    PAR_GRAD_OUT(dgamma, f->c, 1)
    PAR_GRAD_OUT(dbeta, f->c, 1)
}

/* Only values that leave the layer are rounded. */

static struct nn_lstm lstm_rounded(const struct rounder *r, const struct nn_lstm *f)
{
    struct nn_lstm g = *f;
    g.wx = round_weight(r, f->wx);
    g.wr = round_weight(r, f->wr);
    g.wp = round_weight(r, f->wp);
    g.peephole = round_weight(r, f->peephole);
    g.bias = round_weight(r, f->bias);
    return g;
}

void round_lstm_forward(void *ctx, const struct nn_lstm *f, int batch, const int32_t *lengths,
                        const real *x, real *y, real *kept, void *scratch)
{
    const struct rounder *r = ctx;
    const struct nn_lstm g = lstm_rounded(r, f);
    r->below->lstm_forward(r->ctx, &g, batch, lengths, x, y, kept, scratch);
    ACT_OUT(y, batch, f->steps * f->out)
}

void round_lstm_backward(void *ctx, const struct nn_lstm *f, int batch, const int32_t *lengths,
                         const real *x, const real *y, real *dy, real *dx,
                         const struct nn_lstm_grads *dw, real *kept, void *scratch)
{
    const struct rounder *r = ctx;
    const struct nn_lstm g = lstm_rounded(r, f);
    r->below->lstm_backward(r->ctx, &g, batch, lengths, x, y, dy, dx, dw, kept, scratch);
    GRAD_OUT(dx, batch, f->steps * f->in)
    PAR_GRAD_OUT(dw->wx, LSTM_GATES * f->cells, f->in)
    PAR_GRAD_OUT(dw->wr, LSTM_GATES * f->cells, f->out)
    PAR_GRAD_OUT(dw->wp, f->out, f->cells)
    PAR_GRAD_OUT(dw->peephole, LSTM_PEEPHOLES, f->cells)
    PAR_GRAD_OUT(dw->bias, LSTM_GATES, f->cells)
    /* dy is not read any more, but pure fp16 keeps every tensor in e5m10 */
    if (r->setup.of[ROUND_STATE].on)
        round_values(r, ROUND_ACT_GRAD, VALUES(batch, f->steps * f->out), dy);
}

/* Scaling may move gradients out of the format's range, so they are rounded again. With
 * scaled_first this is the first rounding of a loss's gradient, also if k is 1. */

void round_scale_by(void *ctx, size_t n, const float *k, const struct round_rule *rule, real *x)
{
    const struct rounder *r = ctx;
    if (r->setup.of[ROUND_ACT_GRAD].on)
        rule = r->scaled_first ? NULL : &r->setup.of[ROUND_ACT_GRAD].rule;
    r->below->scale_by(r->ctx, n, k, rule, x);
    if (r->scaled_first)
        round_values(r, ROUND_ACT_GRAD, n, x);
}

void round_tally(void *ctx, size_t n, const real *x, struct scale_tally *to)
{
    const struct rounder *r = ctx;
    if (to != r->watched || !r->setup.of[ROUND_ACT_GRAD].on)
        r->below->tally(r->ctx, n, x, to);
}
