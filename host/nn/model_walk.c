/* model_walk.c : walks the nodes of a model, forward and backward: which pass of the backend each
 * kind is. */
#include "nn/model_graph.h"

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

size_t graph_elements(struct nn_shape s, int batch)
{
    return pixels_of(s, batch) * (size_t)s.c;
}

/* Every dropout node draws from a stream of its own. */
static uint32_t number_of(const struct nn_model *m, const struct node *node)
{
    return (uint32_t)(node - m->nodes);
}

static void node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    const struct nn_ops *ops = m->ops;
    const struct nn_window *g = &node->window;
    const real *x = m->nodes[node->in].y, *w = part(m, node, 0, m->weights),
               *bias = part(m, node, 1, m->weights);
    switch (node->kind) {
    case NODE_INPUT:
        break;
    case NODE_CONV:
        ops->conv_forward(m->ctx, g, batch, x, w, bias, node->y, m->scratch);
        break;
    case NODE_LINEAR:
        ops->linear_forward(m->ctx, batch, (int)graph_elements(g->in, 1), g->out.c, x, w, bias,
                            node->y);
        break;
    case NODE_NORM: {
        struct nn_norm f = norm_of(m, node);
        const real *addend = node->addend >= 0 ? m->nodes[node->addend].y : NULL;
        (train ? ops->norm_forward : ops->norm_eval)(m->ctx, &f, pixels_of(g->in, batch), x, addend,
                                                     node->y, m->scratch);
        break;
    }
    case NODE_RELU:
        ops->relu_forward(m->ctx, graph_elements(g->in, batch), x, node->y);
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
        ops->dropout(m->ctx, graph_elements(g->in, batch), train ? node->p : 0, m->key,
                     number_of(m, node), x, node->y);
        break;
    case NODE_ADD:
        ops->add(m->ctx, graph_elements(g->in, batch), x, m->nodes[node->addend].y, node->y);
        break;
    case NODE_SCALE:
        ops->scale(m->ctx, graph_elements(g->in, batch), node->p, x, node->y);
        break;
    }
}

static void node_backward(struct nn_model *m, const struct node *node, int batch)
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
        ops->conv_backward(m->ctx, g, batch, in->y, w, node->dy, in->dy, node->add_dx, dw, dbias,
                           m->scratch);
        break;
    case NODE_LINEAR:
        ops->linear_backward(m->ctx, batch, (int)graph_elements(g->in, 1), g->out.c, in->y, w,
                             node->dy, in->dy, dw, dbias);
        break;
    case NODE_NORM: {
        struct nn_norm f = norm_of(m, node);
        ops->norm_backward(m->ctx, &f, pixels_of(g->in, batch), in->y, node->y, node->dy, in->dy,
                           dw, dbias, m->scratch);
        break;
    }
    case NODE_RELU:
        ops->relu_backward(m->ctx, graph_elements(g->in, batch), node->y, node->dy, in->dy);
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
        ops->dropout(m->ctx, graph_elements(g->in, batch), node->p, m->key, number_of(m, node),
                     node->dy, in->dy);
        break;
    case NODE_ADD: /* the addend's gradient is where dy is; this is the other's */
        ops->scale(m->ctx, graph_elements(g->in, batch), 1, node->dy, in->dy);
        break;
    case NODE_SCALE:
        ops->scale(m->ctx, graph_elements(g->in, batch), node->p, node->dy, in->dy);
        break;
    }
}

void graph_forward(struct nn_model *m, int batch, bool train)
{
    const struct node *last = &m->nodes[m->n_nodes - 1];
    m->ops->weights(m->ctx);
    for (int i = 1; i < m->n_nodes; i++)
        node_forward(m, &m->nodes[i], batch, train);
    m->ops->softmax_loss(m->ctx, batch, last->window.out.c, last->y, m->labels,
                         train ? last->dy : NULL, m->result);
}

/* Written by the backend, perhaps by another processor. */
static bool is_marked(const uint32_t *mark)
{
    return __atomic_load_n(mark, __ATOMIC_ACQUIRE) != 0;
}

void graph_deliver(const struct nn_model *m, struct graph_ready *r)
{
    for (; r->next < m->n_groups && is_marked(&m->marks[r->next]); r->next++)
        r->call(r->ctx, m->groups[r->next].first, m->groups[r->next].n);
}

void graph_backward(struct nn_model *m, int batch, bool marks, struct graph_ready *ready)
{
    int group = 0;
    for (int i = m->n_nodes - 1; i > 0; i--) {
        node_backward(m, &m->nodes[i], batch);
        if (!marks || group == m->n_groups || m->groups[group].node != i)
            continue;
        m->ops->mark(m->ctx, &m->marks[group++]);
        if (ready)
            graph_deliver(m, ready);
    }
}
