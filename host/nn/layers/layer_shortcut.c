/* layer_shortcut.c : makes a residual shortcut without parameters: every second pixel, and zeros in
 * new channels. */
#include <assert.h>
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_shortcut(struct nn_model *m, int in, int out_c)
{
    struct node *node = graph_append(m, &layer_shortcut, in);
    const struct nn_shape s = node->window.in;
    assert(m->failed || out_c >= s.c);
    node->window.out = (struct nn_shape){(s.h + 1) / 2, (s.w + 1) / 2, out_c};
    return graph_index(m, node);
}

static void shortcut_node_forward(struct nn_model *m, const struct node *node, int batch,
                                  bool train)
{
    (void)train;
    m->ops->shortcut_forward(m->ctx, node->window.in, node->window.out.c, batch,
                             m->nodes[node->in].y, node->y);
}

static void shortcut_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->shortcut_backward(m->ctx, node->window.in, node->window.out.c, batch, node->dy,
                              m->nodes[node->in].dy);
}

const struct layer_kind layer_shortcut = {
    .name = "shortcut",
    .forward = shortcut_node_forward,
    .backward = shortcut_node_backward,
};

void cpu_shortcut_forward(void *ctx, struct nn_shape in, int out_c, int batch, const real *x,
                          real *y)
{
    (void)ctx;
    memset(y, 0,
           batch_elements((struct nn_shape){(in.h + 1) / 2, (in.w + 1) / 2, out_c}, batch) *
               sizeof *y);
    for (int b = 0; b < batch; b++, x += batch_elements(in, 1))
        for (int iy = 0; iy < in.h; iy += 2)
            for (int ix = 0; ix < in.w; ix += 2, y += out_c)
                memcpy(y, x + pixel_at(in, iy, ix), (size_t)in.c * sizeof *y);
}

void cpu_shortcut_backward(void *ctx, struct nn_shape in, int out_c, int batch, const real *dy,
                           real *dx)
{
    (void)ctx;
    memset(dx, 0, batch_elements(in, batch) * sizeof *dx);
    for (int b = 0; b < batch; b++, dx += batch_elements(in, 1))
        for (int iy = 0; iy < in.h; iy += 2)
            for (int ix = 0; ix < in.w; ix += 2, dy += out_c)
                memcpy(dx + pixel_at(in, iy, ix), dy, (size_t)in.c * sizeof *dx);
}
