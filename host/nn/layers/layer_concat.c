/* layer_concat.c : concatenates channels of several tensors. */
#include <assert.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_concat(struct nn_model *m, const int *parts, int n_parts)
{
    struct node *node = graph_append(m, &layer_concat, parts[0]);
    struct nn_shape *out = &node->window.out;
    assert(n_parts >= 2 && n_parts <= GRAPH_PARTS);
    for (int i = 1; i < n_parts; i++) {
        const struct nn_shape s = m->nodes[parts[i]].window.out;
        assert(m->failed || m->too_small || (s.h == out->h && s.w == out->w));
        node->more[node->n_more++] = parts[i];
        out->c += s.c;
    }
    return graph_index(m, node);
}

static const struct node *part_at(const struct nn_model *m, const struct node *node, int i)
{
    return &m->nodes[i ? node->more[i - 1] : node->in];
}

static void concat_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    const struct nn_shape out = node->window.out;
    for (int i = 0, at = 0; i <= node->n_more; i++) {
        const struct node *part = part_at(m, node, i);
        m->ops->concat_forward(m->ctx, batch_pixels(out, batch), part->window.out.c, part->y, at,
                               out.c, node->y);
        at += part->window.out.c;
    }
}

static void concat_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct nn_shape out = node->window.out;
    for (int i = 0, at = 0; i <= node->n_more; i++) {
        const struct node *part = part_at(m, node, i);
        m->ops->concat_backward(m->ctx, batch_pixels(out, batch), part->window.out.c, node->dy, at,
                                out.c, part->dy);
        at += part->window.out.c;
    }
}

const struct layer_kind layer_concat = {
    .name = "concat",
    .forward = concat_node_forward,
    .backward = concat_node_backward,
};

CPU_HOT static void copy_channels(size_t n, size_t c, const real *restrict from, size_t from_pitch,
                                  real *restrict to, size_t to_pitch)
{
    for (size_t i = 0; i < n; i++, from += from_pitch, to += to_pitch)
        for (size_t j = 0; j < c; j++)
            to[j] = from[j];
}

void cpu_concat_forward(void *ctx, size_t n, int c, const real *x, int at, int all, real *y)
{
    (void)ctx;
    copy_channels(n, (size_t)c, x, (size_t)c, y + at, (size_t)all);
}

void cpu_concat_backward(void *ctx, size_t n, int c, const real *dy, int at, int all, real *dx)
{
    (void)ctx;
    copy_channels(n, (size_t)c, dy + at, (size_t)all, dx, (size_t)c);
}
