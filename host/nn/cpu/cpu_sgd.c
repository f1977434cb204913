/* cpu_sgd.c : one optimiser step over a list of tensors, a single pass each; LARS first takes the
 * norms. In narrow numbers it is done block by block, an operation at a time, and rounded behind
 * each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
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

/* The factor of LARS (You, Gitman, Ginsburg 2017, eq. 6) on gradient and decay; 1 where a norm is
 * zero. */
static double local_rate(const struct nn_sgd_tensor *o, size_t n, const real *w, const real *g)
{
    double w_norm = norm2(n, w), g_norm = norm2(n, g);
    if (w_norm == 0 || g_norm == 0)
        return 1;
    return o->trust * w_norm / (g_norm + o->weight_decay * w_norm);
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

/* ---- the same, each result rounded ---- */

enum { SGD_BLOCK = 1024 }; /* of elements, which stay in the nearest cache */

/* y = k * x */
CPU_HOT static void times(size_t n, real k, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = k * x[i];
}

/* y = a + k * b, k = 1 or -1 */
CPU_HOT static void plus(size_t n, const real *a, real k, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + k * b[i];
}

static void round_times(const struct round_rule *rule, size_t n, real k, const real *x, real *y)
{
    times(n, k, x, y);
    cpu_round_to(NULL, n, rule, y, y);
}

static void round_plus(const struct round_rule *rule, size_t n, const real *a, real k,
                       const real *b, real *y)
{
    plus(n, a, k, b, y);
    cpu_round_to(NULL, n, rule, y, y);
}

static void update_block(const struct round_rule *rule, struct rates r, bool nesterov, size_t n,
                         real *w, const real *g, real *v)
{
    real d[SGD_BLOCK], u[SGD_BLOCK];
    round_times(rule, n, r.decay, w, d);
    round_plus(rule, n, g, 1, d, d);
    if (r.local != 1)
        round_times(rule, n, r.local, d, d);
    round_times(rule, n, r.momentum, v, v);
    round_plus(rule, n, v, 1, d, v);
    memcpy(u, v, n * sizeof *u);
    if (nesterov) {
        round_times(rule, n, r.momentum, v, u);
        round_plus(rule, n, d, 1, u, u);
    }
    round_times(rule, n, r.lr, u, u);
    round_plus(rule, n, w, -1, u, w);
}

static void update_rounded(const struct round_rule *rule, struct rates r, bool nesterov, size_t n,
                           real *w, const real *g, real *v)
{
    real factors[] = {r.local, r.lr, r.momentum, r.decay};
    cpu_round_to(NULL, 4, rule, factors, factors);
    const struct rates rounded = {factors[0], factors[1], factors[2], factors[3]};
    for (size_t at = 0; at < n; at += SGD_BLOCK)
        update_block(rule, rounded, nesterov, n - at < SGD_BLOCK ? n - at : SGD_BLOCK, w + at,
                     g + at, v + at);
}

struct plan {
    struct nn_sgd o;
    struct nn_sgd_tensor tensors[];
};

int cpu_sgd_plan(void *ctx, const struct nn_sgd *o, void **out)
{
    (void)ctx;
    const size_t bytes = (size_t)o->n_tensors * sizeof *o->tensors;
    struct plan *p = malloc(sizeof *p + bytes);
    if (!p)
        return ERR(-ENOMEM, "cannot plan the steps of %d tensors: no memory", o->n_tensors);
    p->o = *o;
    p->o.tensors = p->tensors;
    if (o->n_tensors > 0)
        memcpy(p->tensors, o->tensors, bytes);
    *out = p;
    return 0;
}

void cpu_sgd_close(void *ctx, void *plan)
{
    (void)ctx;
    free(plan);
}

void cpu_sgd(void *ctx, void *plan, int first, int n, double lr, real *w, const real *g, real *v)
{
    (void)ctx;
    const struct nn_sgd *o = &((const struct plan *)plan)->o;
    for (const struct nn_sgd_tensor *t = o->tensors + first; t < o->tensors + first + n; t++) {
        const double local = t->trust > 0 ? local_rate(t, t->n, w + t->offset, g + t->offset) : 1;
        const struct rates r = {(real)local, (real)lr * (real)t->rate, (real)o->momentum,
                                (real)t->weight_decay};
        if (o->round)
            update_rounded(o->round, r, o->nesterov, t->n, w + t->offset, g + t->offset,
                           v + t->offset);
        else
            update(r, o->nesterov, t->n, w + t->offset, g + t->offset, v + t->offset);
    }
}
