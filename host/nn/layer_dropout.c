/* layer_dropout.c : dropout. Every node draws from a stream of its own. */
#include "hls/philox.h"
#include "nn/cpu_ops.h"
#include "nn/model_graph.h"

int graph_dropout(struct nn_model *m, int in, double p)
{
    struct node *node = graph_append(m, &layer_dropout, in);
    node->p = p;
    return graph_index(m, node);
}

static void dropout_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    m->ops->dropout(m->ctx, graph_elements(node->window.in, batch), train ? node->p : 0, m->key,
                    (uint32_t)graph_index(m, node), m->nodes[node->in].y, node->y);
}

static void dropout_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->dropout(m->ctx, graph_elements(node->window.in, batch), node->p, m->key,
                    (uint32_t)graph_index(m, node), node->dy, m->nodes[node->in].dy);
}

const struct layer_kind layer_dropout = {
    .name = "dropout",
    .in_place = true,
    .forward = dropout_node_forward,
    .backward = dropout_node_backward,
};

void cpu_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                 real *y)
{
    (void)ctx;
    const uint64_t own = philox_key(*key, node, 0, 0, 0);
    const double limit = p * 0x1p32;
    const real grow = (real)(1 / (1 - p));
    for (size_t i = 0; i < n; i++)
        y[i] = (double)philox_u32(own, i) < limit ? 0 : x[i] * grow;
}
