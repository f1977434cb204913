/* model_build.c : appends nodes to a model: shapes are worked out here, parameters numbered in
 * forward order. */
#include <assert.h>
#include <stdio.h>
#include "nn/model_graph.h"

void graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch)
{
    *m = (struct nn_model){.ops = ops, .max_batch = max_batch, .n_nodes = 1};
    m->nodes[0] = (struct node){.kind = NODE_INPUT, .in = -1, .addend = -1, .window.out = in};
}

/* A node whose output has the shape of its input, until the caller says otherwise. */
static struct node *append(struct nn_model *m, enum node_kind kind, int in)
{
    assert(m->n_nodes < GRAPH_NODES && in >= 0 && in < m->n_nodes);
    struct node *node = &m->nodes[m->n_nodes++];
    struct nn_shape shape = m->nodes[in].window.out;
    *node =
        (struct node){.kind = kind, .in = in, .addend = -1, .window = {.in = shape, .out = shape}};
    node->first_param = m->n_params;
    return node;
}

static int index_of(const struct nn_model *m, const struct node *node)
{
    return (int)(node - m->nodes);
}

static void param(struct nn_model *m, struct node *node, const char *name, const char *part,
                  size_t n, bool decay)
{
    assert(m->n_params < GRAPH_PARAMS);
    struct nn_param *p = &m->params[m->n_params++];
    *p = (struct nn_param){.offset = m->n_weights, .n = n, .decay = decay};
    snprintf(p->name, sizeof p->name, "%.20s.%.8s", name, part);
    node->n_params++;
    m->n_weights += n;
}

static size_t size_of_shape(struct nn_shape s)
{
    return (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

static int walked(int size, int k, int stride, int pad)
{
    return (size + 2 * pad - k) / stride + 1;
}

static void set_window(struct node *node, int out_c, int k, int stride, int pad)
{
    struct nn_window *g = &node->window;
    g->k = k, g->stride = stride, g->pad = pad;
    g->out =
        (struct nn_shape){walked(g->in.h, k, stride, pad), walked(g->in.w, k, stride, pad), out_c};
    assert(pad < k && g->in.h + 2 * pad >= k && g->in.w + 2 * pad >= k);
}

int graph_conv(struct nn_model *m, int in, const char *name, int out_c, int k, int stride, int pad,
               bool bias)
{
    struct node *node = append(m, NODE_CONV, in);
    set_window(node, out_c, k, stride, pad);
    param(m, node, name, "weight", (size_t)(out_c * k * k) * (size_t)node->window.in.c, true);
    if (bias)
        param(m, node, name, "bias", (size_t)out_c, false);
    return index_of(m, node);
}

int graph_linear(struct nn_model *m, int in, const char *name, int out_c, bool bias)
{
    struct node *node = append(m, NODE_LINEAR, in);
    node->window.out = (struct nn_shape){1, 1, out_c};
    param(m, node, name, "weight", (size_t)out_c * size_of_shape(node->window.in), true);
    if (bias)
        param(m, node, name, "bias", (size_t)out_c, false);
    return index_of(m, node);
}

int graph_norm(struct nn_model *m, int in, const char *name, int addend, bool relu)
{
    struct node *node = append(m, NODE_NORM, in);
    size_t c = (size_t)node->window.in.c;
    node->addend = addend;
    node->relu = relu;
    node->stat = m->n_stats;
    m->n_stats += 2 * c;
    param(m, node, name, "gamma", c, false);
    param(m, node, name, "beta", c, false);
    return index_of(m, node);
}

int graph_relu(struct nn_model *m, int in)
{
    return index_of(m, append(m, NODE_RELU, in));
}

int graph_pool(struct nn_model *m, int in, enum node_kind kind, int k, int stride, int pad)
{
    assert(kind == NODE_POOL_MAX || kind == NODE_POOL_AVG);
    struct node *node = append(m, kind, in);
    set_window(node, node->window.in.c, k, stride, pad);
    return index_of(m, node);
}

int graph_mean(struct nn_model *m, int in)
{
    struct node *node = append(m, NODE_MEAN, in);
    node->window.out = (struct nn_shape){1, 1, node->window.in.c};
    return index_of(m, node);
}

int graph_shortcut(struct nn_model *m, int in, int out_c)
{
    struct node *node = append(m, NODE_SHORTCUT, in);
    struct nn_shape s = node->window.in;
    assert(out_c >= s.c);
    node->window.out = (struct nn_shape){(s.h + 1) / 2, (s.w + 1) / 2, out_c};
    return index_of(m, node);
}

int graph_dropout(struct nn_model *m, int in, double p)
{
    struct node *node = append(m, NODE_DROPOUT, in);
    node->p = p;
    return index_of(m, node);
}

int graph_add(struct nn_model *m, int a, int b)
{
    struct node *node = append(m, NODE_ADD, a);
    assert(size_of_shape(m->nodes[b].window.out) == size_of_shape(node->window.in));
    node->addend = b;
    return index_of(m, node);
}

int graph_scale(struct nn_model *m, int in, double k)
{
    struct node *node = append(m, NODE_SCALE, in);
    node->p = k;
    return index_of(m, node);
}
