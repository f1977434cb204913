/* test_nn_optim.c : compares optimiser steps with a slow definition in double. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/optim/optim.h"

enum { N_PARAMS = 3, STEPS = 12 };

static const struct nn_param params[N_PARAMS] = {
    {.name = "a.weight", .offset = 0, .n = 1003, .decay = true},
    {.name = "a.bias", .offset = 1003, .n = 17, .bias = true},
    {.name = "b.weight", .offset = 1020, .n = 1, .decay = true},
};
enum { N = 1021 };

static double norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* torch.optim.SGD without dampening. LARS scales d of tensors that decay. */
static void slow_step(const struct optim_options *o, double *w, const double *g, double *v,
                      double lr)
{
    for (int k = 0; k < N_PARAMS; k++) {
        const struct nn_param *p = &params[k];
        double local = 1, decay = p->decay ? o->weight_decay : 0;
        double w_norm = norm(w + p->offset, p->n), g_norm = norm(g + p->offset, p->n);
        if (o->kind == OPTIM_lars && p->decay && w_norm > 0 && g_norm > 0)
            local = o->trust * w_norm / (g_norm + decay * w_norm);
        for (size_t i = p->offset; i < p->offset + p->n; i++) {
            double d = local * (g[i] + decay * w[i]);
            v[i] = o->momentum * v[i] + d;
            if (o->nesterov)
                d = d + o->momentum * v[i];
            else
                d = v[i];
            w[i] = w[i] - lr * (p->bias ? o->bias_rate : 1) * d;
        }
    }
}

static void check_optim(const char *name, struct optim_options o)
{
    static real w[N], g[N];
    static double slow_w[N], slow_g[N], slow_v[N];
    struct optim *optim;
    void *ctx;
    if (nn_cpu.open(NULL, &ctx) < 0 ||
        optim_open(&nn_cpu, ctx, &o, params, N_PARAMS, N, &optim) < 0)
        exit(1);
    memset(slow_v, 0, sizeof slow_v);
    for (size_t i = 0; i < N; i++)
        slow_w[i] = (double)(w[i] = (real)((double)philox_u32(1, i) * 0x1p-31 - 1));
    double worst = 0;
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < N; i++)
            slow_g[i] =
                (double)(g[i] =
                             (real)((double)philox_u32(2, (uint64_t)step * N + i) * 0x1p-31 - 1));
        if (step == 3) /* LARS must survive missing gradients */
            memset(g, 0, sizeof g), memset(slow_g, 0, sizeof slow_g);
        optim_step(optim, w, g, 0.1 / (1 + step));
        slow_step(&o, slow_w, slow_g, slow_v, 0.1 / (1 + step));
        for (size_t i = 0; i < N; i++)
            worst = check_max(worst, fabs((double)w[i] - slow_w[i]));
    }
    const real *v = optim_update(optim);
    CHECK(optim_n_states(optim) == 1 && v == optim_state(optim, 0), "%s: velocities", name);
    for (size_t i = 0; i < N; i++)
        CHECK(fabs((double)v[i] - slow_v[i]) < 4e-6, "%s: velocity %zu is %g, not %g", name, i,
              (double)v[i], slow_v[i]);
    /* A step rounds w (up to 2) and v (up to 10) a few times: some 1e-7 each. */
    CHECK(worst < STEPS * 4e-7, "%s: weights off by %g", name, worst);
    optim_close(optim);
    nn_cpu.close(ctx);
}

static void check_optims(void)
{
    for (int how = 0; how < 32; how++) {
        struct optim_options o = {.kind = how & 1 ? OPTIM_lars : OPTIM_sgd,
                                  .nesterov = how & 2,
                                  .momentum = how & 4 ? 0.9 : 0,
                                  .weight_decay = how & 8 ? 0.05 : 0,
                                  .trust = 0.01,
                                  .bias_rate = how & 16 ? 2 : 1};
        char name[64];
        snprintf(name, sizeof name, "%s nesterov %d momentum %g decay %g biases %g",
                 optimisers[o.kind].name, o.nesterov, o.momentum, o.weight_decay, o.bias_rate);
        check_optim(name, o);
    }
}

static void check_state(void)
{
    static real w[2][N], g[N];
    struct optim_options o = {
        .nesterov = true, .momentum = 0.9, .weight_decay = 0.01, .bias_rate = 1};
    struct optim *a, *b;
    void *ctx;
    if (nn_cpu.open(NULL, &ctx) < 0 || optim_open(&nn_cpu, ctx, &o, params, N_PARAMS, N, &a) < 0 ||
        optim_open(&nn_cpu, ctx, &o, params, N_PARAMS, N, &b) < 0)
        exit(1);
    for (int step = 0; step < 4; step++) {
        for (size_t i = 0; i < N; i++)
            g[i] = (real)((double)philox_u32(2, (uint64_t)step * N + i) * 0x1p-31 - 1);
        if (step == 2) {
            memcpy(w[1], w[0], sizeof w[0]);
            memcpy(optim_state(b, 0), optim_state(a, 0), N * sizeof(real));
        }
        optim_step(a, w[0], g, 0.1);
        if (step < 2)
            continue;
        optim_step_some(b, 1, N_PARAMS - 1, w[1], g, 0.1);
        optim_step_some(b, 0, 1, w[1], g, 0.1);
    }
    CHECK(memcmp(w[0], w[1], sizeof w[0]) == 0, "a resumed optimiser gives other bits");
    optim_close(a);
    optim_close(b);
    nn_cpu.close(ctx);
}

static void check_schedules(void)
{
    static const struct {
        const char *word;
        double warmup, step, want;
    } points[] = {
        {"const", 0, 0, 2},      {"const", 0, 99, 2},         {"const", 10, 0, 0.2},
        {"const", 10, 9, 2},     {"const", 10, 10, 2},        {"const", 2.5, 0, 0.8},
        {"const", 2.5, 2, 2},    {"step", 0, 49, 2},          {"step", 0, 50, 0.2},
        {"step", 0, 74, 0.2},    {"step", 0, 75, 0.02},       {"step", 0, 99, 0.02},
        {"step:0.1", 0, 9, 2},   {"step:0.1", 0, 10, 0.2},    {"step:0.25,0.5,0.75", 0, 80, 0.002},
        {"linear", 0, 0, 2},     {"linear", 0, 50, 1},        {"linear", 0, 99, 0.02},
        {"linear", 0, 100, 0},   {"linear", 20, 19, 2},       {"linear", 20, 20, 2},
        {"linear", 20, 60, 1},   {"linear", 0, 200, 0},       {"cosine", 0, 0, 2},
        {"cosine", 0, 50, 1},    {"cosine", 0, 100, 0},       {"cosine", 0, 25, 1.7071067811865475},
        {"cosine", 20, 60, 1},   {"step", 60, 40, 82.0 / 60}, {"linear", 100, 99, 2},
        {"linear", 100, 100, 0}, {"poly:0.5", 0, 0, 2},       {"poly:0.5", 0, 75, 1},
        {"poly:2", 0, 50, 0.5},  {"poly:1", 20, 60, 1},       {"poly:0.5", 0, 100, 0},
        {"exp:0.5/10", 0, 9, 2}, {"exp:0.5/10", 0, 10, 1},    {"exp:0.5/10", 0, 39, 0.25},
        {"exp:1/1", 0, 50, 2},   {"exp:0.96/20", 5, 4, 2},    {"exp:0.5/10", 25, 25, 0.5},
    };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        struct schedule s = {.lr = 2, .total_steps = 100, .warmup_steps = points[i].warmup};
        CHECK(schedule_parse(points[i].word, &s) == 0, "'%s' refused", points[i].word);
        double lr = schedule_lr(&s, points[i].step);
        CHECK(fabs(lr - points[i].want) < 1e-12, "'%s', warm-up %g, step %g: %.15g, not %g",
              points[i].word, points[i].warmup, points[i].step, lr, points[i].want);
    }
    /* a tenth of the way in each of ten steps */
    struct schedule s = {.lr = 1.6, .total_steps = 100, .warmup_steps = 10, .warmup_from = 0.1};
    CHECK(schedule_parse("const", &s) == 0, "const refused");
    for (int step = 0; step < 12; step++) {
        const double want = step < 10 ? 0.1 + 0.15 * (step + 1) : 1.6;
        CHECK(fabs(schedule_lr(&s, step) - want) < 1e-12, "warm-up from 0.1, step %d: %g, not %g",
              step, schedule_lr(&s, step), want);
    }
}

static void check_refusals(void)
{
    static const char *const bad[] = {"",
                                      "constant",
                                      "step:",
                                      "step:x",
                                      "step:0.5,",
                                      "step:0.5,x",
                                      "step:0",
                                      "step:1",
                                      "step:-1",
                                      "step:0.5,0.5",
                                      "step:0.7,0.5",
                                      "step:nan",
                                      "step:0.5;0.7",
                                      "steps",
                                      "linear ",
                                      "cosine:1",
                                      "poly",
                                      "poly:",
                                      "poly:0",
                                      "poly:-1",
                                      "poly:101",
                                      "poly:1x",
                                      "poly:nan",
                                      "exp",
                                      "exp:",
                                      "exp:0.9",
                                      "exp:0.9/",
                                      "exp:/5",
                                      "exp:0/5",
                                      "exp:1.5/5",
                                      "exp:0.9/0",
                                      "exp:0.9/2.5",
                                      "exp:0.9/5,",
                                      "exp:nan/5",
                                      "exp: 0.9/5",
                                      "exp:0.9/ 5",
                                      "exp:0.9/0x10",
                                      "poly: 2",
                                      "step: 0.5",
                                      "step:0x1p-1",
                                      "step:0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct schedule s, before;
        memset(&s, 0x5a, sizeof s);
        before = s;
        CHECK(schedule_parse(bad[i], &s) == -EINVAL, "'%s' taken", bad[i]);
        CHECK(memcmp(&s, &before, sizeof s) == 0, "'%s': refused, and yet something was written",
              bad[i]);
    }
}

int main(void)
{
    puts("seeds: weights 1, gradients 2");
    check_optims();
    check_state();
    check_schedules();
    check_refusals();
    DONE();
}
