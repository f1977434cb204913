/* test_nn_pure_sgd.c : the optimiser's step in pure fp16 has a slow transcription's bits. */
#include "check.h"
#include "nn/optim/optim.h"
#include "nn_pure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3000 };

static float slow_step(const struct optim_options *o, float local, float lr, float w, float g,
                       float *v)
{
    const float mu = half_of(o->momentum);
    float d = half_of((double)(g + half_of((double)(half_of(o->weight_decay) * w))));
    d = half_of((double)(half_of((double)local) * d));
    *v = half_of((double)(half_of((double)(mu * *v)) + d));
    const float u = o->nesterov ? half_of((double)(d + half_of((double)(mu * *v)))) : *v;
    return half_of((double)(w - half_of((double)(half_of((double)lr) * u))));
}

static double norm(const real *x)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static void check_optim(struct optim_options o)
{
    static real w[N], g[N];
    static float slow_w[N], slow_v[N];
    const struct round_setup round = pure_setup();
    const struct nn_setup setup = {.round = &round};
    const struct nn_param param = {.name = "w", .n = N, .decay = true, .column = N, .stride = 1};
    struct optim *optim;
    void *ctx;
    if (nn_round.open(&setup, &ctx) < 0 || optim_open(&nn_round, ctx, &o, &param, 1, N, &optim) < 0)
        exit(1);
    memset(slow_v, 0, sizeof slow_v);
    for (int i = 0; i < N; i++)
        w[i] = (real)(slow_w[i] = half_of((double)uniform(1, (uint64_t)i)));
    for (int step = 0; step < 4; step++) {
        const double lr = 0.1 / (1 << 2 * step);
        size_t bad = 0;
        for (int i = 0; i < N; i++)
            g[i] = (real)half_of((double)ldexpf(uniform(2, (uint64_t)(step * N + i)), -(i % 16)));
        const double local =
            o.kind == OPTIM_lars
                ? o.trust * norm(w) / (norm(g) + (double)(real)o.weight_decay * norm(w))
                : 1;
        for (int i = 0; i < N; i++)
            slow_w[i] = slow_step(&o, (float)local, (float)lr, slow_w[i], (float)g[i], &slow_v[i]);
        optim_step(optim, w, g, lr);
        const real *v = optim_state(optim, 0);
        for (int i = 0; i < N; i++)
            bad += (float)w[i] != slow_w[i] || (float)v[i] != slow_v[i];
        CHECK(bad == 0, "%s nesterov %d momentum %g decay %g, step %d: %zu of %d differ",
              optimisers[o.kind].name, o.nesterov, o.momentum, o.weight_decay, step, bad, N);
    }
    optim_close(optim);
    nn_round.close(ctx);
}

int main(void)
{
    puts("seeds: weights 1, gradients 2");
    for (int how = 0; how < 16; how++)
        check_optim((struct optim_options){.kind = how & 1 ? OPTIM_lars : OPTIM_sgd,
                                           .nesterov = how & 2,
                                           .momentum = how & 4 ? 0.9 : 0,
                                           .weight_decay = how & 8 ? 0.05 : 0,
                                           .trust = 0.01,
                                           .bias_rate = 1});
    DONE();
}
