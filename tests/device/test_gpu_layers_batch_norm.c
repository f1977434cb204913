/* test_gpu_layers_batch_norm.c : compares batch norm's statistics and gradients with sums in
 * double, and values computed from them to the bit. Small sizes take turns: aligned tensors or
 * unaligned ones, with `long` both. Two large sizes take turns in precision; with `long` each has
 * all.
 *
 * A float operation has a relative error of at most U = 2^-24. rounds(n) is the longest chain of
 * operations on a value: a thread's rows, at the sizes below at most n / 1024 + 8, plus at most 8
 * in the block's reduction. Later steps are in double. */
#include "gpu_layers.h"

#define U 0x1p-24

static double rounds(size_t n)
{
    return (double)n / 1024 + 16;
}

struct norm {
    struct layers *g;
    size_t n;
    int c;
    bool relu, addend;
    float *x, *add, *gamma, *beta, *run_mean, *run_var;
    void *px, *padd, *py, *scratch;
    struct nn_batch_norm f;
};

static struct {
    float factor;
    bool swapped;
} form = {1, false};

enum kind { KIND_PLAIN, KIND_FAR, KIND_EQUAL, KIND_OUTLIER, KINDS };

static void fill(struct norm *t)
{
    for (size_t i = 0; i < t->n * (size_t)t->c; i++) {
        const size_t row = i / (size_t)t->c;
        const enum kind kind = (enum kind)(i % (size_t)t->c % KINDS);
        float v = t->x[i];
        v = kind == KIND_FAR                   ? 1e4f + 2 * v
            : kind == KIND_EQUAL               ? 3.25f
            : kind == KIND_OUTLIER && row == 0 ? 1000
                                               : v;
        t->x[i] = layers_round(t->g->math, v);
    }
}

static float *puts_float(struct layers *g, const float *x, int c)
{
    return layers_put_float(g, x, (size_t)c);
}

static float *puts_par(struct layers *g, const float *x, int c)
{
    return layers_put_par(g, x, (size_t)c);
}

static struct norm norm_open(struct layers *g, size_t n, int c, bool relu, bool addend)
{
    const size_t all = n * (size_t)c;
    struct norm t = {.g = g, .n = n, .c = c, .relu = relu, .addend = addend};
    size_t scratch_bytes;
    t.x = layers_random(g, all);
    t.add = layers_random(g, all);
    t.gamma = layers_random(g, (size_t)c);
    t.beta = layers_random(g, (size_t)c);
    t.run_mean = layers_random(g, (size_t)c);
    t.run_var = layers_random(g, (size_t)c);
    for (int i = 0; i < c; i++)
        t.run_var[i] = layers_round_par(g, fabsf(t.run_var[i]) + 0.1f);
    fill(&t);
    t.px = layers_put(g, t.x, all);
    t.padd = layers_put(g, t.add, all);
    t.py = layers_put(g, t.add, all);
    g->nn->batch_norm_plan(g->d, c, &scratch_bytes);
    char *rubbish = layers_memory(scratch_bytes);
    memset(rubbish, 0x7f, scratch_bytes);
    const size_t skew = g->skew;
    g->skew = 0;
    t.scratch = layers_hold(g, rubbish, 0, scratch_bytes);
    g->skew = skew;
    free(rubbish);
    t.f = (struct nn_batch_norm){.c = c,
                                 .relu = relu,
                                 .addend = addend,
                                 .eps = 1e-5f,
                                 .momentum = 0.1f,
                                 .gamma = puts_par(g, t.gamma, c),
                                 .beta = puts_par(g, t.beta, c),
                                 .run_mean = puts_par(g, t.run_mean, c),
                                 .run_var = puts_par(g, t.run_var, c),
                                 .mean = puts_float(g, t.beta, c),
                                 .inv_std = puts_float(g, t.beta, c),
                                 .factor = form.factor,
                                 .swapped = form.swapped};
    return t;
}

static void norm_close(struct norm *t)
{
    free(layers_fetch(t->g, t->scratch)); /* checks its guard bytes */
    layers_drop(t->g);
    free(t->x), free(t->add), free(t->gamma), free(t->beta), free(t->run_mean), free(t->run_var);
}

static float value(const struct norm *t, size_t i, const float *mean, const float *inv_std)
{
    const size_t c = i % (size_t)t->c;
    const float k = t->f.factor, scale = (t->f.swapped ? 1 : t->gamma[c]) * inv_std[c] * k,
                d = (t->x[i] - mean[c]) * scale;
    if (t->f.swapped)
        return (t->add[i] + d) * t->gamma[c] + t->beta[c];
    return t->addend ? d + t->beta[c] * k + t->add[i] : d + t->beta[c] * k;
}

static void check_values(struct norm *t, const char *what, const float *mean, const float *inv_std)
{
    const size_t all = t->n * (size_t)t->c;
    float *want = layers_memory(all * sizeof *want);
    for (size_t i = 0; i < all; i++) {
        const float v = value(t, i, mean, inv_std);
        want[i] = t->relu && v < 0 ? 0 : v;
    }
    layers_same(t->g, what, t->py, want, all);
    free(want);
}

static void check_near(const struct norm *t, const char *what, int channel, double got, double want,
                       double bound)
{
    CHECK(fabs(got - want) <= bound,
          "%s [%zu][%d] %s of channel %d (kind %d): %.9g, want %.9g, allowed %.3g",
          layers_names[t->g->math], t->n, t->c, what, channel, channel % KINDS, got, want, bound);
}

/* mean, var: in double, by two passes. reach: largest distance from the channel's first value,
 * which the GPU subtracts. */
static void moments(const struct norm *t, int channel, double *mean, double *var, double *reach)
{
    *mean = *var = *reach = 0;
    for (size_t r = 0; r < t->n; r++)
        *mean += (double)t->x[r * (size_t)t->c + (size_t)channel] / (double)t->n;
    for (size_t r = 0; r < t->n; r++) {
        const double x = (double)t->x[r * (size_t)t->c + (size_t)channel];
        *var += (x - *mean) * (x - *mean) / (double)t->n;
        *reach = fmax(*reach, fabs(x - (double)t->x[channel]));
    }
}

static void check_forward(struct layers *g, size_t n, int c, bool relu, bool addend)
{
    struct norm t = norm_open(g, n, c, relu, addend);
    g->nn->batch_norm_forward(g->d, &t.f, n, t.px, addend ? t.padd : NULL, t.py, t.scratch);
    float *mean = layers_get_float(g, t.f.mean), *inv_std = layers_get_float(g, t.f.inv_std);
    float *run_mean = layers_get_par(g, t.f.run_mean, (size_t)c),
          *run_var = layers_get_par(g, t.f.run_var, (size_t)c);
    check_values(&t, "forward", mean, inv_std);
    for (int i = 0; i < c; i++) {
        double m, var, reach;
        moments(&t, i, &m, &var, &reach);
        /* The mean has a few roundings of at most `reach`; a sum of squares is at most n
         * reach^2. */
        const double e = 4 * U * rounds(n) * reach, v = 8 * U * rounds(n) * reach * reach;
        const double unbiased = n > 1 ? (double)n / (double)(n - 1) : 1,
                     std = sqrt(var + (double)t.f.eps);
        const double k = (double)t.f.momentum, was = (double)t.run_mean[i],
                     was_var = (double)t.run_var[i];
        check_near(&t, "mean", i, (double)mean[i], m, e + 1.01 * U * fabs(m));
        check_near(&t, "1/std", i, (double)inv_std[i], 1 / std,
                   v / (std * std * std) + 1.01 * U / std);
        check_near(&t, "running mean", i, (double)run_mean[i], was + k * (m - was),
                   e + 3 * U * (fabs(m) + fabs(was)) + layers_par_half_ulp(g, was + k * (m - was)));
        check_near(&t, "running variance", i, (double)run_var[i],
                   was_var + k * (var * unbiased - was_var),
                   v * unbiased + 3 * U * (var * unbiased + was_var) +
                       layers_par_half_ulp(g, was_var + k * (var * unbiased - was_var)));
        if (i % KINDS == KIND_EQUAL)
            CHECK(mean[i] == 3.25f && inv_std[i] == (float)(1 / sqrt((double)t.f.eps)),
                  "equal values: %g %g", (double)mean[i], (double)inv_std[i]);
    }
    g->nn->batch_norm_eval(g->d, &t.f, n, t.px, addend ? t.padd : NULL, t.py, t.scratch);
    for (int i = 0; i < c; i++)
        inv_std[i] = (float)(1 / sqrt((double)run_var[i] + (double)t.f.eps));
    check_values(&t, "eval", run_mean, inv_std);
    free(mean), free(inv_std), free(run_mean), free(run_var);
    norm_close(&t);
}

struct back {
    double *dy; /* [n][c] after the ReLU */
    /* [c]: sums of dy, of dy * (x - mean), of dy times gamma's factor in the swapped form; then
     * of their magnitudes */
    double *sum, *dot, *mix, *most, *most_dot, *most_mix;
};

static struct back back_open(const struct norm *t, const float *dy, const float *mean,
                             const float *inv_std)
{
    const size_t c = (size_t)t->c, all = t->n * c;
    struct back b = {layers_memory(all * sizeof(double)), layers_memory(c * sizeof(double)),
                     layers_memory(c * sizeof(double)),   layers_memory(c * sizeof(double)),
                     layers_memory(c * sizeof(double)),   layers_memory(c * sizeof(double)),
                     layers_memory(c * sizeof(double))};
    for (size_t i = 0; i < all; i++) {
        const bool passes = !t->relu || layers_round(t->g->math, value(t, i, mean, inv_std)) > 0;
        const double d = (double)t->x[i] - (double)mean[i % c], g = passes ? (double)dy[i] : 0;
        const double inner = (double)t->add[i] + d * (double)inv_std[i % c] * (double)t->f.factor;
        b.dy[i] = g;
        b.mix[i % c] += g * inner;
        b.most_mix[i % c] += fabs(g) * (fabs((double)t->add[i]) + fabs(inner));
        b.sum[i % c] += g;
        b.dot[i % c] += g * d;
        b.most[i % c] += fabs(g);
        b.most_dot[i % c] += fabs(g * d);
    }
    return b;
}

static void back_close(struct back *b)
{
    free(b->dy), free(b->sum), free(b->dot), free(b->mix);
    free(b->most), free(b->most_dot), free(b->most_mix);
}

static double left_in_dy(const struct norm *t, double dy, int channel)
{
    const float outer = t->f.swapped ? t->gamma[channel] : 1;
    return (double)layers_round(t->g->math, outer * (float)dy);
}

/* scale: loss scale, in dy. in_place: dx is dy. */
static void check_backward(struct layers *g, size_t n, int c, bool relu, bool addend, bool in_place,
                           float scale)
{
    struct norm t = norm_open(g, n, c, relu, addend);
    const size_t all = n * (size_t)c;
    float *dy = layers_random(g, all), *k = g->run->alloc_pinned(sizeof *k);
    /* some y are 0 in half precision, but not before rounding */
    for (int i = 0; i < c; i++)
        t.beta[i] = i % KINDS == KIND_EQUAL ? 0x1p-26f : t.beta[i];
    t.f.beta = puts_par(g, t.beta, c);
    g->nn->batch_norm_forward(g->d, &t.f, n, t.px, addend ? t.padd : NULL, t.py, t.scratch);
    void *pdy = layers_put(g, dy, all), *pdx = in_place ? pdy : layers_put(g, dy, all);
    float *dgamma = puts_par(g, t.beta, c), *dbeta = puts_par(g, t.beta, c);
    *k = scale;
    g->nn->loss_scale(g->d, scale == 1 ? NULL : k);
    g->nn->batch_norm_backward(g->d, &t.f, n, t.px, addend ? t.padd : NULL, t.py, pdy, pdx, dgamma,
                               dbeta, t.scratch);
    g->nn->loss_scale(g->d, NULL);

    float *mean = layers_get_float(g, t.f.mean), *inv_std = layers_get_float(g, t.f.inv_std);
    float *got_gamma = layers_get_par(g, dgamma, (size_t)c),
          *got_beta = layers_get_par(g, dbeta, (size_t)c), *dx = layers_get(g, pdx, all);
    struct back b = back_open(&t, dy, mean, inv_std);
    for (int i = 0; i < c; i++) {
        const double inv = (double)inv_std[i], e = U * rounds(n) * b.most[i],
                     e_dot = 3 * U * rounds(n) * b.most_dot[i];
        const bool swapped = t.f.swapped;
        const double factor = (double)t.f.factor, outer = swapped ? (double)t.gamma[i] : 1;
        const double gain = (double)((swapped ? 1 : t.gamma[i]) * inv_std[i] * t.f.factor);
        const double level = b.sum[i] * outer / (double)n;
        const double slope = b.dot[i] * inv * inv * outer / (double)n;
        const double e_level = fabs(outer) * e / (double)n,
                     e_slope = fabs(outer) * e_dot * inv * inv / (double)n;
        const double of_all = swapped ? 1 : factor,
                     want_gamma = swapped ? b.mix[i] : b.dot[i] * inv * of_all;
        const double e_gamma = swapped ? 5 * U * rounds(n) * b.most_mix[i]
                                       : (e_dot + 2 * U * fabs(b.dot[i])) * inv * of_all;
        check_near(&t, "dbeta", i, (double)got_beta[i], b.sum[i] * of_all / (double)scale,
                   (e + 2 * U * fabs(b.sum[i])) * of_all / (double)scale +
                       layers_par_half_ulp(g, b.sum[i] * of_all / (double)scale));
        check_near(&t, "dgamma", i, (double)got_gamma[i], want_gamma / (double)scale,
                   (e_gamma + U * fabs(want_gamma)) / (double)scale +
                       layers_par_half_ulp(g, want_gamma / (double)scale));
        for (size_t r = 0; r < n; r++) {
            const size_t at = r * (size_t)c + (size_t)i;
            const double d = (double)t.x[at] - (double)mean[i], came = left_in_dy(&t, b.dy[at], i),
                         want = gain * (came - level - d * slope);
            const double most = fabs(gain) * (fabs(came) + fabs(level) + fabs(d * slope));
            check_near(&t, "dx", i, (double)dx[at], want,
                       6 * U * most + fabs(gain) * (e_level + fabs(d) * e_slope) +
                           layers_half_ulp(g->math, fmax(fabs(want), fabs((double)dx[at]))));
        }
    }
    if (addend) {
        float *want = layers_memory(all * sizeof *want);
        for (size_t i = 0; i < all; i++)
            want[i] = (float)left_in_dy(&t, b.dy[i], (int)(i % (size_t)c));
        layers_same(g, "gradient of the addend", pdy, want, all);
        free(want);
    }
    back_close(&b);
    free(mean), free(inv_std), free(got_gamma), free(got_beta), free(dx), free(dy);
    g->run->free_pinned(k);
    norm_close(&t);
}

static void check_repeat(struct layers *g, size_t n, int c)
{
    struct norm t = norm_open(g, n, c, true, false);
    g->nn->batch_norm_forward(g->d, &t.f, n, t.px, NULL, t.py, t.scratch);
    float *mean = layers_get_float(g, t.f.mean), *inv_std = layers_get_float(g, t.f.inv_std);
    g->nn->batch_norm_forward(g->d, &t.f, n, t.px, NULL, t.py, t.scratch);
    layers_same_floats(g, "mean again", layers_get_float(g, t.f.mean), mean, (size_t)c);
    layers_same_floats(g, "1/std again", layers_get_float(g, t.f.inv_std), inv_std, (size_t)c);
    free(mean), free(inv_std);
    norm_close(&t);
}

static void check_forms(struct layers *g, size_t n, int c)
{
    form.factor = 0.25f;
    check_forward(g, n, c, true, false);
    check_backward(g, n, c, true, false, true, 1);
    check_backward(g, n, c, true, true, false, 128);
    form.swapped = true;
    check_forward(g, n, c, true, true);
    check_backward(g, n, c, true, true, false, 128);
    form.factor = 1;
    check_forward(g, n, c, false, true);
    check_backward(g, n, c, false, true, false, 1);
    form.swapped = false;
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && !strcmp(argv[1], "long");
    struct layers g;
    const struct {
        size_t n;
        int c;
    } sizes[] = {{1, 3},     {2, 10},    {100, 1}, {1000, 3}, {333, 10},
                 {2049, 64}, {37, 2048}, {1, 64},  {250, 40}};
    layers_open(&g, 42);
    for (size_t m = 0; m < LAYERS_PAR_MATHS; m++)
        for (g.skew = 0; g.skew < 2; g.skew++) {
            layers_math(&g, layers_par_maths[m]);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                const size_t n = sizes[i].n;
                const int c = sizes[i].c;
                const bool pure = layers_par_maths[m] == NN_FP16_PURE;
                if ((g.skew && n * (size_t)c > 100000) || (pure && n * (size_t)c > 10000))
                    continue;
                if (!all && n * (size_t)c <= 100000 && g.skew != (i & 1))
                    continue;
                if (!all && n * (size_t)c > 50000 && (m + i) % 2 != 0)
                    continue;
                check_forward(&g, n, c, false, false);
                check_forward(&g, n, c, true, false);
                check_forward(&g, n, c, true, true);
                check_forward(&g, n, c, false, true);
                check_backward(&g, n, c, false, false, false, 1);
                check_backward(&g, n, c, false, false, true, 128);
                check_backward(&g, n, c, true, false, true, 1);
                check_backward(&g, n, c, true, false, false, 1024);
                check_backward(&g, n, c, true, true, false, 1);
                if (g.skew == (i & 1))
                    check_forms(&g, n, c);
            }
            if (all || g.skew == 0)
                check_repeat(&g, 5000, 24);
            if (g.skew && m == 1) { /* enough rows per thread */
                check_forward(&g, 1300, 2048, true, false);
                check_backward(&g, 1300, 2048, true, false, true, 1);
            }
        }
    layers_close(&g);
    DONE();
}
