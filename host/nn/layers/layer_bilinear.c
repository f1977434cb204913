/* layer_bilinear.c : scales images up bilinearly (hls/nn/bilinear.h). Backward sums each input
 * pixel's contributions in a fixed order. */
#include <assert.h>
#include <string.h>
#include "hls/nn/bilinear.h"
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_bilinear(struct nn_model *m, int in, int h, int w)
{
    struct node *node = graph_append(m, &layer_bilinear, in);
    assert(m->failed || (h >= node->window.in.h && w >= node->window.in.w));
    node->window.out.h = h;
    node->window.out.w = w;
    return graph_index(m, node);
}

static void bilinear_node_forward(struct nn_model *m, const struct node *node, int batch,
                                  bool train)
{
    (void)train;
    m->ops->bilinear_forward(m->ctx, node->window.in, node->window.out, batch, m->nodes[node->in].y,
                             node->y);
}

static void bilinear_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    m->ops->bilinear_backward(m->ctx, node->window.in, node->window.out, batch, node->dy,
                              m->nodes[node->in].dy);
}

const struct layer_kind layer_bilinear = {
    .name = "bilinear",
    .forward = bilinear_node_forward,
    .backward = bilinear_node_backward,
};

/* bilinear_mix() for real, which is double in some tests. */
static inline real mix(real a, real b, float part)
{
    return (real)(1.0f - part) * a + (real)part * b;
}

CPU_HOT static void mix_pixel(size_t c, const real *restrict a, const real *restrict b,
                              const real *restrict below_a, const real *restrict below_b,
                              float right, float down, real *restrict y)
{
    for (size_t j = 0; j < c; j++)
        y[j] = mix(mix(a[j], b[j], right), mix(below_a[j], below_b[j], right), down);
}

void cpu_bilinear_forward(void *ctx, struct nn_shape in, struct nn_shape out, int batch,
                          const real *x, real *y)
{
    (void)ctx;
    const size_t c = (size_t)in.c;
    for (int i = 0; i < batch; i++, x += batch_elements(in, 1))
        for (int oy = 0; oy < out.h; oy++) {
            const struct bilinear v = bilinear_at(oy, in.h, out.h);
            for (int ox = 0; ox < out.w; ox++, y += c) {
                const struct bilinear u = bilinear_at(ox, in.w, out.w);
                mix_pixel(c, x + pixel_at(in, v.first, u.first),
                          x + pixel_at(in, v.first, u.second), x + pixel_at(in, v.second, u.first),
                          x + pixel_at(in, v.second, u.second), u.part, v.part, y);
            }
        }
}

CPU_HOT static void add_share(size_t c, real share, const real *restrict dy, real *restrict dx)
{
    for (size_t j = 0; j < c; j++)
        dx[j] += share * dy[j];
}

void cpu_bilinear_backward(void *ctx, struct nn_shape in, struct nn_shape out, int batch,
                           const real *dy, real *dx)
{
    (void)ctx;
    const size_t c = (size_t)in.c;
    memset(dx, 0, batch_elements(in, batch) * sizeof *dx);
    for (int i = 0; i < batch; i++, dy += batch_elements(out, 1))
        for (int y = 0; y < in.h; y++)
            for (int x = 0; x < in.w; x++, dx += c) {
                const int y_end = bilinear_end(y, in.h, out.h),
                          x_end = bilinear_end(x, in.w, out.w);
                for (int oy = bilinear_begin(y, in.h, out.h); oy < y_end; oy++) {
                    const real down = (real)bilinear_share(oy, y, in.h, out.h);
                    for (int ox = bilinear_begin(x, in.w, out.w); ox < x_end; ox++)
                        add_share(c, down * (real)bilinear_share(ox, x, in.w, out.w),
                                  dy + pixel_at(out, oy, ox), dx);
                }
            }
}
