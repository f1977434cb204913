/* layer_gelu.c : applies the GELU (hls/nn/gelu.h). */
#include "hls/nn/gelu.h"
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_gelu(struct nn_model *m, int in)
{
    return graph_index(m, graph_append(m, &layer_gelu, in));
}

static void gelu_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->gelu_forward(m->ctx, batch_elements(node->window.in, batch), m->nodes[node->in].y,
                         node->y);
}

static void gelu_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct node *in = &m->nodes[node->in];
    m->ops->gelu_backward(m->ctx, batch_elements(node->window.in, batch), in->y, node->dy, in->dy);
}

const struct layer_kind layer_gelu = {
    .name = "gelu",
    .in_place = true,
    .forward = gelu_node_forward,
    .backward = gelu_node_backward,
};

CPU_HOT static void gelu(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * gelu_at(x[i]).share;
}

CPU_HOT static void gelu_back(size_t n, const real *x, const real *dy, real *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = dy[i] * gelu_at(x[i]).slope;
}

void cpu_gelu_forward(void *ctx, size_t n, const real *x, real *y)
{
    (void)ctx;
    gelu(n, x, y);
}

void cpu_gelu_backward(void *ctx, size_t n, const real *x, const real *dy, real *dx)
{
    (void)ctx;
    gelu_back(n, x, dy, dx);
}
