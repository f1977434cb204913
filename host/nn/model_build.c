/* model_build.c : appends nodes to a model, with their shapes; parameters are numbered in forward
 * order. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include "hls/philox.h"
#include "nn/model_graph.h"

void graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch)
{
    *m = (struct nn_model){.ops = ops, .max_batch = max_batch, .n_nodes = 1};
    m->nodes[0] = (struct node){.in = -1, .addend = -1, .window.out = in};
}

struct node *graph_append(struct nn_model *m, const struct layer_kind *kind, int in)
{
    assert(m->n_nodes < GRAPH_NODES && in >= 0 && in < m->n_nodes);
    struct node *node = &m->nodes[m->n_nodes++];
    struct nn_shape shape = m->nodes[in].window.out;
    *node =
        (struct node){.kind = kind, .in = in, .addend = -1, .window = {.in = shape, .out = shape}};
    node->first_param = m->n_params;
    return node;
}

int graph_index(const struct nn_model *m, const struct node *node)
{
    return (int)(node - m->nodes);
}

void graph_param(struct nn_model *m, struct node *node, const char *name, const char *part,
                 size_t n, bool decay)
{
    assert(m->n_params < GRAPH_PARAMS);
    struct nn_param *p = &m->params[m->n_params++];
    *p = (struct nn_param){.offset = m->n_weights, .n = n, .decay = decay};
    snprintf(p->name, sizeof p->name, "%.20s.%.8s", name, part);
    node->n_params++;
    m->n_weights += n;
}

static int walked(int size, int k, int stride, int pad)
{
    return (size + 2 * pad - k) / stride + 1;
}

void graph_window(struct node *node, int out_c, int k, int stride, int pad)
{
    struct nn_window *g = &node->window;
    g->k = k, g->stride = stride, g->pad = pad;
    g->out =
        (struct nn_shape){walked(g->in.h, k, stride, pad), walked(g->in.w, k, stride, pad), out_c};
    assert(pad < k && g->in.h + 2 * pad >= k && g->in.w + 2 * pad >= k);
}

void graph_draw_he(const struct nn_model *m, const struct node *node, uint64_t seed, real *weights,
                   real *stats)
{
    const struct nn_param *p = &m->params[node->first_param];
    (void)stats;
    const size_t fan_in = p->n / (size_t)node->window.out.c;
    const uint64_t key = philox_key(seed, (uint32_t)node->first_param, 0, 0, 0);
    const double bound = sqrt(6.0 / (double)fan_in);
    real *w = weights + p->offset;
    for (size_t i = 0; i < p->n; i++)
        w[i] = (real)(bound * ((double)philox_u32(key, i) * 0x1p-31 - 1));
}
