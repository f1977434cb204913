/* layer_relu.c : applies the ReLU. */
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_relu(struct nn_model *m, int in)
{
    return graph_index(m, graph_append(m, &layer_relu, in));
}

static void relu_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->relu_forward(m->ctx, batch_elements(node->window.in, batch), m->nodes[node->in].y,
                         node->y);
}

static void relu_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->relu_backward(m->ctx, batch_elements(node->window.in, batch), node->y, node->dy,
                          m->nodes[node->in].dy);
}

const struct layer_kind layer_relu = {
    .name = "relu",
    .in_place = true,
    .forward = relu_node_forward,
    .backward = relu_node_backward,
};

CPU_HOT static void relu(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

/* dx may be dy. */
CPU_HOT static void relu_mask(size_t n, const real *restrict y, const real *dy, real *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

void cpu_relu_forward(void *ctx, size_t n, const real *x, real *y)
{
    (void)ctx;
    relu(n, x, y);
}

void cpu_relu_backward(void *ctx, size_t n, const real *y, const real *dy, real *dx)
{
    (void)ctx;
    relu_mask(n, y, dy, dx);
}
