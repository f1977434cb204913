/* gpu_models.h : opens models on both backends with equal weights and images and bounds their
 * gradients.
 *
 * A floating-point sum of k products, in any order, is the exact sum of slightly changed factors.
 * Their relative change is about sqrt(k) u for independent roundings, at most k u (Higham,
 * Accuracy and Stability, 3.1); u is half a unit of the factors' format. So both backends compute
 * the gradient of a network with slightly changed weights and images. The CPU measures how far a
 * few random changes of that size move each tensor of the gradient; the backends may differ by a
 * few times the largest move. */
#ifndef GPU_MODELS_H
#define GPU_MODELS_H
#include <errno.h>
#include <math.h>
#include <string.h>
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/model_graph.h"
#include "vec/gpu/gpu.h"

enum { CLASSES = 5, NUDGES = 4 };

static inline double uniform(uint64_t key, uint64_t i)
{
    return (double)philox_u32(key, i) * 0x1p-31 - 1;
}

struct images {
    int n;
    size_t size;
    real *x;
    int32_t *labels;
};

static inline struct images images_open(struct nn_shape s, int n)
{
    struct images d = {.n = n, .size = batch_elements(s, n)};
    const int n_labels = s.w == 1 ? n * s.h : n; /* sequences: one per step */
    d.x = malloc(d.size * sizeof *d.x);
    d.labels = malloc((size_t)n_labels * sizeof *d.labels);
    for (size_t i = 0; i < d.size; i++)
        d.x[i] = (real)uniform(1, i);
    for (int i = 0; i < n_labels; i++)
        d.labels[i] = (i * 2 + 1) % CLASSES;
    return d;
}

static inline void images_close(struct images *d)
{
    free(d->x);
    free(d->labels);
}

static inline void build_kinds(struct nn_model *m)
{
    int x =
        graph_batch_norm(m, graph_conv(m, 0, "conv1", 8, 3, 1, 1, false), "norm1", NO_ADDEND, true);
    int y =
        graph_batch_norm(m, graph_conv(m, x, "conv2", 8, 3, 1, 1, false), "norm2", NO_ADDEND, true);
    x = graph_batch_norm(m, graph_conv(m, y, "conv3", 8, 1, 1, 0, false), "norm3", x, true);
    y = graph_batch_norm(m, graph_conv(m, x, "conv4", 16, 3, 2, 1, false), "norm4", NO_ADDEND,
                         false);
    x = graph_batch_norm(m, graph_conv(m, y, "conv5", 16, 3, 1, 1, false), "norm5",
                         graph_shortcut(m, x, 16), false);
    y = graph_batch_norm(m, graph_conv(m, x, "conv6", 16, 3, 1, 1, false), "norm6", NO_ADDEND,
                         true);
    x = graph_add(m, x, y);
    x = graph_pool_avg(m, x, 3, 1, 1);
    x = graph_relu(m, graph_conv(m, x, "conv7", 24, 3, 1, 1, true));
    x = graph_lrn(m, graph_pool_max(m, x, 2, 2, 0), 0.5);
    x = graph_relu(m, graph_conv_groups(m, x, "conv8", 16, 3, 1, 1, 2, true));
    x = graph_pool_max_up(m, x, 3, 2, 0);
    x = graph_dropout(m, graph_mean(m, x), 0.25);
    x = graph_relu(m, graph_linear(m, x, "hidden", 12, true));
    x = graph_add(m, graph_gelu(m, graph_layer_norm(m, x, "norm7")), x);
    x = graph_scale(m, graph_linear(m, x, "classifier", CLASSES, false), 0.5);
    graph_head(m, x, &loss_class, 1);
}

/* Builds a tensor with four readers: dilated taps, a pooling that adds to a gradient, upscaling to
 * the original size, and a second head. */
static inline void build_branches(struct nn_model *m)
{
    const struct nn_shape in = m->nodes[0].window.out;
    int x =
        graph_batch_norm(m, graph_conv(m, 0, "conv1", 8, 3, 1, 1, false), "norm1", NO_ADDEND, true);
    int a = graph_conv(m, graph_pool_avg(m, x, 3, 2, 0), "conv2", 8, 1, 1, 0, true);
    a = graph_bilinear(m, graph_relu(m, a), in.h, in.w);
    const int b = graph_relu(m, graph_conv_dilated(m, x, "conv3", 16, 3, 2, 2, true));
    int y = graph_relu(m, graph_conv(m, x, "side.conv", 8, 3, 2, 1, true));
    y = graph_linear(m, graph_mean(m, y), "side.classifier", CLASSES, true);
    const int c = graph_conv(m, graph_pool_max(m, x, 3, 1, 1), "conv4", 5, 1, 1, 0, true);
    x = graph_concat(m, (const int[]){a, b, c}, 3);
    x = graph_relu(m, graph_conv(m, x, "conv5", 12, 3, 2, 1, true));
    x = graph_linear(m, graph_mean(m, x), "classifier", CLASSES, true);
    graph_head(m, x, &loss_class, 1);
    graph_head(m, y, &loss_class, 0.3);
}

static inline void build_gpt(struct nn_model *m)
{
    m->width = 0.06;
    graph_gpt(m, 2, CLASSES);
}

/* Nothing needs the gradient of its only layer's input. */
static inline void build_single(struct nn_model *m)
{
    graph_head(m, graph_linear(m, 0, "classifier", CLASSES, true), &loss_class, 1);
}

static inline struct nn_model *model_open(const struct nn_ops *ops, const struct nn_setup *setup,
                                          const char *name, struct nn_shape in, int batch)
{
    static const struct {
        const char *name;
        void (*build)(struct nn_model *m);
    } own[] = {{"kinds", build_kinds},
               {"branches", build_branches},
               {"single", build_single},
               {"gpt", build_gpt},
               {0}};
    struct nn_model *m;
    int k = 0;
    while (own[k].name && strcmp(name, own[k].name))
        k++;
    if (!own[k].name) {
        if (nn_model_open(ops, setup, name, in, CLASSES, batch, 4, &m) < 0)
            exit(1);
        return m;
    }
    m = malloc(sizeof *m);
    if (graph_init(m, ops, in, batch) < 0)
        exit(1);
    graph_scale_open(m, setup);
    own[k].build(m);
    if (ops->open(setup, &m->ctx) < 0 || graph_plan(m, 4) < 0)
        exit(1);
    return m;
}

/* The caller frees the copy. */
static inline real *fetch(struct nn_model *m, const real *from)
{
    size_t n;
    nn_model_weights(m, &n);
    real *host = malloc(n * sizeof *host);
    CHECK(nn_model_get(m, host, from, n) == 0, "cannot read from the backend");
    return host;
}

static inline double distance(const real *a, const real *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

static inline double half_unit(enum nn_math math)
{
    return math == NN_FP32 ? 0x1p-24 : math == NN_BF16 ? 0x1p-9 : 0x1p-12;
}

/* Relative change that represents a pass's roundings of factors, and of sums of up to a thousand
 * products in float. */
static inline double nudge_of(enum nn_math math)
{
    return 2 * half_unit(math) + 32 * 0x1p-24;
}

struct answer {
    struct nn_result r;
    real *grads;
};

static inline struct answer answer_of(struct nn_model *m, const struct images *d)
{
    struct answer a = {
        .r = nn_model_train(m, &(struct nn_batch){.n = d->n, .x = d->x, .labels = d->labels}, 3,
                            NULL, NULL)};
    a.grads = fetch(m, nn_model_grads(m));
    return a;
}

/* Returns how far the loss of a CPU model moves. moved [n_params]: L2 norms, for gradients.
 * Restores all except the gradients. */
static inline double sensitivity(struct nn_model *cpu, const struct images *d, double nudge,
                                 const struct answer *at, double *moved)
{
    size_t n;
    real *w = nn_model_weights(cpu, &n), *kept = fetch(cpu, w), *x = malloc(d->size * sizeof *x);
    size_t n_stats;
    real *stats = nn_model_stats(cpu, &n_stats),
         *kept_stats = malloc((n_stats + 1) * sizeof *stats);
    double moved_loss = 0;
    memcpy(kept_stats, stats, n_stats * sizeof *stats);
    for (int k = 0; k < cpu->n_params; k++)
        moved[k] = 0;
    for (int t = 0; t < NUDGES; t++) {
        struct images near = *d;
        for (size_t i = 0; i < n; i++)
            w[i] = (real)((double)kept[i] * (1 + nudge * uniform(10 + (uint64_t)t, i)));
        for (size_t i = 0; i < d->size; i++)
            x[i] = (real)((double)d->x[i] * (1 + nudge * uniform(20 + (uint64_t)t, i)));
        near.x = x;
        const struct answer a = answer_of(cpu, &near);
        moved_loss = fmax(moved_loss, fabs(a.r.loss_sum - at->r.loss_sum));
        for (int k = 0; k < cpu->n_params; k++) {
            const struct nn_param *p = &cpu->params[k];
            moved[k] = fmax(moved[k], distance(a.grads + p->offset, at->grads + p->offset, p->n));
        }
        free(a.grads);
    }
    memcpy(w, kept, n * sizeof *w);
    memcpy(stats, kept_stats, n_stats * sizeof *stats);
    free(kept), free(kept_stats), free(x);
    return moved_loss;
}

#endif
