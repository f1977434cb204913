/* layer_lrn.c : normalises each pixel across neighbouring channels (local response normalisation).
 *
 *     s_i = 1 + alpha/5 * (sum of x_j^2, |i - j| <= 2)      y_i = x_i / s_i^(3/4)
 *     dx_i = dy_i / s_i^(3/4) - x_i * alpha * 3/10 * (sum of dy_j * y_j / s_j, |i - j| <= 2)
 *
 * The power 3/4 is two square roots, so bits do not depend on a libm. Backward recomputes s,
 * cheaper than reading it. */
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

int graph_lrn(struct nn_model *m, int in, double alpha)
{
    struct node *node = graph_append(m, &layer_lrn, in);
    node->p = alpha;
    return graph_index(m, node);
}

static void lrn_node_forward(struct nn_model *m, const struct node *node, int batch, bool train)
{
    (void)train;
    m->ops->lrn_forward(m->ctx, batch_pixels(node->window.in, batch), node->window.in.c, node->p,
                        m->nodes[node->in].y, node->y);
}

static void lrn_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct node *in = &m->nodes[node->in];
    m->ops->lrn_backward(m->ctx, batch_pixels(node->window.in, batch), node->window.in.c, node->p,
                         in->y, node->dy, in->dy);
}

const struct layer_kind layer_lrn = {
    .name = "lrn",
    .forward = lrn_node_forward,
    .backward = lrn_node_backward,
};

/* BESIDE: channels read on each side, since backward needs the neighbours' neighbours. */
enum { LRN_LANES = 96, BESIDE = 2 * LRN_REACH };

/* Channels outside 0 to c-1 are zeros. */
static inline void read_beside(int c, int first, int n, const real *x, real *v)
{
    for (int j = 0; j < n + 2 * BESIDE; j++) {
        const int i = first + j - BESIDE;
        v[j] = i >= 0 && i < c ? x[i] : 0;
    }
}

static inline void sum_beside(int n, const real *restrict v, real *restrict sum)
{
    for (int j = 0; j < n; j++)
        sum[j] = ((v[j] + v[j + 1]) + (v[j + 3] + v[j + 4])) + v[j + 2];
}

static inline void scales(int n, real share, const real *restrict x, real *restrict s)
{
    real square[LRN_LANES + 2 * BESIDE];
    for (int j = 0; j < n + 2 * LRN_REACH; j++)
        square[j] = x[j] * x[j];
    sum_beside(n, square, s);
    for (int j = 0; j < n; j++)
        s[j] = 1 + share * s[j];
}

static inline real power(real s)
{
    const real root = cpu_root(s);
    return 1 / (root * cpu_root(root));
}

CPU_HOT static void lrn_pixel(int c, real share, const real *restrict x, real *restrict y)
{
    real v[LRN_LANES + 2 * BESIDE], s[LRN_LANES];
    for (int first = 0; first < c; first += LRN_LANES) {
        const int n = c - first < LRN_LANES ? c - first : LRN_LANES;
        read_beside(c, first, n, x, v);
        scales(n, share, v + BESIDE - LRN_REACH, s);
        for (int j = 0; j < n; j++)
            y[first + j] = v[BESIDE + j] * power(s[j]);
    }
}

CPU_HOT static void lrn_pixel_back(int c, real share, const real *restrict x,
                                   const real *restrict dy, real *restrict dx)
{
    enum { WIDE = LRN_LANES + 2 * LRN_REACH };
    real v[LRN_LANES + 2 * BESIDE], d[LRN_LANES + 2 * BESIDE], s[WIDE], p[WIDE], ratio[WIDE],
        sum[LRN_LANES];
    const real factor = (real)1.5 * share;
    for (int first = 0; first < c; first += LRN_LANES) {
        const int n = c - first < LRN_LANES ? c - first : LRN_LANES, wide = n + 2 * LRN_REACH;
        read_beside(c, first, n, x, v);
        read_beside(c, first, n, dy, d);
        scales(wide, share, v, s);
        for (int j = 0; j < wide; j++) {
            p[j] = power(s[j]);
            ratio[j] = d[j + LRN_REACH] * (v[j + LRN_REACH] * p[j]) / s[j];
        }
        sum_beside(n, ratio, sum);
        for (int j = 0; j < n; j++)
            dx[first + j] = d[j + BESIDE] * p[j + LRN_REACH] - factor * v[j + BESIDE] * sum[j];
    }
}

void cpu_lrn_forward(void *ctx, size_t n, int c, double alpha, const real *x, real *y)
{
    (void)ctx;
    const real share = (real)(alpha / LRN_CHANNELS);
    for (size_t i = 0; i < n; i++, x += c, y += c)
        lrn_pixel(c, share, x, y);
}

void cpu_lrn_backward(void *ctx, size_t n, int c, double alpha, const real *x, const real *dy,
                      real *dx)
{
    (void)ctx;
    const real share = (real)(alpha / LRN_CHANNELS);
    for (size_t i = 0; i < n; i++, x += c, dy += c, dx += c)
        lrn_pixel_back(c, share, x, dy, dx);
}
