/* test_gpu_layers_layer_norm.c : layer norm has nn_cpu's bits, rounded to the type: both sum in
 * the same order. */
#include "gpu_layers.h"

struct layer_norm {
    struct layers *g;
    size_t n;
    int c;
    float *x, *dy, *dx, *gamma, *beta, *y, *dgamma, *dbeta;
    void *px, *pdy, *pdx, *pgamma, *pbeta, *py, *pdgamma, *pdbeta, *scratch, *host_scratch;
};

static struct layer_norm open_norm(struct layers *g, size_t n, int c)
{
    const size_t all = n * (size_t)c, wide = (size_t)c;
    struct layer_norm t = {.g = g, .n = n, .c = c};
    size_t bytes, host_bytes;
    t.x = layers_random(g, all), t.dy = layers_random(g, all), t.dx = layers_random(g, all);
    t.gamma = layers_random(g, wide), t.beta = layers_random(g, wide);
    t.y = layers_random(g, all);
    t.dgamma = layers_random(g, wide), t.dbeta = layers_random(g, wide);
    for (size_t i = 0; i < all; i++)
        t.x[i] = layers_round(g->math, i / wide % 3 == 1 ? 30 + t.x[i] : t.x[i]);
    for (size_t i = 0; n > 4 && i < wide; i++)
        t.x[4 * wide + i] = 0.75f;
    t.px = layers_put(g, t.x, all), t.pdy = layers_put(g, t.dy, all);
    t.pdx = layers_put(g, t.dx, all), t.py = layers_put(g, t.y, all);
    t.pgamma = layers_put_par(g, t.gamma, wide), t.pbeta = layers_put_par(g, t.beta, wide);
    t.pdgamma = layers_put_par(g, t.dgamma, wide), t.pdbeta = layers_put_par(g, t.dbeta, wide);
    CHECK(g->nn->layer_norm_plan(g->d, n, c, &bytes) == 0, "plan");
    nn_cpu.layer_norm_plan(g->cpu, n, c, &host_bytes);
    t.host_scratch = layers_memory(host_bytes);
    char *rubbish = layers_memory(bytes);
    memset(rubbish, 0x7f, bytes);
    t.scratch = layers_hold(g, rubbish, 0, bytes);
    free(rubbish);
    return t;
}

static void close_norm(struct layer_norm *t)
{
    free(layers_fetch(t->g, t->scratch)); /* checks its guard bytes */
    layers_drop(t->g);
    free(t->x), free(t->dy), free(t->dx), free(t->gamma), free(t->beta), free(t->y);
    free(t->dgamma), free(t->dbeta), free(t->host_scratch);
}

static void same_par(struct layers *g, const char *what, void *p, float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        want[i] = layers_round_par(g, want[i]);
    layers_same_floats(g, what, layers_get_par(g, p, n), want, n);
}

/* scale: loss scale, in dy. */
static void check(struct layers *g, size_t n, int c, bool add, float scale)
{
    struct layer_norm t = open_norm(g, n, c);
    const size_t all = n * (size_t)c;
    float *k = g->run->alloc_pinned(sizeof *k);
    *k = scale;
    g->nn->layer_norm_forward(g->d, n, c, 1e-5, t.px, t.pgamma, t.pbeta, t.py);
    nn_cpu.layer_norm_forward(g->cpu, n, c, 1e-5, t.x, t.gamma, t.beta, t.y);
    layers_same(g, "layer norm", t.py, t.y, all);
    g->nn->loss_scale(g->d, k);
    nn_cpu.loss_scale(g->cpu, k);
    g->nn->layer_norm_backward(g->d, n, c, 1e-5, t.px, t.pgamma, t.pdy, t.pdx, add, t.pdgamma,
                               t.pdbeta, t.scratch);
    nn_cpu.layer_norm_backward(g->cpu, n, c, 1e-5, t.x, t.gamma, t.dy, t.dx, add, t.dgamma, t.dbeta,
                               t.host_scratch);
    layers_same(g, add ? "dx, added" : "dx", t.pdx, t.dx, all);
    same_par(g, "dgamma", t.pdgamma, t.dgamma, (size_t)c);
    same_par(g, "dbeta", t.pdbeta, t.dbeta, (size_t)c);
    g->nn->layer_norm_backward(g->d, n, c, 1e-5, t.px, t.pgamma, t.pdy, NULL, add, t.pdgamma,
                               t.pdbeta, t.scratch);
    same_par(g, "dgamma without dx", t.pdgamma, t.dgamma, (size_t)c);
    g->nn->loss_scale(g->d, NULL);
    nn_cpu.loss_scale(g->cpu, NULL);
    g->run->free_pinned(k);
    close_norm(&t);
}

int main(void)
{
    struct layers g;
    const struct {
        size_t n;
        int c;
    } sizes[] = {{1, 1}, {7, 3}, {33, 31}, {5, 32}, {4, 33}, {300, 48}, {129, 20}, {6, 1000}};
    layers_open(&g, 43);
    for (size_t m = 0; m < LAYERS_PAR_MATHS; m++)
        for (g.skew = 0; g.skew < 2; g.skew++) {
            layers_math(&g, layers_par_maths[m]);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                check(&g, sizes[i].n, sizes[i].c, (i + g.skew) % 2, i % 3 ? 1 : 1024);
        }
    layers_close(&g);
    DONE();
}
