/* test_nn_grad_attention.c : compares self-attention, in double, with its equations (layers.def),
 * and its gradients with central differences. */
#include "nn_grad.h"

/* p and ds, one after the other, in l->scratch; then the backend's scratch. g.in.h: steps,
 * g.k: heads, g.out.c: their channels. */
static struct nn_attention shape_of(const struct layer *l)
{
    return (struct nn_attention){l->g.in.h, l->g.k, l->g.out.c};
}

static size_t n_shares(const struct layer *l)
{
    return (size_t)l->batch * (size_t)l->g.k * (size_t)l->g.in.h * (size_t)l->g.in.h;
}

static void attention_y(struct layer *l)
{
    const struct nn_attention f = shape_of(l);
    double *p = l->scratch;
    nn_cpu.attention_shares(l->ctx, &f, l->batch, l->vars[0].v, p, p + 2 * n_shares(l));
    nn_cpu.attention_mix(l->ctx, &f, l->batch, l->vars[0].v, p, l->y);
}

static void attention_d(struct layer *l)
{
    const struct nn_attention f = shape_of(l);
    double *p = l->scratch, *ds = p + n_shares(l);
    nn_cpu.attention_shares_back(l->ctx, &f, l->batch, l->vars[0].v, p, l->dy, ds,
                                 ds + n_shares(l));
    nn_cpu.attention_back(l->ctx, &f, l->batch, l->vars[0].v, p, ds, l->dy, l->vars[0].d);
}

/* Writes y of one step and head. x: the sample's. */
static void by_equations(const struct nn_attention *f, int h, int t, const double *x, double *y)
{
    const int d = f->wide, all = f->heads * d;
    double z[200], sum = 0, top = -INFINITY;
    const double slope = pow(2, -8.0 * (h + 1) / f->heads);
    for (int s = 0; s <= t; s++) {
        double dot = 0;
        for (int i = 0; i < d; i++)
            dot += x[t * 3 * all + h * d + i] * x[s * 3 * all + all + h * d + i];
        z[s] = dot / sqrt(d) - slope * (t - s);
        top = fmax(top, z[s]);
    }
    for (int s = 0; s <= t; s++)
        sum += exp(z[s] - top);
    for (int i = 0; i < d; i++) {
        y[i] = 0;
        for (int s = 0; s <= t; s++)
            y[i] += exp(z[s] - top) / sum * x[s * 3 * all + 2 * all + h * d + i];
    }
}

static void check_equations(struct layer *l)
{
    const struct nn_attention f = shape_of(l);
    const int all = f.heads * f.wide;
    double worst = 0, y[40];
    l->forward(l);
    for (int b = 0; b < l->batch; b++)
        for (int t = 0; t < f.steps; t++)
            for (int h = 0; h < f.heads; h++) {
                by_equations(&f, h, t, l->vars[0].v + (size_t)b * (size_t)(f.steps * 3 * all), y);
                for (int i = 0; i < f.wide; i++) {
                    const size_t at = (size_t)((b * f.steps + t) * all + h * f.wide + i);
                    worst = check_max(worst, fabs(l->y[at] - y[i]));
                }
            }
    CHECK(worst < 1e-12, "%s: y is off by %g", l->name, worst);
}

/* factor: on x, so that scores differ by more than SQUASH_END. Then only y is checked. */
static void check_attention(void *ctx, struct nn_attention f, int batch, double factor)
{
    struct layer l = {.batch = batch,
                      .ctx = ctx,
                      .g = {.in.h = f.steps, .k = f.heads, .out.c = f.wide},
                      .forward = attention_y,
                      .backward = attention_d};
    size_t bytes;
    const size_t rows = (size_t)(batch * f.steps), c = (size_t)(f.heads * f.wide);
    snprintf(l.name, sizeof l.name, "attention of %d samples, %d steps, %d heads of %d", batch,
             f.steps, f.heads, f.wide);
    nn_cpu.attention_plan(ctx, &f, batch, &bytes);
    l.scratch = buf_alloc(2 * n_shares(&l) * sizeof(double) + bytes);
    if (!l.scratch)
        exit(1);
    add_var(&l, rows * 3 * c, 1);
    for (size_t i = 0; i < l.vars[0].n; i++)
        l.vars[0].v[i] *= factor;
    set_output(&l, rows * c);
    check_equations(&l);
    if (factor == 1)
        check_layer(&l);
    close_layer(&l);
}

int main(void)
{
    void *ctx = open_cpu();
    for (int heads = 1; heads <= ATTENTION_FALL; heads *= 2) {
        check_attention(ctx, (struct nn_attention){1, heads, 3}, 2, 1);
        check_attention(ctx, (struct nn_attention){5, heads, 1}, 3, 1);
        check_attention(ctx, (struct nn_attention){33, heads, 4}, 1, 1);
    }
    check_attention(ctx, (struct nn_attention){64, 2, 8}, 2, 1);
    check_attention(ctx, (struct nn_attention){100, 4, 32}, 1, 1);
    check_attention(ctx, (struct nn_attention){70, 8, 5}, 2, 4);
    close_cpu(ctx);
    DONE();
}
