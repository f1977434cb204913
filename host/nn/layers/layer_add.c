/* layer_add.c : adds two tensors. */
#include <assert.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_add(struct nn_model *m, int a, int b)
{
    struct node *node = graph_append(m, &layer_add, a);
    assert(m->failed || (a > 0 && a != b));
    assert(m->failed ||
           batch_elements(m->nodes[b].window.out, 1) == batch_elements(node->window.in, 1));
    node->addend = b;
    return graph_index(m, node);
}

static void add_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->add(m->ctx, batch_elements(node->window.in, batch), m->nodes[node->in].y,
                m->nodes[node->addend].y, node->y);
}

static void add_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->scale(m->ctx, batch_elements(node->window.in, batch), 1, node->dy,
                  m->nodes[node->in].dy);
}

const struct layer_kind layer_add = {
    .name = "add",
    .forward = add_node_forward,
    .backward = add_node_backward,
};

CPU_HOT static void add(size_t n, const real *a, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void cpu_add(void *ctx, size_t n, const real *a, const real *b, real *y)
{
    (void)ctx;
    add(n, a, b, y);
}
