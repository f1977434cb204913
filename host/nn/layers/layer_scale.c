/* layer_scale.c : multiplies all values by a factor. */
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_scale(struct nn_model *m, int in, double k)
{
    struct node *node = graph_append(m, &layer_scale, in);
    node->p = k;
    return graph_index(m, node);
}

static void scale_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->scale(m->ctx, batch_elements(node->window.in, batch), node->p, m->nodes[node->in].y,
                  node->y);
}

static void scale_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->scale(m->ctx, batch_elements(node->window.in, batch), node->p, node->dy,
                  m->nodes[node->in].dy);
}

const struct layer_kind layer_scale = {
    .name = "scale",
    .in_place = true,
    .forward = scale_node_forward,
    .backward = scale_node_backward,
};

CPU_HOT static void scale(size_t n, real k, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = k * x[i];
}

void cpu_scale(void *ctx, size_t n, double k, const real *x, real *y)
{
    (void)ctx;
    scale(n, (real)k, x, y);
}
