/* cpu_sgd.c : steps SGD and LARS in one pass over each tensor, or block by block if rounded. */
#include <math.h>
#include <string.h>
#include "nn/cpu/cpu_ops.h"

static double norm2(size_t n, const real *x)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; j++)
            sum[j] += (double)x[i + j] * (double)x[i + j];
    for (; i < n; i++)
        sum[0] += (double)x[i] * (double)x[i];
    return sqrt(((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

/* Return LARS's factor on gradient and decay (You, Gitman, Ginsburg 2017, eq. 6). */
static double local_rate(const struct cpu_part *p)
{
    double w_norm = norm2(p->t->n, p->w), g_norm = norm2(p->t->n, p->g);
    if (w_norm == 0 || g_norm == 0)
        return 1;
    return p->how->o.trust * w_norm / (g_norm + p->t->weight_decay * w_norm);
}

struct rates {
    real local, lr, momentum, decay;
};

CPU_HOT static void update(struct rates r, bool nesterov, size_t n, real *restrict w,
                           const real *restrict g, real *restrict v)
{
    for (size_t i = 0; i < n; i++) {
        real d = r.local * (g[i] + r.decay * w[i]);
        v[i] = r.momentum * v[i] + d;
        w[i] -= r.lr * (nesterov ? d + r.momentum * v[i] : v[i]);
    }
}

static void update_block(const struct round_rule *rule, struct rates r, bool nesterov, size_t n,
                         real *w, const real *g, real *v)
{
    real d[OPTIM_BLOCK], u[OPTIM_BLOCK];
    cpu_step_times(rule, n, r.decay, w, d);
    cpu_step_plus(rule, n, g, 1, d, d);
    if (r.local != 1)
        cpu_step_times(rule, n, r.local, d, d);
    cpu_step_times(rule, n, r.momentum, v, v);
    cpu_step_plus(rule, n, v, 1, d, v);
    memcpy(u, v, n * sizeof *u);
    if (nesterov) {
        cpu_step_times(rule, n, r.momentum, v, u);
        cpu_step_plus(rule, n, d, 1, u, u);
    }
    cpu_step_times(rule, n, r.lr, u, u);
    cpu_step_plus(rule, n, w, -1, u, w);
}

static void update_rounded(const struct round_rule *rule, struct rates r, bool nesterov, size_t n,
                           real *w, const real *g, real *v)
{
    real factors[] = {r.local, r.lr, r.momentum, r.decay};
    cpu_round_to(NULL, 4, rule, factors, factors);
    const struct rates rounded = {factors[0], factors[1], factors[2], factors[3]};
    for (size_t at = 0; at < n; at += OPTIM_BLOCK)
        update_block(rule, rounded, nesterov, n - at < OPTIM_BLOCK ? n - at : OPTIM_BLOCK, w + at,
                     g + at, v + at);
}

static void step_at(const struct cpu_part *p, double local)
{
    const struct optim_options *o = &p->how->o;
    const struct rates r = {(real)local, (real)p->step->lr * (real)p->t->rate, (real)o->momentum,
                            (real)p->t->weight_decay};
    if (p->how->round)
        update_rounded(p->how->round, r, o->nesterov, p->t->n, p->w, p->g, p->state[0]);
    else
        update(r, o->nesterov, p->t->n, p->w, p->g, p->state[0]);
}

void cpu_sgd(const struct cpu_part *p)
{
    step_at(p, 1);
}

void cpu_lars(const struct cpu_part *p)
{
    step_at(p, p->t->decays && p->how->o.trust > 0 ? local_rate(p) : 1);
}
