/* layer_linear.c : computes fully connected layers. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_linear(struct nn_model *m, int in, const char *name, int out_c, bool bias)
{
    struct node *node = graph_append(m, &layer_linear, in);
    node->window.out = (struct nn_shape){1, 1, out_c};
    graph_param(m, node, name, "weight", (size_t)out_c * batch_elements(node->window.in, 1),
                GRAPH_WEIGHT);
    graph_columns(m, (size_t)out_c, batch_elements(node->window.in, 1));
    if (bias)
        graph_param(m, node, name, "bias", (size_t)out_c, GRAPH_BIAS);
    return graph_index(m, node);
}

static void linear_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    const struct nn_window *g = &node->window;
    m->ops->linear_forward(m->ctx, batch, (int)batch_elements(g->in, 1), g->out.c,
                           m->nodes[node->in].y, graph_part(m, node, 0, m->weights),
                           graph_part(m, node, 1, m->weights), node->y);
}

static void linear_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct nn_window *g = &node->window;
    const struct node *in = &m->nodes[node->in];
    m->ops->linear_backward(m->ctx, batch, (int)batch_elements(g->in, 1), g->out.c, in->y,
                            graph_part(m, node, 0, m->weights), node->dy, in->dy,
                            graph_part(m, node, 0, m->grads), graph_part(m, node, 1, m->grads));
}

static double linear_node_terms(const struct node *node)
{
    return node->window.out.c;
}

const struct layer_kind layer_linear = {
    .name = "linear",
    .dx_terms = linear_node_terms,
    .draw = graph_draw_he,
    .forward = linear_node_forward,
    .backward = linear_node_backward,
};

void cpu_linear_forward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                        const real *bias, real *y)
{
    for (int i = 0; bias && i < batch; i++)
        memcpy(y + (size_t)i * (size_t)out, bias, (size_t)out * sizeof *y);
    cpu_gemm(ctx, false, true, batch, out, in, x, in, w, in, bias ? 1 : 0, y, out);
}

void cpu_linear_backward(void *ctx, int batch, int in, int out, const real *x, const real *w,
                         const real *dy, real *dx, real *dw, real *dbias)
{
    cpu_gemm(ctx, true, false, out, in, batch, dy, out, x, in, 0, dw, in);
    if (dbias)
        cpu_sum_rows((size_t)batch, out, dy, dbias);
    if (dx)
        cpu_gemm(ctx, false, false, batch, in, out, dy, out, w, in, 0, dx, in);
    cpu_unscale(ctx, (size_t)in * (size_t)out, dw);
    cpu_unscale(ctx, (size_t)out, dbias);
}
