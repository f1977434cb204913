/* layer_batch_norm.c : makes batch norm a node (CPU passes: cpu_batch_norm.c). */
#include "nn/model_graph.h"

int graph_batch_norm(struct nn_model *m, int in, const char *name, int addend, bool relu)
{
    struct node *node = graph_append(m, &layer_batch_norm, in);
    const size_t c = (size_t)node->window.in.c;
    node->addend = addend;
    node->relu = relu;
    node->p = 1;
    node->stat = m->n_stats;
    m->n_stats += 2 * c;
    graph_param(m, node, name, "gamma", c, GRAPH_NORM);
    graph_param(m, node, name, "beta", c, GRAPH_NORM);
    return graph_index(m, node);
}

/* batch mean and 1/std */
static size_t norm_node_kept(const struct nn_model *m, const struct node *node)
{
    (void)m;
    return 2 * (size_t)node->window.in.c * sizeof(real);
}

static int norm_node_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    return m->ops->batch_norm_plan(m->ctx, node->window.in.c, scratch_bytes);
}

/* Gammas, except of zero-gamma norms, and running variances start at 1. */
static void norm_node_draw(const struct nn_model *m, const struct node *node, uint64_t seed,
                           real *weights, real *stats)
{
    (void)seed;
    const int c = node->window.in.c;
    real *gamma = weights + m->params[node->first_param].offset, *variance = stats + node->stat + c;
    for (int i = 0; i < c; i++) {
        gamma[i] = node->zero_gamma ? 0 : 1;
        variance[i] = 1;
    }
}

static struct nn_batch_norm norm_of(const struct nn_model *m, const struct node *node)
{
    const int c = node->window.in.c;
    real *kept = node->kept;
    return (struct nn_batch_norm){
        .c = c,
        .relu = node->relu,
        .addend = node->addend >= 0,
        .eps = 1e-5,
        .momentum = 0.1,
        .gamma = graph_part(m, node, 0, m->weights),
        .beta = graph_part(m, node, 1, m->weights),
        .run_mean = nn_model_at(m, m->stats, node->stat),
        .run_var = nn_model_at(m, m->stats, node->stat + (size_t)c),
        .mean = kept,
        .inv_std = kept + c,
        .factor = (real)node->p,
        .swapped = node->swapped,
    };
}

static void norm_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    const struct nn_batch_norm f = norm_of(m, node);
    const real *x = m->nodes[node->in].y,
               *addend = node->addend >= 0 ? m->nodes[node->addend].y : NULL;
    (train ? m->ops->batch_norm_forward : m->ops->batch_norm_eval)(
        m->ctx, &f, batch_pixels(node->window.in, batch), x, addend, node->y, m->scratch);
}

static void norm_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct nn_batch_norm f = norm_of(m, node);
    const struct node *in = &m->nodes[node->in];
    const real *addend = node->addend >= 0 ? m->nodes[node->addend].y : NULL;
    m->ops->batch_norm_backward(m->ctx, &f, batch_pixels(node->window.in, batch), in->y, addend,
                                node->y, node->dy, in->dy, graph_part(m, node, 0, m->grads),
                                graph_part(m, node, 1, m->grads), m->scratch);
}

const struct layer_kind layer_batch_norm = {
    .name = "norm", /* in logs */
    .in_place = true,
    .kept_bytes = norm_node_kept,
    .plan = norm_node_plan,
    .draw = norm_node_draw,
    .forward = norm_node_forward,
    .backward = norm_node_backward,
};
