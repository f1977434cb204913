/* model_build.c : appends nodes with their shapes to a model. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "hls/arith/philox.h"
#include "nn/model_graph.h"

/* The capacity is a power of two. */
static void *grown(void *list, int n, size_t item_bytes)
{
    const size_t room = n ? 2 * (size_t)n : 1;
    return n & (n - 1) ? list : realloc(list, room * item_bytes);
}

int graph_init(struct nn_model *m, const struct nn_ops *ops, struct nn_shape in, int max_batch)
{
    *m = (struct nn_model){.ops = ops,
                           .max_batch = max_batch,
                           .width = 1,
                           .block.factor = 1,
                           .n_nodes = 1,
                           .scale = {.value = 1}};
    m->nodes = grown(NULL, 0, sizeof *m->nodes);
    if (!m->nodes)
        return ERR(-ENOMEM, "cannot build a model: no memory");
    m->nodes[0] = (struct node){.in = -1, .addend = -1, .buffer = -1, .window.out = in};
    return 0;
}

void graph_fini(struct nn_model *m)
{
    free(m->nodes);
    free(m->params);
    free(m->heads);
    free(m->groups);
    free(m->buffers);
}

struct node *graph_append(struct nn_model *m, const struct layer_kind *kind, int in)
{
    assert(in >= 0 && in < m->n_nodes);
    const struct nn_shape shape = m->nodes[in].window.out;
    struct node *list = grown(m->nodes, m->n_nodes, sizeof *list), *node = &m->spare;
    if (list) {
        m->nodes = list;
        node = &list[m->n_nodes++];
    } else {
        m->failed = -ENOMEM;
    }
    *node = (struct node){.kind = kind,
                          .in = in,
                          .addend = -1,
                          .buffer = -1,
                          .window = {.in = shape, .out = shape},
                          .first_param = m->n_params};
    return node;
}

int graph_index(const struct nn_model *m, const struct node *node)
{
    return node == &m->spare ? 0 : (int)(node - m->nodes);
}

void graph_param(struct nn_model *m, struct node *node, const char *name, const char *part,
                 size_t n, enum graph_role role)
{
    struct nn_param *list = grown(m->params, m->n_params, sizeof *list);
    if (!list) {
        m->failed = -ENOMEM;
        return;
    }
    m->params = list;
    struct nn_param *p = &list[m->n_params++];
    *p = (struct nn_param){.offset = m->n_weights,
                           .n = n,
                           .decay = role == GRAPH_WEIGHT || role == GRAPH_KERNEL,
                           .kernel = role == GRAPH_KERNEL,
                           .bias = role == GRAPH_BIAS,
                           .column = n,
                           .stride = 1};
    snprintf(p->name, sizeof p->name, "%.20s.%.8s", name, part);
    node->n_params++;
    m->n_weights += n;
}

void graph_columns(struct nn_model *m, size_t column, size_t stride)
{
    if (m->failed)
        return;
    m->params[m->n_params - 1].column = column;
    m->params[m->n_params - 1].stride = stride;
}

void graph_head(struct nn_model *m, int node, const struct loss_kind *loss, double weight)
{
    struct graph_head *list = grown(m->heads, m->n_heads, sizeof *list);
    if (!list) {
        m->failed = -ENOMEM;
        return;
    }
    const struct nn_target target = loss->target(&m->nodes[node]);
    assert(m->n_heads == 0 || m->failed || m->too_small ||
           m->other_form || /* all heads must need the same labels */
           (target.kind == m->target.kind && target.n == m->target.n));
    m->target = target;
    m->heads = list;
    list[m->n_heads++] = (struct graph_head){node, loss, weight};
}

void graph_reads(struct nn_model *m, enum nn_form form)
{
    const struct nn_shape in = m->nodes[0].window.out;
    m->other_form = (in.w == 1) != (form == NN_SEQUENCES);
}

int graph_width_of(const struct nn_model *m, int channels, int multiple)
{
    const int n = (int)(channels * m->width + 0.5), least = n < 1 ? 1 : n;
    return (least + multiple - 1) / multiple * multiple;
}

int graph_width(const struct nn_model *m, int channels)
{
    return graph_width_of(m, channels, 1);
}

/* Return 0 if the image is too small. */
static int walked(int size, struct nn_window g, enum graph_rest rest)
{
    const int stride = g.stride, way = size + 2 * g.pad - window_reach(g) - 1;
    if (rest == REST_IN)
        return way + stride > 0 ? (way + stride - 1) / stride + 1 : 0;
    return way >= 0 ? way / stride + 1 : 0;
}

void graph_window(struct nn_model *m, struct node *node, int out_c, int k, int stride, int pad,
                  enum graph_rest rest)
{
    struct nn_window *g = &node->window;
    g->k = k, g->stride = stride, g->pad = pad;
    assert(pad <= window_reach(*g) && (rest == REST_OUT || (pad == 0 && stride <= k)));
    g->out = (struct nn_shape){walked(g->in.h, *g, rest), walked(g->in.w, *g, rest), out_c};
    if (g->out.h < 1 || g->out.w < 1) {
        g->out.h = g->out.w = 1;
        m->too_small = true;
    }
}

real *graph_part(const struct nn_model *m, const struct node *node, int i, real *array)
{
    return i < node->n_params ? nn_model_at(m, array, m->params[node->first_param + i].offset)
                              : NULL;
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
