/* model.c : runs a model: opens it, walks its nodes forward and backward, hands gradients out as they become final. */
#include "nn/model.h"
#include <math.h>
#include <stdlib.h>
#include "base/err.h"
#include "hls/philox.h"
#include "nn/model_graph.h"

int nn_model_open(const struct nn_ops *ops, const char *name, struct nn_shape in, int n_classes, int max_batch,
                  uint64_t seed, struct nn_model **out)
{
    if (in.h < 28 || in.h > 64 || in.w < 28 || in.w > 64 || (in.c != 1 && in.c != 3))
        return ERR(-EINVAL,
                   "cannot build model '%s' for images of %dx%dx%d: need 28 to 64 pixels a side, 1 or 3 channels", name,
                   in.h, in.w, in.c);
    if (n_classes < 2 || max_batch < 1)
        return ERR(-EINVAL, "cannot build model '%s' for %d classes and %d images: need at least 2 and 1", name,
                   n_classes, max_batch);
    struct nn_model *m = malloc(sizeof *m);
    if (!m)
        return ERR(-ENOMEM, "cannot open model '%s': no memory", name);
    graph_init(m, ops, in, max_batch);
    int rc = graph_by_name(m, name, n_classes);
    if (rc < 0)
        goto fail_name;
    rc = ops->open(&m->ctx);
    if (rc < 0)
        goto fail_name;
    rc = graph_plan(m, seed);
    if (rc < 0) {
        nn_model_close(m);
        return rc;
    }
    *out = m;
    return 0;
fail_name:
    free(m);
    return rc;
}

void nn_model_close(struct nn_model *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->n_nodes; i++)
        m->ops->free(m->ctx, m->nodes[i].y);
    for (int b = 0; b < GRAPH_BUFFERS; b++)
        m->ops->free(m->ctx, m->buffers[b]);
    void *rest[] = {m->weights, m->grads, m->stats, m->moments, m->scratch, m->labels, m->result};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        m->ops->free(m->ctx, rest[i]);
    m->ops->close(m->ctx);
    free(m);
}

const struct nn_param *nn_model_params(const struct nn_model *m, int *n_params)
{
    *n_params = m->n_params;
    return m->params;
}

real *nn_model_weights(struct nn_model *m, size_t *n)
{
    *n = m->n_weights;
    return m->weights;
}

real *nn_model_grads(struct nn_model *m)
{
    return m->grads;
}

real *nn_model_stats(struct nn_model *m, size_t *n)
{
    *n = m->n_stats;
    return m->stats;
}

double nn_model_gemm_s(const struct nn_model *m)
{
    return m->ops->gemm_s(m->ctx);
}

/* The node's i-th parameter inside `array` (weights or gradients); NULL if it has no such one. */
static real *part(const struct nn_model *m, const struct node *node, int i, real *array)
{
    return i < node->n_params ? array + m->params[node->first_param + i].offset : NULL;
}

static struct nn_norm norm_of(const struct nn_model *m, const struct node *node)
{
    int c = node->window.in.c;
    return (struct nn_norm){
        .c = c,
        .relu = node->relu,
        .addend = node->addend >= 0,
        .eps = 1e-5,
        .momentum = 0.1,
        .gamma = part(m, node, 0, m->weights),
        .beta = part(m, node, 1, m->weights),
        .run_mean = m->stats + node->stat,
        .run_var = m->stats + node->stat + c,
        .mean = m->moments + node->stat,
        .inv_std = m->moments + node->stat + c,
    };
}

static size_t pixels_of(struct nn_shape s, int batch)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w;
}

static size_t elements_of(struct nn_shape s, int batch)
{
    return pixels_of(s, batch) * (size_t)s.c;
}

/* Every dropout node draws from a stream of its own. */
static uint64_t dropout_key(const struct nn_model *m, const struct node *node, uint64_t key)
{
    return philox_key(key, (uint32_t)(node - m->nodes), 0, 0, 0);
}

static void node_forward(struct nn_model *m, const struct node *node, int batch, bool train, uint64_t key)
{
    const struct nn_ops *ops = m->ops;
    const struct nn_window *g = &node->window;
    const real *x = m->nodes[node->in].y, *w = part(m, node, 0, m->weights), *bias = part(m, node, 1, m->weights);
    switch (node->kind) {
    case NODE_INPUT:
        break;
    case NODE_CONV:
        ops->conv_forward(m->ctx, g, batch, x, w, bias, node->y, m->scratch);
        break;
    case NODE_LINEAR:
        ops->linear_forward(m->ctx, batch, (int)elements_of(g->in, 1), g->out.c, x, w, bias, node->y);
        break;
    case NODE_NORM: {
        struct nn_norm f = norm_of(m, node);
        const real *addend = node->addend >= 0 ? m->nodes[node->addend].y : NULL;
        (train ? ops->norm_forward : ops->norm_eval)(m->ctx, &f, pixels_of(g->in, batch), x, addend, node->y,
                                                     m->scratch);
        break;
    }
    case NODE_RELU:
        ops->relu_forward(m->ctx, elements_of(g->in, batch), x, node->y);
        break;
    case NODE_POOL_MAX:
        ops->pool_max_forward(m->ctx, g, batch, x, node->y);
        break;
    case NODE_POOL_AVG:
        ops->pool_avg_forward(m->ctx, g, batch, x, node->y);
        break;
    case NODE_MEAN:
        ops->mean_forward(m->ctx, batch, g->in.h * g->in.w, g->in.c, x, node->y);
        break;
    case NODE_SHORTCUT:
        ops->shortcut_forward(m->ctx, g->in, g->out.c, batch, x, node->y);
        break;
    case NODE_DROPOUT:
        ops->dropout(m->ctx, elements_of(g->in, batch), train ? node->p : 0, dropout_key(m, node, key), x, node->y);
        break;
    }
}

static void node_backward(struct nn_model *m, const struct node *node, int batch, uint64_t key)
{
    const struct nn_ops *ops = m->ops;
    const struct nn_window *g = &node->window;
    const struct node *in = &m->nodes[node->in];
    const real *w = part(m, node, 0, m->weights);
    real *dw = part(m, node, 0, m->grads), *dbias = part(m, node, 1, m->grads);
    switch (node->kind) {
    case NODE_INPUT:
        break;
    case NODE_CONV:
        ops->conv_backward(m->ctx, g, batch, in->y, w, node->dy, in->dy, node->add_dx, dw, dbias, m->scratch);
        break;
    case NODE_LINEAR:
        ops->linear_backward(m->ctx, batch, (int)elements_of(g->in, 1), g->out.c, in->y, w, node->dy, in->dy, dw,
                             dbias);
        break;
    case NODE_NORM: {
        struct nn_norm f = norm_of(m, node);
        ops->norm_backward(m->ctx, &f, pixels_of(g->in, batch), in->y, node->y, node->dy, in->dy, dw, dbias,
                           m->scratch);
        break;
    }
    case NODE_RELU:
        ops->relu_backward(m->ctx, elements_of(g->in, batch), node->y, node->dy, in->dy);
        break;
    case NODE_POOL_MAX:
        ops->pool_max_backward(m->ctx, g, batch, in->y, node->y, node->dy, in->dy);
        break;
    case NODE_POOL_AVG:
        ops->pool_avg_backward(m->ctx, g, batch, node->dy, in->dy);
        break;
    case NODE_MEAN:
        ops->mean_backward(m->ctx, batch, g->in.h * g->in.w, g->in.c, node->dy, in->dy);
        break;
    case NODE_SHORTCUT:
        ops->shortcut_backward(m->ctx, g->in, g->out.c, batch, node->dy, in->dy);
        break;
    case NODE_DROPOUT:
        ops->dropout(m->ctx, elements_of(g->in, batch), node->p, dropout_key(m, node, key), node->dy, in->dy);
        break;
    }
}

static void forward_all(struct nn_model *m, const real *x, const int32_t *labels, int batch, bool train, uint64_t key)
{
    const struct node *last = &m->nodes[m->n_nodes - 1];
    m->ops->put(m->ctx, m->nodes[0].y, x, elements_of(m->nodes[0].window.out, batch) * sizeof *x);
    m->ops->put(m->ctx, m->labels, labels, (size_t)batch * sizeof *labels);
    for (int i = 1; i < m->n_nodes; i++)
        node_forward(m, &m->nodes[i], batch, train, key);
    m->ops->softmax_loss(m->ctx, batch, last->window.out.c, last->y, m->labels, train ? last->dy : NULL, m->result);
}

/* A backend that failed on the way shows as a loss that is not a number. */
static struct nn_result result_of(struct nn_model *m)
{
    struct nn_result r = {NAN, 0};
    if (m->ops->wait(m->ctx) == 0)
        m->ops->get(m->ctx, &r, m->result, sizeof r);
    return r;
}

struct nn_result nn_model_train(struct nn_model *m, const real *x, const int32_t *labels, int batch, uint64_t key,
                                nn_grad_ready *ready, void *ctx)
{
    forward_all(m, x, labels, batch, true, key);
    for (int i = m->n_nodes - 1; i > 0; i--) {
        const struct node *node = &m->nodes[i];
        node_backward(m, node, batch, key);
        if (!ready || node->n_params == 0)
            continue;
        m->ops->wait(m->ctx);
        ready(ctx, node->first_param, node->n_params);
    }
    return result_of(m);
}

struct nn_result nn_model_eval(struct nn_model *m, const real *x, const int32_t *labels, int batch)
{
    forward_all(m, x, labels, batch, false, 0);
    return result_of(m);
}
