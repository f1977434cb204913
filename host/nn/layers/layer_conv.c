/* layer_conv.c : makes conv2d a node (CPU passes: cpu_conv.c and cpu_conv_groups.c). */
#include <assert.h>
#include "nn/model_graph.h"

/* g: k, stride, pad and groups are set; dilation 0 means 1. */
static int conv(struct nn_model *m, int in, const char *name, int out_c, struct nn_window g,
                bool bias)
{
    struct node *node = graph_append(m, &layer_conv, in);
    const int k = g.k, in_c = node->window.in.c / g.groups;
    assert(m->failed || (in_c * g.groups == node->window.in.c && out_c % g.groups == 0));
    node->window.groups = g.groups;
    node->window.dilation = g.dilation;
    graph_window(m, node, out_c, k, g.stride, g.pad, REST_OUT);
    graph_param(m, node, name, "weight", (size_t)(out_c * k * k) * (size_t)in_c, GRAPH_KERNEL);
    graph_columns(m, (size_t)k, (size_t)in_c);
    if (bias)
        graph_param(m, node, name, "bias", (size_t)out_c, GRAPH_BIAS);
    return graph_index(m, node);
}

int graph_conv_groups(struct nn_model *m, int in, const char *name, int out_c, int k, int stride,
                      int pad, int groups, bool bias)
{
    const struct nn_window g = {.k = k, .stride = stride, .pad = pad, .groups = groups};
    return conv(m, in, name, out_c, g, bias);
}

int graph_conv_dilated(struct nn_model *m, int in, const char *name, int out_c, int k, int pad,
                       int dilation, bool bias)
{
    const struct nn_window g = {.k = k, .stride = 1, .pad = pad, .groups = 1, .dilation = dilation};
    return conv(m, in, name, out_c, g, bias);
}

int graph_conv(struct nn_model *m, int in, const char *name, int out_c, int k, int stride, int pad,
               bool bias)
{
    return graph_conv_groups(m, in, name, out_c, k, stride, pad, 1, bias);
}

static int conv_node_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    return m->ops->conv_plan(m->ctx, &node->window, node->in > 0, node->add_dx, m->max_batch,
                             scratch_bytes);
}

static void conv_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->conv_forward(m->ctx, &node->window, batch, m->nodes[node->in].y,
                         graph_part(m, node, 0, m->weights), graph_part(m, node, 1, m->weights),
                         node->y, m->scratch);
}

static void conv_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct node *in = &m->nodes[node->in];
    m->ops->conv_backward(m->ctx, &node->window, batch, in->y, graph_part(m, node, 0, m->weights),
                          node->dy, in->dy, node->add_dx, graph_part(m, node, 0, m->grads),
                          graph_part(m, node, 1, m->grads), m->scratch);
}

static double conv_node_terms(const struct node *node)
{
    const struct nn_window *g = &node->window;
    return (double)(g->out.c / g->groups) * g->k * g->k;
}

const struct layer_kind layer_conv = {
    .name = "conv",
    .dx_terms = conv_node_terms,
    .adds_dx = true,
    .plan = conv_node_plan,
    .draw = graph_draw_he,
    .forward = conv_node_forward,
    .backward = conv_node_backward,
};
