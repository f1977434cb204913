/* cpu_adamw.c : steps AdamW block by block. With a rule each operation is rounded; updating a
 * running mean is one operation. */
#include <math.h>
#include "nn/cpu/cpu_ops.h"

/* The mean of squares is stored as its root. Values whose squares may overflow
 * fp32 are scaled down first. */
CPU_HOT static void means(const struct optim_options *o, size_t n, const real *g, real *m, real *s)
{
    const real b1 = (real)o->beta1, c1 = (real)(1 - o->beta1);
    const real b2 = (real)o->beta2, c2 = (real)(1 - o->beta2);
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + c1 * g[i];
        const bool large = s[i] > ADAMW_LARGE || g[i] > ADAMW_LARGE || g[i] < -ADAMW_LARGE;
        const real down = large ? ADAMW_DOWN : 1, up = large ? 1 / ADAMW_DOWN : 1;
        const real x = s[i] * down, y = g[i] * down;
        s[i] = up * (real)sqrt((double)(b2 * (x * x) + c2 * (y * y)));
    }
}

/* y = x / (y + k), rounded twice. */
CPU_HOT static void divided(const struct round_rule *rule, size_t n, const real *x, real k, real *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += k;
    cpu_step_round(rule, n, y);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / y[i];
    cpu_step_round(rule, n, y);
}

void cpu_adamw(const struct cpu_part *p)
{
    enum { MEAN, ROOT, EPS, DECAY, RATE, FACTORS };
    const struct round_rule *rule = p->how->round;
    const struct optim_step *step = p->step;
    real k[FACTORS] = {(real)step->mean, (real)step->root, (real)p->how->o.eps,
                       (real)p->t->weight_decay, (real)step->lr * (real)p->t->rate};
    real mean[OPTIM_BLOCK], d[OPTIM_BLOCK], decay[OPTIM_BLOCK];
    cpu_step_round(rule, FACTORS, k);
    for (size_t at = 0, n; at < p->t->n; at += n) {
        real *w = p->w + at, *m = p->state[0] + at, *s = p->state[1] + at;
        n = p->t->n - at < OPTIM_BLOCK ? p->t->n - at : OPTIM_BLOCK;
        means(&p->how->o, n, p->g + at, m, s);
        cpu_step_round(rule, n, m);
        cpu_step_round(rule, n, s);
        cpu_step_times(rule, n, k[MEAN], m, mean);
        cpu_step_times(rule, n, k[ROOT], s, d);
        divided(rule, n, mean, k[EPS], d);
        cpu_step_times(rule, n, k[DECAY], w, decay);
        cpu_step_plus(rule, n, d, 1, decay, d);
        cpu_step_times(rule, n, k[RATE], d, d);
        cpu_step_plus(rule, n, w, -1, d, w);
    }
}
