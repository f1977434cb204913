/* cpu_sgd.c : one optimiser step over a list of tensors, a single pass each; LARS first takes the
 * norms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/cpu_ops.h"

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
        update(r, o->nesterov, t->n, w + t->offset, g + t->offset, v + t->offset);
    }
}
