/* layer_layer_norm.c : normalises the channels of each pixel or time step (Ba, Kiros, Hinton 2016,
 * "Layer Normalization"; eps as in PyTorch; order of sums: hls/nn/layer.h).
 *
 *     v = (x - mean) / sqrt(variance + eps)      y = gamma v + beta
 *     g = gamma dy      dx = (g - mean(g) - v mean(g v)) / sqrt(variance + eps)
 *     dgamma = sum of dy v over the rows      dbeta = sum of dy
 *
 * Backward recomputes v, cheaper than reading it. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"
#include "nn/model_graph.h"

static const double EPS = 1e-5;

int graph_layer_norm(struct nn_model *m, int in, const char *name)
{
    struct node *node = graph_append(m, &layer_layer_norm, in);
    const size_t c = (size_t)node->window.in.c;
    graph_param(m, node, name, "gamma", c, GRAPH_NORM);
    graph_param(m, node, name, "beta", c, GRAPH_NORM);
    return graph_index(m, node);
}

static int layer_norm_node_plan(struct nn_model *m, const struct node *node, size_t *scratch_bytes)
{
    return m->ops->layer_norm_plan(m->ctx, batch_pixels(node->window.in, m->max_batch),
                                   node->window.in.c, scratch_bytes);
}

static void layer_norm_node_draw(const struct nn_model *m, const struct node *node, uint64_t seed,
                                 real *weights, real *stats)
{
    (void)seed, (void)stats;
    real *gamma = weights + m->params[node->first_param].offset;
    for (int i = 0; i < node->window.in.c; i++)
        gamma[i] = 1;
}

static void layer_norm_node_forward(struct nn_model *m, const struct node *node, int batch,
                                    bool train)
{
    (void)train;
    m->ops->layer_norm_forward(m->ctx, batch_pixels(node->window.in, batch), node->window.in.c, EPS,
                               m->nodes[node->in].y, graph_part(m, node, 0, m->weights),
                               graph_part(m, node, 1, m->weights), node->y);
}

static void layer_norm_node_backward(struct nn_model *m, const struct node *node, int batch)
{
    const struct node *in = &m->nodes[node->in];
    m->ops->layer_norm_backward(m->ctx, batch_pixels(node->window.in, batch), node->window.in.c,
                                EPS, in->y, graph_part(m, node, 0, m->weights), node->dy, in->dy,
                                node->add_dx, graph_part(m, node, 0, m->grads),
                                graph_part(m, node, 1, m->grads), m->scratch);
}

const struct layer_kind layer_layer_norm = {
    .name = "layernorm",
    .adds_dx = true,
    .plan = layer_norm_node_plan,
    .draw = layer_norm_node_draw,
    .forward = layer_norm_node_forward,
    .backward = layer_norm_node_backward,
};

static inline real row_mean(size_t c, const real *x)
{
    return cpu_row_sum(c, x) / (real)c;
}

struct row {
    real mean, inv_std;
};

/* square: scratch [c]. */
static inline struct row row_of(size_t c, real eps, const real *x, real *restrict square)
{
    const real mean = row_mean(c, x);
    for (size_t i = 0; i < c; i++)
        square[i] = (x[i] - mean) * (x[i] - mean);
    return (struct row){mean, 1 / cpu_root(row_mean(c, square) + eps)};
}

CPU_HOT static void layer_norm_row(size_t c, real eps, const real *x, const real *gamma,
                                   const real *beta, real *restrict y)
{
    const struct row r = row_of(c, eps, x, y);
    for (size_t i = 0; i < c; i++)
        y[i] = (x[i] - r.mean) * r.inv_std * gamma[i] + beta[i];
}

void cpu_layer_norm_forward(void *ctx, size_t n, int c, double eps, const real *x,
                            const real *gamma, const real *beta, real *y)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++, x += c, y += c)
        layer_norm_row((size_t)c, (real)eps, x, gamma, beta, y);
}

/* scratch, each [c] */
struct layer_norm_sums {
    double *dgamma, *dbeta;     /* over all runs */
    real *run_gamma, *run_beta; /* over one run */
    real *v, *g, *product;      /* of a row */
};

static struct layer_norm_sums layer_norm_sums_of(int c, void *memory)
{
    double *d = memory;
    real *r = (real *)(void *)(d + 2 * c);
    return (struct layer_norm_sums){d, d + c, r, r + c, r + 2 * c, r + 3 * c, r + 4 * c};
}

int cpu_layer_norm_plan(void *ctx, size_t max_n, int c, size_t *scratch_bytes)
{
    (void)ctx, (void)max_n;
    *scratch_bytes = (size_t)c * (2 * sizeof(double) + 5 * sizeof(real));
    return 0;
}

CPU_HOT static void layer_norm_row_back(size_t c, real eps, const real *x, const real *gamma,
                                        const real *dy, real *dx, bool add,
                                        const struct layer_norm_sums *s)
{
    real *restrict v = s->v, *restrict g = s->g, *restrict product = s->product;
    const struct row r = row_of(c, eps, x, product);
    for (size_t i = 0; i < c; i++) {
        v[i] = (x[i] - r.mean) * r.inv_std;
        s->run_gamma[i] += dy[i] * v[i];
        s->run_beta[i] += dy[i];
    }
    if (!dx)
        return;
    for (size_t i = 0; i < c; i++) {
        g[i] = dy[i] * gamma[i];
        product[i] = g[i] * v[i];
    }
    const real level = row_mean(c, g), slope = row_mean(c, product);
    for (size_t i = 0; i < c; i++) {
        const real d = r.inv_std * (g[i] - level - v[i] * slope);
        dx[i] = add ? dx[i] + d : d;
    }
}

void cpu_layer_norm_backward(void *ctx, size_t n, int c, double eps, const real *x,
                             const real *gamma, const real *dy, real *dx, bool add, real *dgamma,
                             real *dbeta, void *scratch)
{
    const struct layer_norm_sums s = layer_norm_sums_of(c, scratch);
    const size_t all = (size_t)c, run = layer_norm_run(n);
    memset(s.dgamma, 0, 2 * all * sizeof *s.dgamma);
    for (size_t i = 0; i < n; i++, x += c, dy += c, dx = dx ? dx + c : NULL) {
        if (i % run == 0)
            memset(s.run_gamma, 0, 2 * all * sizeof *s.run_gamma);
        layer_norm_row_back(all, (real)eps, x, gamma, dy, dx, add, &s);
        for (size_t j = 0; (i + 1 == n || (i + 1) % run == 0) && j < 2 * all; j++)
            s.dgamma[j] += (double)s.run_gamma[j];
    }
    for (size_t j = 0; j < all; j++) {
        dgamma[j] = (real)s.dgamma[j];
        dbeta[j] = (real)s.dbeta[j];
    }
    cpu_unscale(ctx, all, dgamma);
    cpu_unscale(ctx, all, dbeta);
}
