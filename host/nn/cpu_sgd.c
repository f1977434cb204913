/* cpu_sgd.c : one optimiser step over one tensor, in a single pass; LARS first takes the norms. */
#include <math.h>
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

/* The factor of LARS (You, Gitman, Ginsburg 2017, eq. 6) on gradient and decay; 1 where a norm is zero. */
static double local_rate(const struct nn_sgd *o, size_t n, const real *w, const real *g)
{
    double w_norm = norm2(n, w), g_norm = norm2(n, g);
    if (w_norm == 0 || g_norm == 0)
        return 1;
    return o->trust * w_norm / (g_norm + o->weight_decay * w_norm);
}

struct rates {
    real local, lr, momentum, decay;
};

CPU_HOT static void update(struct rates r, bool nesterov, size_t n, real *restrict w, const real *restrict g,
                           real *restrict v)
{
    for (size_t i = 0; i < n; i++) {
        real d = r.local * (g[i] + r.decay * w[i]);
        v[i] = r.momentum * v[i] + d;
        w[i] -= r.lr * (nesterov ? d + r.momentum * v[i] : v[i]);
    }
}

void cpu_sgd(void *ctx, const struct nn_sgd *o, size_t n, real *w, const real *g, real *v)
{
    (void)ctx;
    double local = o->trust > 0 ? local_rate(o, n, w, g) : 1;
    struct rates r = {(real)local, (real)o->lr, (real)o->momentum, (real)o->weight_decay};
    update(r, o->nesterov, n, w, g, v);
}
