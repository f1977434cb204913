/* layer_mean.c : averages each channel over an image. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_mean(struct nn_model *m, int in)
{
    struct node *node = graph_append(m, &layer_mean, in);
    node->window.out = (struct nn_shape){1, 1, node->window.in.c};
    return graph_index(m, node);
}

static void mean_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    const struct nn_shape s = node->window.in;
    m->ops->mean_forward(m->ctx, batch, s.h * s.w, s.c, m->nodes[node->in].y, node->y);
}

static void mean_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct nn_shape s = node->window.in;
    m->ops->mean_backward(m->ctx, batch, s.h * s.w, s.c, node->dy, m->nodes[node->in].dy);
}

const struct layer_kind layer_mean = {
    .name = "mean",
    .forward = mean_node_forward,
    .backward = mean_node_backward,
};

void cpu_mean_forward(void *ctx, int batch, int pixels, int c, const real *x, real *y)
{
    (void)ctx;
    memset(y, 0, (size_t)batch * (size_t)c * sizeof *y);
    for (int b = 0; b < batch; b++, y += c) {
        for (int i = 0; i < pixels; i++, x += c)
            for (int j = 0; j < c; j++)
                y[j] += x[j];
        for (int j = 0; j < c; j++)
            y[j] /= (real)pixels;
    }
}

void cpu_mean_backward(void *ctx, int batch, int pixels, int c, const real *dy, real *dx)
{
    (void)ctx;
    real share = (real)1 / (real)pixels;
    for (int b = 0; b < batch; b++, dy += c)
        for (int i = 0; i < pixels; i++, dx += c)
            for (int j = 0; j < c; j++)
                dx[j] = dy[j] * share;
}
