/* test_nn_adamw.c : compares AdamW with a slow definition, with PyTorch's formula, and in halves
 * with a slow transcription. */
#include "check.h"
#include "nn/optim/optim.h"
#include "nn_pure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARAMS = 3, N = 3021, STEPS = 12 };

static const struct nn_param params[N_PARAMS] = {
    {.name = "a.weight", .offset = 0, .n = 3003, .decay = true},
    {.name = "a.bias", .offset = 3003, .n = 17, .bias = true},
    {.name = "b.weight", .offset = 3020, .n = 1, .decay = true},
};

static const struct optim_options usual = {.kind = OPTIM_adamw,
                                           .weight_decay = 0.01,
                                           .bias_rate = 1,
                                           .beta1 = 0.9,
                                           .beta2 = 0.999,
                                           .eps = 1e-8};

struct side {
    const struct nn_ops *ops;
    void *ctx;
    struct optim *optim;
    real w[N], g[N];
};

static void side_open(struct side *s, const struct nn_ops *ops, const struct optim_options *o,
                      const struct nn_param *list, int n_params)
{
    const struct round_setup round = pure_setup();
    const struct nn_setup setup = {.round = &round};
    s->ops = ops;
    if (ops->open(ops == &nn_round ? &setup : NULL, &s->ctx) < 0 ||
        optim_open(ops, s->ctx, o, list, n_params, N, &s->optim) < 0)
        exit(1);
    CHECK(optim_n_states(s->optim) == 2 && !optim_update(s->optim), "states");
    for (size_t i = 0; i < N; i++)
        s->w[i] = (real)half_of((double)uniform(1, i));
}

static void side_close(struct side *s)
{
    optim_close(s->optim);
    s->ops->close(s->ctx);
}

static void grads_of(int step, real *g)
{
    for (size_t i = 0; i < N; i++)
        g[i] = step % 3
                   ? (real)half_of((double)ldexpf(uniform(2, (size_t)step * N + i), -(int)(i % 16)))
                   : 0;
}

/* Algorithm 2 of the paper; its schedule multiplier times alpha is the rate (also of decay). */
static void slow_step(const struct optim_options *o, int t, double *w, const real *g, double *m,
                      double *v, double lr)
{
    for (int k = 0; k < N_PARAMS; k++) {
        const struct nn_param *p = &params[k];
        const double rate = lr * (p->bias ? o->bias_rate : 1);
        for (size_t i = p->offset; i < p->offset + p->n; i++) {
            const double x = (double)g[i];
            m[i] = o->beta1 * m[i] + (1 - o->beta1) * x;
            v[i] = o->beta2 * v[i] + (1 - o->beta2) * x * x;
            const double m_hat = m[i] / (1 - pow(o->beta1, t)),
                         v_hat = v[i] / (1 - pow(o->beta2, t));
            w[i] -=
                rate * (m_hat / (sqrt(v_hat) + o->eps) + (p->decay ? o->weight_decay * w[i] : 0));
        }
    }
}

static void check_double(const struct optim_options *o)
{
    static struct side s;
    static double w[N], m[N], v[N];
    side_open(&s, &nn_cpu, o, params, N_PARAMS);
    memset(m, 0, sizeof m), memset(v, 0, sizeof v);
    for (size_t i = 0; i < N; i++)
        w[i] = (double)s.w[i];
    double worst = 0, worst_state = 0;
    for (int step = 0; step < STEPS; step++) {
        const double lr = 0.1 / (1 + step);
        grads_of(step, s.g);
        optim_step(s.optim, s.w, s.g, lr);
        slow_step(o, step + 1, w, s.g, m, v, lr);
        for (size_t i = 0; i < N; i++)
            worst = check_max(worst, fabs((double)s.w[i] - w[i]));
    }
    for (size_t i = 0; i < N; i++)
        worst_state = check_max(worst_state,
                                check_max(fabs((double)optim_state(s.optim, 0)[i] - m[i]),
                                          fabs((double)optim_state(s.optim, 1)[i] - sqrt(v[i]))));
    /* A step rounds w (at most 2) once and an update (0.1 * at most 3.2) some 10 times. */
    CHECK(worst < STEPS * 4e-7, "beta1 %g decay %g: weights off by %g", o->beta1, o->weight_decay,
          worst);
    CHECK(worst_state < STEPS * 2e-7, "beta1 %g: states off by %g", o->beta1, worst_state);
    side_close(&s);
}

/* Results of torch.optim.AdamW(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2) for four
 * weights. A Python script in doubles computed them from PyTorch's documentation:
 *       w *= 1 - lr * decay; m += (g - m) * (1 - beta1); v = v * beta2 + (1 - beta2) * g * g
 *       w += -(lr / (1 - beta1**t)) * m / (sqrt(v) / sqrt(1 - beta2**t) + eps) */
static void check_torch(void)
{
    static const double want[2][4] = {
        {1.00098999996, -1.99898000008, 0.499995, -0.00099999992},
        {1.00275940473, -1.99994268422, 0.497887287331, -0.00139688881705}};
    static const double start[4] = {1, -2, 0.5, 0};
    static struct side s;
    const struct nn_param four = {.name = "w", .n = 4, .decay = true};
    side_open(&s, &nn_cpu, &usual, &four, 1);
    for (int i = 0; i < 4; i++)
        s.w[i] = (real)start[i];
    for (int t = 1; t <= 10; t++) {
        for (int i = 0; i < 4; i++)
            s.g[i] = (real)((i + 1) * t % 7 - 3) / 8;
        optim_step(s.optim, s.w, s.g, 1e-3);
        for (int i = 0; i < 4 && (t == 1 || t == 10); i++) /* ten roundings of 2 to 1.2e-7 */
            CHECK(fabs((double)s.w[i] - want[t == 10][i]) < t * 1.5e-7,
                  "step %d: weight %d is %.9g, not %.9g", t, i, (double)s.w[i], want[t == 10][i]);
    }
    side_close(&s);
}

static float slow_half(const struct optim_options *o, double mean, double root, double lr, float w,
                       float g, float *m, float *s)
{
    *m = half_of((double)((float)o->beta1 * *m + (float)(1 - o->beta1) * g));
    *s = half_of((double)sqrtf((float)o->beta2 * (*s * *s) + (float)(1 - o->beta2) * (g * g)));
    const float up = half_of((double)(half_of(mean) * *m)),
                down = half_of((double)(half_of(root) * *s));
    float d = half_of((double)(up / half_of((double)(down + half_of(o->eps)))));
    d = half_of((double)(d + half_of((double)(half_of(o->weight_decay) * w))));
    return half_of((double)(w - half_of((double)(half_of(lr) * d))));
}

static void check_halves(void)
{
    static struct side s;
    static float w[N], m[N], root[N];
    struct optim_options o = usual;
    o.eps = 0x1p-24; /* smallest above 0 */
    side_open(&s, &nn_round, &o, params, N_PARAMS);
    for (size_t i = 0; i < N; i++)
        w[i] = (float)s.w[i];
    double power1 = 1, power2 = 1;
    for (int step = 0; step < STEPS; step++) {
        size_t bad = 0;
        const double lr = 0.01 / (1 + step);
        power1 *= o.beta1, power2 *= o.beta2;
        grads_of(step, s.g);
        optim_step(s.optim, s.w, s.g, lr);
        for (size_t i = 0; i < N; i++) {
            struct optim_options own = o;
            own.weight_decay = i >= 3003 && i < 3020 ? 0 : o.weight_decay;
            w[i] = slow_half(&own, 1 / (1 - power1), 1 / sqrt(1 - power2), lr, w[i], (float)s.g[i],
                             &m[i], &root[i]);
            bad += (float)s.w[i] != w[i] || (float)optim_state(s.optim, 0)[i] != m[i] ||
                   (float)optim_state(s.optim, 1)[i] != root[i];
        }
        CHECK(bad == 0, "halves, step %d: %zu of %d differ", step, bad, N);
    }
    side_close(&s);
}

static void check_bits(const struct nn_ops *ops)
{
    static struct side a, b, c;
    static struct nn_param one[N];
    struct optim_options o = usual;
    o.eps = 1e-6;
    for (size_t i = 0; i < N; i++)
        one[i] =
            (struct nn_param){.name = "w", .offset = i, .n = 1, .decay = i < 3003 || i == 3020};
    side_open(&a, ops, &o, params, N_PARAMS);
    side_open(&b, ops, &o, one, N);
    side_open(&c, ops, &o, params, N_PARAMS);
    for (int step = 0; step < 6; step++) {
        grads_of(step, a.g);
        if (step == 3) {
            memcpy(c.w, a.w, sizeof c.w);
            for (int i = 0; i < 2; i++)
                memcpy(optim_state(c.optim, i), optim_state(a.optim, i), sizeof c.w);
            optim_resume(c.optim, 3);
        }
        optim_step(a.optim, a.w, a.g, 0.01);
        optim_step_some(b.optim, 1000, N - 1000, b.w, a.g, 0.01);
        optim_step_some(b.optim, 0, 1000, b.w, a.g, 0.01);
        if (step >= 3)
            optim_step(c.optim, c.w, a.g, 0.01);
    }
    CHECK(!memcmp(a.w, b.w, sizeof a.w), "%s: a tensor ends otherwise than its elements",
          ops->name);
    CHECK(!memcmp(a.w, c.w, sizeof a.w), "%s: a resumed optimiser gives other bits", ops->name);
    side_close(&a), side_close(&b), side_close(&c);
}

/* Squares would overflow; the first step is as long as with other gradients. */
static void check_large(void)
{
    static struct side s;
    static real before[N];
    side_open(&s, &nn_cpu, &usual, params, N_PARAMS);
    memcpy(before, s.w, sizeof before);
    for (size_t i = 0; i < N; i++)
        s.g[i] = i % 2 ? (real)2e38 : (real)-3e19;
    optim_step(s.optim, s.w, s.g, 0.125);
    int bad = 0;
    for (size_t i = 0; i < N; i++)
        bad += !isfinite((double)optim_state(s.optim, 1)[i]) ||
               fabs(fabs((double)(s.w[i] - before[i])) - 0.125) > 0.002;
    CHECK(bad == 0, "large gradients: %d of %d weights", bad, N);
    side_close(&s);
}

int main(void)
{
    puts("seeds: weights 1, gradients 2");
    check_double(&usual);
    check_double(&(struct optim_options){.kind = OPTIM_adamw, .bias_rate = 2, .eps = 1e-3});
    check_double(&(struct optim_options){.kind = OPTIM_adamw,
                                         .weight_decay = 0.5,
                                         .bias_rate = 2,
                                         .beta1 = 0.5,
                                         .beta2 = 0.75,
                                         .eps = 1e-3});
    check_torch();
    check_large();
    check_halves();
    check_bits(&nn_cpu);
    check_bits(&nn_round);
    DONE();
}
