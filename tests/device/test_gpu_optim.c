/* test_gpu_optim.c : optimiser steps have nn_cpu's bits, in floats and halves; LARS up to the
 * rounding of one factor. */
#include "gpu_layers.h"
#include "nn/optim/optim.h"

enum { TENSORS = 300, STEPS = 3 };

struct model {
    struct optim_tensor cpu[TENSORS], *list;
    struct optim_step *step;
    int n_tensors;
    size_t n; /* elements, with gaps between tensors */
    float *w, *g, *state[OPTIM_STATES], *scratch;
    void *gpu_w, *gpu_g, *gpu_state[OPTIM_STATES];
};

static bool float_grads;

static void *put_grads(struct layers *g, const float *x, size_t n)
{
    return float_grads ? layers_put_float(g, x, n) : layers_put_par(g, x, n);
}
static float *get_grads(struct layers *g, const void *p, size_t n)
{
    return float_grads ? layers_get_float(g, p) : layers_get_par(g, p, n);
}

static struct model model_open(struct layers *g, int n_tensors)
{
    const size_t sizes[] = {0, 1, 3, 10, 64, 2047, 2048, 7001, 512, 5};
    struct model m = {.n_tensors = n_tensors,
                      .list = g->run->alloc_pinned(TENSORS * sizeof *m.list),
                      .step = g->run->alloc_pinned(sizeof *m.step)};
    for (int i = 0; i < n_tensors; i++) {
        const size_t n = sizes[(size_t)i % (sizeof sizes / sizeof *sizes)];
        const bool decays = i % 3 != 0;
        m.n += (size_t)i % 4;
        m.list[i] = m.cpu[i] =
            (struct optim_tensor){m.n, n, i % 5 == 0 ? 1.7 : 1, decays ? 0x1p-11 : 0, decays};
        m.n += n;
    }
    m.n += 7;
    m.w = layers_random(g, m.n), m.g = layers_random(g, m.n);
    for (size_t i = 0; i < m.n && float_grads; i++)
        m.g[i] *= 1 + 0x1p-15f * (float)(i % 7);
    m.gpu_w = layers_put_par(g, m.w, m.n);
    m.gpu_g = put_grads(g, m.g, m.n);
    for (int i = 0; i < OPTIM_STATES; i++) {
        m.state[i] = layers_random(g, m.n);
        m.gpu_state[i] = layers_put_par(g, m.state[i], m.n);
    }
    m.scratch = g->run->alloc((size_t)n_tensors * DEV_OPTIM_SCRATCH * sizeof *m.scratch);
    return m;
}

static void model_close(struct layers *g, struct model *m)
{
    layers_drop(g);
    g->run->free(m->scratch);
    g->run->free_pinned(m->list);
    g->run->free_pinned(m->step);
    free(m->w), free(m->g);
    for (int i = 0; i < OPTIM_STATES; i++)
        free(m->state[i]);
}

static struct optim_options options(enum optim_kind kind, bool nesterov)
{
    return (struct optim_options){.kind = kind,
                                  .real_grads = float_grads,
                                  .momentum = 0.875,
                                  .nesterov = nesterov,
                                  .trust = 0x1p-7,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-6};
}

static void cpu_step(struct layers *g, struct model *m, const struct optim_options *o)
{
    static const struct round_rule half = {{5, 10, 0}, MF_INF, 0};
    const struct nn_optim how = {.o = *o,
                                 .tensors = m->cpu,
                                 .n_tensors = m->n_tensors,
                                 .round = g->math == NN_FP16_PURE ? &half : NULL};
    void *plan;
    if (nn_cpu.optim_plan(g->cpu, &how, &plan) < 0)
        exit(1);
    nn_cpu.optim(g->cpu, plan, 0, m->n_tensors, m->step, m->w, m->g, m->state);
    nn_cpu.optim_close(g->cpu, plan);
}

static void gpu_step(struct layers *g, struct model *m, const struct optim_options *o)
{
    g->nn->optim[o->kind](g->d, o, m->list, m->n_tensors, m->step, m->gpu_w, m->gpu_g, m->gpu_state,
                          m->scratch);
}

static struct optim_step step_at(int k, double lr)
{
    return (struct optim_step){.lr = lr, .mean = 10.0 / (k + 1), .root = 31.622776 / (k + 1)};
}

static void check_same(struct layers *g, struct model *m, const char *what)
{
    layers_same_floats(g, what, layers_get_par(g, m->gpu_w, m->n), m->w, m->n);
    layers_same_floats(g, what, get_grads(g, m->gpu_g, m->n), m->g, m->n);
    for (int i = 0; i < OPTIM_STATES; i++)
        layers_same_floats(g, what, layers_get_par(g, m->gpu_state[i], m->n), m->state[i], m->n);
}

static void check_steps(struct layers *g, enum optim_kind kind, int n_tensors, bool nesterov)
{
    struct model m = model_open(g, n_tensors);
    const struct optim_options o = options(kind, nesterov);
    for (int k = 0; k < STEPS; k++) {
        *m.step = step_at(k, 0.1 / (k + 1));
        gpu_step(g, &m, &o);
        cpu_step(g, &m, &o);
        g->run->wait(g->s);
    }
    check_same(g, &m, optimisers[kind].name);
    model_close(g, &m);
}

/* The factor is a double rounded to float; last bits of the double may change it by one unit.
 * Tensors whose weights or gradients are all zero have the factor 1. */
static void check_lars(struct layers *g)
{
    struct model m = model_open(g, 50);
    const struct optim_options o = options(OPTIM_lars, true);
    for (size_t i = 0; i < m.cpu[5].n; i++)
        m.w[m.cpu[5].offset + i] = 0;
    for (size_t i = 0; i < m.cpu[7].n; i++)
        m.g[m.cpu[7].offset + i] = 0;
    m.gpu_w = layers_put_par(g, m.w, m.n);
    m.gpu_g = put_grads(g, m.g, m.n);
    float *was = layers_memory(m.n * sizeof *was);
    memcpy(was, m.w, m.n * sizeof *was);
    *m.step = step_at(0, 0.5);
    gpu_step(g, &m, &o);
    cpu_step(g, &m, &o);
    float *w = layers_get_par(g, m.gpu_w, m.n), *v = layers_get_par(g, m.gpu_state[0], m.n);
    const float *want_v = m.state[0];
    size_t equal = 0;
    for (size_t i = 0; i < m.n; i++) {
        const double bound =
            (g->math == NN_FP16_PURE ? 0x1p-10 : 0x1p-23) *
            (fabs((double)m.w[i]) + 2 * fabs((double)want_v[i]) + fabs((double)was[i]));
        equal += w[i] == m.w[i] && v[i] == want_v[i];
        CHECK(fabs((double)w[i] - (double)m.w[i]) <= bound &&
                  fabs((double)v[i] - (double)want_v[i]) <= bound,
              "lars: [%zu] %.9g %.9g, want %.9g %.9g", i, (double)w[i], (double)v[i],
              (double)m.w[i], (double)want_v[i]);
    }
    printf("lars: %zu of %zu bit-equal\n", equal, m.n);
    free(was), free(w), free(v);
    model_close(g, &m);
}

static void check_graph(struct layers *g, enum optim_kind kind)
{
    struct model m = model_open(g, 30);
    const struct optim_options o = options(kind, false);
    struct dev_graph *graph;
    *m.step = step_at(9, 7);
    if (g->run->graph_begin(g->s) < 0)
        exit(1);
    gpu_step(g, &m, &o);
    if (g->run->graph_end(g->s, &graph) < 0)
        exit(1);
    for (int k = 0; k < STEPS; k++) {
        *m.step = step_at(k, 0.25 / (k + 1));
        g->run->graph_launch(graph, g->s);
        g->run->wait(g->s);
        cpu_step(g, &m, &o);
    }
    check_same(g, &m, "a step in a graph");
    g->run->graph_close(graph);
    model_close(g, &m);
}

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
            check_steps(&g, OPTIM_sgd, 1, false);
            check_steps(&g, OPTIM_sgd, 2, true);
            check_steps(&g, OPTIM_sgd, TENSORS, false);
            check_steps(&g, OPTIM_sgd, 257, true);
            for (int kind = 0; kind < N_OPTIMISERS; kind++)
                if (kind != OPTIM_lars)
                    check_steps(&g, (enum optim_kind)kind, 40, false);
            check_lars(&g);
            check_add_divide(&g, 7001, true);
            check_add_divide(&g, 255, false);
        }
        g.skew = 0;
        check_graph(&g, OPTIM_sgd);
        check_graph(&g, OPTIM_adamw);
    }
    layers_close(&g);
    DONE();
}
