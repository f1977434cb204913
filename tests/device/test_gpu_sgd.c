/* test_gpu_sgd.c : steps of SGD on the GPU have nn_cpu's bits, over tensors of any size at any
 * place; with LARS the bits up to the rounding of one factor; and a recorded step follows the rate
 * it is given. In floats, and in halves, where each operation is rounded, from gradients in halves or in
 * floats. */
#include "gpu_layers.h"

enum { TENSORS = 300, STEPS = 3 };

struct model {
    struct nn_sgd_tensor cpu[TENSORS];
    struct dev_sgd *list; /* pinned */
    int n_tensors;
    size_t n; /* elements, with gaps between tensors */
    float *w, *g, *v, *rate, *scratch;
    void *gpu_w, *gpu_g, *gpu_v;
};

static bool float_grads; /* beside weights in halves */

/* Of gradients, to the GPU and back. */
static void *put_grads(struct layers *g, const float *x, size_t n)
{
    return float_grads ? layers_put_float(g, x, n) : layers_put_par(g, x, n);
}
static float *get_grads(struct layers *g, const void *p, size_t n)
{
    return float_grads ? layers_get_float(g, p) : layers_get_par(g, p, n);
}

/* Sizes: none, a few, around a chunk, several chunks; gaps of up to 3 elements. */
static struct model model_open(struct layers *g, int n_tensors, double trust)
{
    const size_t sizes[] = {0, 1, 3, 10, 64, 2047, 2048, 7001, 512, 5};
    struct model m = {.n_tensors = n_tensors,
                      .list = g->run->alloc_pinned(TENSORS * sizeof *m.list)};
    for (int i = 0; i < n_tensors; i++) {
        const size_t n = sizes[(size_t)i % (sizeof sizes / sizeof *sizes)];
        const bool decays = i % 3 != 0;
        const double rate = i % 5 == 0 ? 1.7 : 1;
        m.n += (size_t)i % 4;
        m.cpu[i] = (struct nn_sgd_tensor){m.n, n, rate, decays ? 0x1p-11 : 0, decays ? trust : 0};
        m.list[i] =
            (struct dev_sgd){m.n, n, (float)rate, decays ? 0x1p-11f : 0, decays ? (float)trust : 0};
        m.n += n;
    }
    m.n += 7;
    m.w = layers_random(g, m.n), m.g = layers_random(g, m.n), m.v = layers_random(g, m.n);
    for (size_t i = 0; i < m.n && float_grads; i++)
        m.g[i] *= 1 + 0x1p-15f * (float)(i % 7);
    m.gpu_w = layers_put_par(g, m.w, m.n);
    m.gpu_g = put_grads(g, m.g, m.n);
    m.gpu_v = layers_put_par(g, m.v, m.n);
    m.rate = g->run->alloc_pinned(sizeof *m.rate);
    m.scratch = g->run->alloc((size_t)n_tensors * DEV_SGD_SCRATCH * sizeof *m.scratch);
    return m;
}

static void model_close(struct layers *g, struct model *m)
{
    layers_drop(g);
    g->run->free(m->scratch);
    g->run->free_pinned(m->list);
    g->run->free_pinned(m->rate);
    free(m->w), free(m->g), free(m->v);
}

static void cpu_step(struct layers *g, struct model *m, const struct dev_sgd_all *o, double rate)
{
    static const struct round_rule half = {{5, 10, 0}, MF_INF, 0};
    const struct nn_sgd sgd = {.momentum = (double)o->momentum,
                               .nesterov = o->nesterov,
                               .tensors = m->cpu,
                               .n_tensors = m->n_tensors,
                               .round = g->math == NN_FP16_PURE ? &half : NULL};
    void *plan;
    if (nn_cpu.sgd_plan(g->cpu, &sgd, &plan) < 0)
        exit(1);
    nn_cpu.sgd(g->cpu, plan, 0, m->n_tensors, rate, m->w, m->g, m->v);
    nn_cpu.sgd_close(g->cpu, plan);
}

static void gpu_step(struct layers *g, struct model *m, const struct dev_sgd_all *o, float *scratch)
{
    g->nn->sgd(g->d, o, m->list, m->n_tensors, m->rate, m->gpu_w, m->gpu_g, m->gpu_v, scratch);
}

static void check_same(struct layers *g, struct model *m, const char *what)
{
    layers_same_floats(g, what, layers_get_par(g, m->gpu_w, m->n), m->w, m->n);
    layers_same_floats(g, what, layers_get_par(g, m->gpu_v, m->n), m->v, m->n);
    layers_same_floats(g, what, get_grads(g, m->gpu_g, m->n), m->g, m->n);
}

static void check_sgd(struct layers *g, int n_tensors, bool nesterov, bool with_scratch)
{
    struct model m = model_open(g, n_tensors, 0);
    const struct dev_sgd_all o = {0.875f, nesterov, float_grads};
    for (int step = 0; step < STEPS; step++) {
        *m.rate = 0.1f / (float)(step + 1);
        gpu_step(g, &m, &o, with_scratch ? m.scratch : NULL);
        cpu_step(g, &m, &o, (double)*m.rate);
        g->run->wait(g->s);
    }
    check_same(g, &m, nesterov ? "sgd, nesterov" : "sgd");
    model_close(g, &m);
}

/* One step. The factor is a double rounded to float; the double may differ in its last bits, so the
 * factor by one unit, and what is made of it accordingly. Tensors whose weights or gradients are
 * all zero have the factor 1. */
static void check_lars(struct layers *g)
{
    struct model m = model_open(g, 50, 0x1p-7);
    const struct dev_sgd_all o = {0.875f, true, float_grads};
    for (size_t i = 0; i < m.cpu[5].n; i++)
        m.w[m.cpu[5].offset + i] = 0;
    for (size_t i = 0; i < m.cpu[7].n; i++)
        m.g[m.cpu[7].offset + i] = 0;
    m.gpu_w = layers_put_par(g, m.w, m.n);
    m.gpu_g = put_grads(g, m.g, m.n);
    float *was = layers_memory(m.n * sizeof *was);
    memcpy(was, m.w, m.n * sizeof *was);
    *m.rate = 0.5f;
    gpu_step(g, &m, &o, m.scratch);
    cpu_step(g, &m, &o, 0.5);
    float *w = layers_get_par(g, m.gpu_w, m.n), *v = layers_get_par(g, m.gpu_v, m.n);
    size_t equal = 0;
    for (size_t i = 0; i < m.n; i++) {
        const double bound =
            (g->math == NN_FP16_PURE ? 0x1p-10 : 0x1p-23) *
            (fabs((double)m.w[i]) + 2 * fabs((double)m.v[i]) + fabs((double)was[i]));
        equal += w[i] == m.w[i] && v[i] == m.v[i];
        CHECK(fabs((double)w[i] - (double)m.w[i]) <= bound &&
                  fabs((double)v[i] - (double)m.v[i]) <= bound,
              "lars: [%zu] %.9g %.9g, want %.9g %.9g", i, (double)w[i], (double)v[i],
              (double)m.w[i], (double)m.v[i]);
    }
    printf("lars: %zu of %zu bit-equal\n", equal, m.n);
    free(was), free(w), free(v);
    model_close(g, &m);
}

/* A step in a graph, played with other rates than the one it was recorded with. */
static void check_graph(struct layers *g)
{
    struct model m = model_open(g, 30, 0);
    const struct dev_sgd_all o = {0.875f, false, float_grads};
    struct dev_graph *graph;
    *m.rate = 7;
    if (g->run->graph_begin(g->s) < 0)
        exit(1);
    gpu_step(g, &m, &o, m.scratch);
    if (g->run->graph_end(g->s, &graph) < 0)
        exit(1);
    for (int step = 0; step < STEPS; step++) {
        *m.rate = 0.25f / (float)(step + 1);
        g->run->graph_launch(graph, g->s);
        g->run->wait(g->s);
        cpu_step(g, &m, &o, (double)*m.rate);
    }
    check_same(g, &m, "sgd in a graph");
    g->run->graph_close(graph);
    model_close(g, &m);
}

/* Sums of gradients, in place and not, of any length. */
static void check_add_divide(struct layers *g, size_t n, bool two)
{
    float *a = layers_random(g, n), *b = layers_random(g, n);
    void *gpu_a = layers_put_par(g, a, n), *gpu_b = layers_put_par(g, b, n);
    for (int step = 1; step <= STEPS; step++) {
        g->nn->add_divide(g->d, n, gpu_a, two ? gpu_b : NULL, (float)step,
                          step > 1 ? gpu_a : gpu_b);
        float *to = step > 1 ? a : b;
        nn_cpu.add_divide(g->cpu, n, a, two ? b : NULL, (float)step, to);
        for (size_t i = 0; i < n; i++)
            to[i] = layers_round_par(g, to[i]);
    }
    g->run->wait(g->s);
    layers_same_floats(g, "add_divide, a", layers_get_par(g, gpu_a, n), a, n);
    layers_same_floats(g, "add_divide, b", layers_get_par(g, gpu_b, n), b, n);
    layers_drop(g);
    free(a), free(b);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 44);
    for (int pure = 0; pure < 3; pure++) {
        layers_math(&g, pure ? NN_FP16_PURE : NN_FP32);
        float_grads = pure == 2;
        for (g.skew = 0; g.skew < 2; g.skew++) {
            check_sgd(&g, 1, false, false);
            check_sgd(&g, 2, true, false);
            check_sgd(&g, TENSORS, false, false);
            check_sgd(&g, 257, true, true);
            check_lars(&g);
            check_add_divide(&g, 7001, true);
            check_add_divide(&g, 255, false);
        }
        g.skew = 0;
        check_graph(&g);
    }
    layers_close(&g);
    DONE();
}
