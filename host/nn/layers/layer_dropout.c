/* layer_dropout.c : applies dropout, with a random stream per node. */
#include <string.h>
#include "hls/arith/philox.h"
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_dropout(struct nn_model *m, int in, double p)
{
    struct node *node = graph_append(m, &layer_dropout, in);
    node->p = p;
    return graph_index(m, node);
}

static void dropout_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    m->ops->dropout(m->ctx, batch_elements(node->window.in, batch), train ? node->p : 0,
                    m->words.key, (uint32_t)graph_index(m, node), m->nodes[node->in].y, node->y);
}

static void dropout_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->dropout(m->ctx, batch_elements(node->window.in, batch), node->p, m->words.key,
                    (uint32_t)graph_index(m, node), node->dy, m->nodes[node->in].dy);
}

const struct layer_kind layer_dropout = {
    .name = "dropout",
    .in_place = true,
    .forward = dropout_node_forward,
    .backward = dropout_node_backward,
};

/* Four elements share a Philox block. */
CPU_HOT static void drop(uint64_t key, double p, size_t n, const real *x, real *y)
{
    const double limit = p * 0x1p32;
    const real grow = (real)(1 / (1 - p));
    for (size_t i = 0; i < n; i += 4) {
        const struct philox_block counter = {{(uint32_t)(i >> 2), (uint32_t)(i >> 34), 0, 0}};
        const struct philox_block draw = philox_rounds(key, counter);
        for (size_t j = 0; j < 4 && i + j < n; j++)
            y[i + j] = (double)draw.w[j] < limit ? 0 : x[i + j] * grow;
    }
}

void cpu_dropout(void *ctx, size_t n, double p, const uint64_t *key, uint32_t node, const real *x,
                 real *y)
{
    (void)ctx;
    if (p > 0)
        drop(philox_key(*key, node, 0, 0, 0), p, n, x, y);
    else if (x != y)
        memcpy(y, x, n * sizeof *y);
}
