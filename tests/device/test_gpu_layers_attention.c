/* test_gpu_layers_attention.c : compares self-attention on the GPU with nn_cpu. p has nn_cpu's
 * bits, rounded to the type: dot products of these inputs are exact. Other results are sums of
 * products of tensors that the GPU wrote; they may differ from sums in double by the rounding of
 * each addition. */
#include "gpu_layers.h"

struct attention {
    struct layers *g;
    struct nn_attention f;
    int batch;
    size_t n_x, n_y, n_p;
    float *x, *dy, *p, *ds; /* p and ds: as the GPU wrote them */
};

/* Multiples of 1/8 of less than 2. */
static float *few_bits(struct layers *g, size_t n)
{
    float *x = layers_memory(n * sizeof *x);
    g->key++;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(philox_u32(g->key, i) % 31) / 8 - 1.875f;
    return x;
}

/* Index of channel i of step t in q (part 0), k or v, and in y. */
static size_t in_x(const struct attention *a, int b, int t, int part, int h, int i)
{
    const struct nn_attention *f = &a->f;
    return (size_t)((((b * f->steps + t) * 3 + part) * f->heads + h) * f->wide + i);
}
static size_t in_y(const struct attention *a, int b, int t, int h, int i)
{
    return (size_t)(((b * a->f.steps + t) * a->f.heads + h) * a->f.wide + i);
}
static size_t in_p(const struct attention *a, int b, int h, int t, int s)
{
    return (size_t)(((b * a->f.heads + h) * a->f.steps + t) * a->f.steps + s);
}

/* A sum of n products, and of their magnitudes. */
struct sum {
    double value, size;
    int n;
};

static void add(struct sum *s, double a, double b)
{
    s->value += a * b, s->size += fabs(a * b), s->n++;
}

static void check_sum(const struct attention *a, const char *what, float got, const struct sum *s)
{
    const double unit = a->g->math == NN_FP16_PURE ? 0x1p-11 : 0x1p-24;
    const double most =
        layers_half_ulp(a->g->math, fabs(s->value)) + 2 * (s->n + 4) * unit * s->size;
    CHECK(fabs((double)got - s->value) <= most, "%s %s: %.9g, not %.9g +- %.2g",
          layers_names[a->g->math], what, (double)got, s->value, most);
}

static void check_y(const struct attention *a, const float *y)
{
    for (int b = 0; b < a->batch; b++)
        for (int h = 0; h < a->f.heads; h++)
            for (int t = 0; t < a->f.steps; t++)
                for (int i = 0; i < a->f.wide; i++) {
                    struct sum s = {0};
                    for (int from = 0; from < a->f.steps; from++)
                        add(&s, (double)a->p[in_p(a, b, h, t, from)],
                            (double)a->x[in_x(a, b, from, 2, h, i)]);
                    check_sum(a, "y", y[in_y(a, b, t, h, i)], &s);
                }
}

static void check_ds(const struct attention *a, int b, int h, int t)
{
    double dp[200];
    struct sum all = {0};
    for (int s = 0; s < a->f.steps; s++) {
        dp[s] = 0;
        for (int i = 0; i < a->f.wide; i++)
            dp[s] += (double)a->dy[in_y(a, b, t, h, i)] * (double)a->x[in_x(a, b, s, 2, h, i)];
        add(&all, (double)a->p[in_p(a, b, h, t, s)], dp[s]);
    }
    for (int s = 0; s < a->f.steps; s++) {
        const double p = (double)a->p[in_p(a, b, h, t, s)] / sqrt(a->f.wide);
        struct sum one = {0};
        add(&one, p, dp[s]), add(&one, p, -all.value);
        one.size = fabs(p) * (fabs(dp[s]) + all.size), one.n = a->f.steps;
        const double unit = 0x1p-24; /* also in pure fp16: dp and its sum are floats */
        const double most =
            layers_half_ulp(a->g->math, fabs(one.value)) + 2 * (one.n + 4) * unit * one.size;
        CHECK(fabs((double)a->ds[in_p(a, b, h, t, s)] - one.value) <= most,
              "%s ds: %.9g, not %.9g +- %.2g", layers_names[a->g->math],
              (double)a->ds[in_p(a, b, h, t, s)], one.value, most);
    }
}

static void check_dx(const struct attention *a, const float *dx, int b, int h, int t, int i)
{
    struct sum q = {0}, k = {0}, v = {0};
    for (int s = 0; s < a->f.steps; s++) {
        add(&q, (double)a->ds[in_p(a, b, h, t, s)], (double)a->x[in_x(a, b, s, 1, h, i)]);
        add(&k, (double)a->ds[in_p(a, b, h, s, t)], (double)a->x[in_x(a, b, s, 0, h, i)]);
        add(&v, (double)a->p[in_p(a, b, h, s, t)], (double)a->dy[in_y(a, b, s, h, i)]);
    }
    check_sum(a, "dq", dx[in_x(a, b, t, 0, h, i)], &q);
    check_sum(a, "dk", dx[in_x(a, b, t, 1, h, i)], &k);
    check_sum(a, "dv", dx[in_x(a, b, t, 2, h, i)], &v);
}

static void same_p(const struct attention *a, const void *p)
{
    size_t bytes;
    nn_cpu.attention_plan(a->g->cpu, &a->f, a->batch, &bytes);
    float *want = layers_memory(a->n_p * sizeof *want);
    void *scratch = layers_memory(bytes);
    nn_cpu.attention_shares(a->g->cpu, &a->f, a->batch, a->x, want, scratch);
    layers_same(a->g, "p", p, want, a->n_p);
    free(want), free(scratch);
}

static void *rubbish(struct layers *g, size_t n)
{
    float *x = layers_memory(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    void *p = layers_put(g, x, n);
    free(x);
    return p;
}

static void check(struct layers *g, struct nn_attention f, int batch)
{
    const size_t rows = (size_t)(batch * f.steps), c = (size_t)(f.heads * f.wide);
    struct attention a = {
        g,    f,    batch, rows * 3 * c, rows * c, rows * (size_t)(f.heads * f.steps),
        NULL, NULL, NULL,  NULL};
    size_t bytes;
    a.x = few_bits(g, a.n_x), a.dy = few_bits(g, a.n_y);
    void *x = layers_put(g, a.x, a.n_x), *dy = layers_put(g, a.dy, a.n_y);
    void *p = rubbish(g, a.n_p), *ds = rubbish(g, a.n_p), *y = rubbish(g, a.n_y),
         *dx = rubbish(g, a.n_x);
    CHECK(g->nn->attention_plan(g->d, &f, batch, &bytes) == 0, "plan");
    char *junk = layers_memory(bytes);
    memset(junk, 0xff, bytes);
    void *scratch = layers_hold(g, junk, 0, bytes);
    free(junk);
    g->nn->attention_shares(g->d, &f, batch, x, p, scratch);
    g->nn->attention_mix(g->d, &f, batch, x, p, y);
    g->nn->attention_shares_back(g->d, &f, batch, x, p, dy, ds, scratch);
    g->nn->attention_back(g->d, &f, batch, x, p, ds, dy, dx);
    same_p(&a, p);
    a.p = layers_get(g, p, a.n_p), a.ds = layers_get(g, ds, a.n_p);
    float *got_y = layers_get(g, y, a.n_y), *got_dx = layers_get(g, dx, a.n_x);
    check_y(&a, got_y);
    for (int b = 0; b < batch; b++)
        for (int h = 0; h < f.heads; h++)
            for (int t = 0; t < f.steps; t++) {
                check_ds(&a, b, h, t);
                for (int i = 0; i < f.wide; i++)
                    check_dx(&a, got_dx, b, h, t, i);
            }
    free(layers_fetch(g, scratch)); /* checks its guard bytes */
    layers_drop(g);
    free(a.x), free(a.dy), free(a.p), free(a.ds), free(got_y), free(got_dx);
}

int main(void)
{
    struct layers g;
    layers_open(&g, 51);
    for (size_t m = 0; m < LAYERS_PAR_MATHS; m++)
        for (g.skew = 0; g.skew < 2; g.skew++) {
            layers_math(&g, layers_par_maths[m]);
            check(&g, (struct nn_attention){1, 1, 3}, 2);
            check(&g, (struct nn_attention){5, 8, 2}, 3);
            check(&g, (struct nn_attention){33, 4, 8}, 2);
            check(&g, (struct nn_attention){70, 2, 5}, 1);
        }
    layers_close(&g);
    DONE();
}
