/* layer_pool.c : pools by maximum and by average. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

static int pool(struct nn_model *m, const struct layer_kind *kind, int in, int k, int stride,
                int pad, enum graph_rest rest)
{
    struct node *node = graph_append(m, kind, in);
    graph_window(m, node, node->window.in.c, k, stride, pad, rest);
    return graph_index(m, node);
}

int graph_pool_max(struct nn_model *m, int in, int k, int stride, int pad)
{
    return pool(m, &layer_pool_max, in, k, stride, pad, REST_OUT);
}

int graph_pool_max_up(struct nn_model *m, int in, int k, int stride, int pad)
{
    return pool(m, &layer_pool_max, in, k, stride, pad, REST_IN);
}

int graph_pool_avg(struct nn_model *m, int in, int k, int stride, int pad)
{
    return pool(m, &layer_pool_avg, in, k, stride, pad, REST_OUT);
}

static void max_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->pool_max_forward(m->ctx, &node->window, batch, m->nodes[node->in].y, node->y);
}

static void max_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct node *in = &m->nodes[node->in];
    m->ops->pool_max_backward(m->ctx, &node->window, batch, in->y, node->y, node->dy, in->dy);
}

static void avg_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->pool_avg_forward(m->ctx, &node->window, batch, m->nodes[node->in].y, node->y);
}

static void avg_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->pool_avg_backward(m->ctx, &node->window, batch, node->dy, m->nodes[node->in].dy,
                              node->add_dx);
}

const struct layer_kind layer_pool_max = {
    .name = "max pooling",
    .forward = max_node_forward,
    .backward = max_node_backward,
};

const struct layer_kind layer_pool_avg = {
    .name = "average pooling",
    .adds_dx = true,
    .forward = avg_node_forward,
    .backward = avg_node_backward,
};

enum { POOL_LANES = 64 }; /* channels per block */

/* the part inside the image */
struct patch {
    int y0, y1, x0, x1;
};

static struct patch patch_of(const struct nn_window *g, int oy, int ox)
{
    int y = oy * g->stride - g->pad, x = ox * g->stride - g->pad;
    return (struct patch){
        .y0 = y < 0 ? 0 : y,
        .y1 = y + g->k < g->in.h ? y + g->k : g->in.h,
        .x0 = x < 0 ? 0 : x,
        .x1 = x + g->k < g->in.w ? x + g->k : g->in.w,
    };
}

/* p: patch of an output pixel, o: index of its first element. */
#define EACH_PIXEL(g, body)                        \
    for (int oy = 0; oy < (g)->out.h; oy++)        \
        for (int ox = 0; ox < (g)->out.w; ox++) {  \
            struct patch p = patch_of(g, oy, ox);  \
            size_t o = pixel_at((g)->out, oy, ox); \
            body                                   \
        }

void cpu_pool_max_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y)
{
    (void)ctx;
    int c = g->in.c;
    for (int b = 0; b < batch; b++, x += shape_elements(g->in), y += shape_elements(g->out))
        EACH_PIXEL(g, {
            memcpy(y + o, x + pixel_at(g->in, p.y0, p.x0), (size_t)c * sizeof *y);
            for (int iy = p.y0; iy < p.y1; iy++)
                for (int ix = p.x0; ix < p.x1; ix++) {
                    const real *from = x + pixel_at(g->in, iy, ix);
                    for (int j = 0; j < c; j++)
                        y[o + (size_t)j] = from[j] <= y[o + (size_t)j] ? y[o + (size_t)j] : from[j];
                }
        })
}

/* For up to POOL_LANES channels from c on, pass dy back to the patch's first pixel that has the
 * maximum. left: dy, or 0 once it is passed back. */
CPU_HOT static void max_back(const struct nn_window *g, struct patch p, int c, const real *x,
                             const real *y, const real *dy, real *dx)
{
    const int n = g->in.c - c < POOL_LANES ? g->in.c - c : POOL_LANES;
    real left[POOL_LANES];
    for (int j = 0; j < n; j++)
        left[j] = dy[j];
    for (int iy = p.y0; iy < p.y1; iy++)
        for (int ix = p.x0; ix < p.x1; ix++) {
            const size_t i = pixel_at(g->in, iy, ix) + (size_t)c;
            for (int j = 0; j < n; j++) {
                const bool found = x[i + (size_t)j] >= y[j];
                dx[i + (size_t)j] += found ? left[j] : 0;
                left[j] = found ? 0 : left[j];
            }
        }
}

void cpu_pool_max_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                           const real *y, const real *dy, real *dx)
{
    (void)ctx;
    memset(dx, 0, (size_t)batch * shape_elements(g->in) * sizeof *dx);
    for (int b = 0; b < batch; b++, x += shape_elements(g->in), dx += shape_elements(g->in),
             y += shape_elements(g->out), dy += shape_elements(g->out))
        EACH_PIXEL(g, {
            for (int c = 0; c < g->in.c; c += POOL_LANES)
                max_back(g, p, c, x, y + o + c, dy + o + c, dx);
        })
}

void cpu_pool_avg_forward(void *ctx, const struct nn_window *g, int batch, const real *x, real *y)
{
    (void)ctx;
    real share = (real)1 / (real)(g->k * g->k);
    memset(y, 0, (size_t)batch * shape_elements(g->out) * sizeof *y);
    for (int b = 0; b < batch; b++, x += shape_elements(g->in), y += shape_elements(g->out))
        EACH_PIXEL(g, {
            for (int iy = p.y0; iy < p.y1; iy++)
                for (int ix = p.x0; ix < p.x1; ix++)
                    for (size_t j = 0; j < (size_t)g->in.c; j++)
                        y[o + j] += x[pixel_at(g->in, iy, ix) + j];
            for (size_t j = 0; j < (size_t)g->in.c; j++)
                y[o + j] *= share;
        })
}

void cpu_pool_avg_backward(void *ctx, const struct nn_window *g, int batch, const real *dy,
                           real *dx, bool add)
{
    (void)ctx;
    real share = (real)1 / (real)(g->k * g->k);
    if (!add)
        memset(dx, 0, (size_t)batch * shape_elements(g->in) * sizeof *dx);
    for (int b = 0; b < batch; b++, dx += shape_elements(g->in), dy += shape_elements(g->out))
        EACH_PIXEL(g, {
            for (int iy = p.y0; iy < p.y1; iy++)
                for (int ix = p.x0; ix < p.x1; ix++)
                    for (size_t j = 0; j < (size_t)g->in.c; j++)
                        dx[pixel_at(g->in, iy, ix) + j] += dy[o + j] * share;
        })
}
