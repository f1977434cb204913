/* test_gpu_layers.c : GPU layers that move and choose values have nn_cpu's bits, rounded to the
 * type once. */
#include "gpu_layers.h"
#include <errno.h>

static void at_hard_places(float *x, size_t n)
{
    const float hard[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1e-30f, -1e-30f, 65504, -65504};
    for (size_t i = 0; i < sizeof hard / sizeof *hard && 3 * i < n; i++)
        x[3 * i] = hard[i];
}

/* Only fp32: 16-bit activations have a format. */
static void check_round(struct layers *g, size_t n, const float *a, void *pa, void *py, float *want)
{
    const struct round_rule rules[] = {{{4, 3, 0}, MF_SATURATE, 0}, {{4, 3, 1}, MF_INF, -3},
                                       {{5, 2, 0}, MF_INF, 17},     {{3, 0, 0}, MF_SATURATE, 1},
                                       {{8, 23, 0}, MF_INF, 0},     {{6, 9, 0}, MF_SATURATE, -99}};
    if (g->math != NN_FP32) {
        CHECK(g->nn->round_to(g->d, n, &rules[0], pa, py) == -EINVAL, "16 bits were rounded");
        return;
    }
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        CHECK(g->nn->round_to(g->d, n, &rules[r], pa, py) == 0, "round");
        nn_cpu.round_to(g->cpu, n, &rules[r], a, want);
        layers_same(g, "round", py, want, n);
    }
    g->nn->round_to(g->d, n, &rules[2], py, py);
    nn_cpu.round_to(g->cpu, n, &rules[2], want, want);
    layers_same(g, "round in place", py, want, n);
}

static void check_elements(struct layers *g, size_t n)
{
    float *a = layers_random(g, n), *b = layers_random(g, n),
          *want = layers_memory(n * sizeof *want);
    at_hard_places(a, n);
    for (size_t i = 0; i < n; i++)
        a[i] = layers_round(g->math, a[i]);
    void *pa = layers_put(g, a, n), *pb = layers_put(g, b, n), *py = layers_put(g, b, n);

    g->nn->gelu_forward(g->d, n, pa, py);
    nn_cpu.gelu_forward(g->cpu, n, a, want);
    layers_same(g, "gelu", py, want, n);
    g->nn->gelu_backward(g->d, n, pa, pb, py);
    nn_cpu.gelu_backward(g->cpu, n, a, b, want);
    layers_same(g, "gelu backward", py, want, n);
    g->nn->relu_forward(g->d, n, pa, py);
    nn_cpu.relu_forward(g->cpu, n, a, want);
    layers_same(g, "relu", py, want, n);
    g->nn->relu_backward(g->d, n, pa, pb, py);
    nn_cpu.relu_backward(g->cpu, n, a, b, want);
    layers_same(g, "relu backward", py, want, n);
    g->nn->add(g->d, n, pa, pb, py);
    nn_cpu.add(g->cpu, n, a, b, want);
    layers_same(g, "add", py, want, n);
    check_round(g, n, a, pa, py, want);
    g->nn->scale(g->d, n, 0.3f, pa, pa);
    nn_cpu.scale(g->cpu, n, (double)0.3f, a, want);
    layers_same(g, "scale", pa, want, n);
    g->nn->relu_backward(g->d, n, py, pb, pb);
    float *y = layers_get(g, py, n);
    nn_cpu.relu_backward(g->cpu, n, y, b, want);
    layers_same(g, "relu backward in place", pb, want, n);
    layers_drop(g);
    free(a), free(b), free(want), free(y);
}

static void check_conversion(struct layers *g, size_t n)
{
    float *x = layers_memory(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = philox_u32(g->key, i);
        memcpy(x + i, &bits, sizeof bits);
        if (i % 2) /* where rounding happens: near half precision's numbers */
            x[i] = ldexpf(1 + (float)(bits & 0xffff) / 65536, (int)(bits >> 16) % 42 - 26);
    }
    float *px = layers_put_float(g, x, n);
    void *py = layers_put(g, x, n);
    g->run->zero(py, n * (g->math == NN_FP32 ? 4 : 2), g->s);
    g->nn->to_math(g->d, n, px, py);
    layers_same(g, "to the type", py, x, n);
    layers_drop(g);
    free(x);
}

/* levels: number of values of x; few make windows with several maxima. up: windows reach past
 * the edge. */
static void check_pool(struct layers *g, struct nn_window w, int batch, int levels, bool up)
{
    const int more = up ? w.stride - 1 : 0;
    w.out = (struct nn_shape){(w.in.h + 2 * w.pad - w.k + more) / w.stride + 1,
                              (w.in.w + 2 * w.pad - w.k + more) / w.stride + 1, w.in.c};
    const size_t n_in = batch_elements(w.in, batch), n_out = batch_elements(w.out, batch);
    float *x = layers_random(g, n_in), *dy = layers_random(g, n_out);
    float *y = layers_memory(n_out * sizeof *y), *dx = layers_memory(n_in * sizeof *dx);
    for (size_t i = 0; levels && i < n_in; i++)
        x[i] = floorf(x[i] * (float)levels) / (float)levels;
    x[n_in / 2] = NAN;
    x[n_in / 3] = -INFINITY;
    void *px = layers_put(g, x, n_in), *pdy = layers_put(g, dy, n_out),
         *py = layers_put(g, y, n_out);
    void *pdx = layers_put(g, dx, n_in);

    g->nn->pool_max_forward(g->d, &w, batch, px, py);
    nn_cpu.pool_max_forward(g->cpu, &w, batch, x, y);
    layers_same(g, "max", py, y, n_out);
    g->nn->pool_max_backward(g->d, &w, batch, px, py, pdy, pdx);
    nn_cpu.pool_max_backward(g->cpu, &w, batch, x, y, dy, dx);
    layers_same(g, "max backward", pdx, dx, n_in);
    g->nn->pool_avg_forward(g->d, &w, batch, px, py);
    nn_cpu.pool_avg_forward(g->cpu, &w, batch, x, y);
    layers_same(g, "average", py, y, n_out);
    g->nn->pool_avg_backward(g->d, &w, batch, pdy, pdx, false);
    nn_cpu.pool_avg_backward(g->cpu, &w, batch, dy, dx, false);
    layers_same(g, "average backward", pdx, dx, n_in);
    float *rounded = layers_get(g, pdx, n_in);
    g->nn->pool_avg_backward(g->d, &w, batch, pdy, pdx, true);
    nn_cpu.pool_avg_backward(g->cpu, &w, batch, dy, rounded, true);
    layers_same(g, "average backward, added", pdx, rounded, n_in);
    free(rounded);
    layers_drop(g);
    free(x), free(y), free(dx), free(dy);
}

static void check_pools(struct layers *g)
{
    const struct nn_window windows[] = {
        {.in = {8, 8, 64}, .k = 2, .stride = 2},
        {.in = {7, 9, 3}, .k = 3, .stride = 2, .pad = 1},
        {.in = {12, 12, 10}, .k = 3, .stride = 1, .pad = 1},
        {.in = {4, 5, 2048}, .k = 3, .stride = 2, .pad = 1},
        {.in = {4, 4, 64}, .k = 4, .stride = 4},
        {.in = {9, 10, 8}, .k = 2, .stride = 3},
        {.in = {6, 6, 16}, .k = 5, .stride = 1, .pad = 2},
    };
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (int batch = 1; batch <= 3; batch += 2)
            check_pool(g, windows[i], batch, i % 2 ? 2 : 0, false);
    check_pool(g, windows[1], 2, 2, false);
    check_pool(g, windows[0], 2, 2, false);
    const struct nn_window over[] = {{.in = {6, 7, 16}, .k = 3, .stride = 2},
                                     {.in = {2, 2, 3}, .k = 3, .stride = 2},
                                     {.in = {7, 5, 8}, .k = 2, .stride = 2}};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        check_pool(g, over[i], 2, i % 2 ? 2 : 0, true);
}

static void check_lrn(struct layers *g, size_t n, int c, double alpha)
{
    const size_t all = n * (size_t)c;
    float *x = layers_random(g, all), *dy = layers_random(g, all),
          *y = layers_memory(all * sizeof *y);
    for (size_t i = 0; i < all; i += 7)
        x[i] *= 64;
    if (all > 40)
        x[all / 2] = NAN, x[all / 3] = INFINITY, x[all - 1] = -0.0f;
    void *px = layers_put(g, x, all), *pdy = layers_put(g, dy, all), *py = layers_put(g, y, all);
    g->nn->lrn_forward(g->d, n, c, alpha, px, py);
    nn_cpu.lrn_forward(g->cpu, n, c, alpha, x, y);
    layers_same(g, "lrn", py, y, all);
    g->nn->lrn_backward(g->d, n, c, alpha, px, pdy, py);
    nn_cpu.lrn_backward(g->cpu, n, c, alpha, x, dy, y);
    layers_same(g, "lrn backward", py, y, all);
    layers_drop(g);
    free(x), free(dy), free(y);
}

static void check_mean(struct layers *g, int batch, int pixels, int c)
{
    const size_t n = (size_t)batch * (size_t)pixels * (size_t)c, n_out = (size_t)batch * (size_t)c;
    float *x = layers_random(g, n), *y = layers_memory(n_out * sizeof *y);
    void *px = layers_put(g, x, n), *py = layers_put(g, y, n_out);
    g->nn->mean_forward(g->d, batch, pixels, c, px, py);
    nn_cpu.mean_forward(g->cpu, batch, pixels, c, x, y);
    layers_same(g, "mean", py, y, n_out);
    float *rounded = layers_get(g, py, n_out);
    g->nn->mean_backward(g->d, batch, pixels, c, py, px);
    nn_cpu.mean_backward(g->cpu, batch, pixels, c, rounded, x);
    layers_same(g, "mean backward", px, x, n);
    layers_drop(g);
    free(x), free(y), free(rounded);
}

static void check_shortcut(struct layers *g, struct nn_shape in, int out_c, int batch)
{
    const struct nn_shape out = {(in.h + 1) / 2, (in.w + 1) / 2, out_c};
    const size_t n = batch_elements(in, batch), n_out = batch_elements(out, batch);
    float *x = layers_random(g, n), *dy = layers_random(g, n_out),
          *y = layers_memory(n_out * sizeof *y);
    void *px = layers_put(g, x, n), *pdy = layers_put(g, dy, n_out);
    void *py = layers_put(g, dy, n_out), *pdx = layers_put(g, x, n);
    g->nn->shortcut_forward(g->d, in, out_c, batch, px, py);
    nn_cpu.shortcut_forward(g->cpu, in, out_c, batch, x, y);
    layers_same(g, "shortcut", py, y, n_out);
    g->nn->shortcut_backward(g->d, in, out_c, batch, pdy, pdx);
    nn_cpu.shortcut_backward(g->cpu, in, out_c, batch, dy, x);
    layers_same(g, "shortcut backward", pdx, x, n);
    layers_drop(g);
    free(x), free(dy), free(y);
}

static void check_concat(struct layers *g, size_t n, int c, int at, int all)
{
    const size_t n_x = n * (size_t)c, n_y = n * (size_t)all;
    float *x = layers_random(g, n_x), *y = layers_random(g, n_y);
    at_hard_places(x, n_x);
    for (size_t i = 0; i < n_x; i++)
        x[i] = layers_round(g->math, x[i]);
    void *px = layers_put(g, x, n_x), *py = layers_put(g, y, n_y);
    CHECK(g->nn->concat_forward(g->d, n, c, px, at, all, py) == 0, "concat");
    nn_cpu.concat_forward(g->cpu, n, c, x, at, all, y);
    layers_same(g, "concat", py, y, n_y);
    CHECK(g->nn->concat_backward(g->d, n, c, py, all - at - c, all, px) == 0, "concat backward");
    nn_cpu.concat_backward(g->cpu, n, c, y, all - at - c, all, x);
    layers_same(g, "concat backward", px, x, n_x);
    layers_drop(g);
    free(x), free(y);
}

static void check_bilinear(struct layers *g, struct nn_shape in, int h, int w, int batch)
{
    const struct nn_shape out = {h, w, in.c};
    const size_t n = batch_elements(in, batch), n_out = batch_elements(out, batch);
    float *x = layers_random(g, n), *dy = layers_random(g, n_out),
          *y = layers_memory(n_out * sizeof *y);
    void *px = layers_put(g, x, n), *pdy = layers_put(g, dy, n_out);
    void *py = layers_put(g, dy, n_out), *pdx = layers_put(g, x, n);
    g->nn->bilinear_forward(g->d, in, out, batch, px, py);
    nn_cpu.bilinear_forward(g->cpu, in, out, batch, x, y);
    layers_same(g, "bilinear", py, y, n_out);
    g->nn->bilinear_backward(g->d, in, out, batch, pdy, pdx);
    nn_cpu.bilinear_backward(g->cpu, in, out, batch, dy, x);
    layers_same(g, "bilinear backward", pdx, x, n);
    layers_drop(g);
    free(x), free(dy), free(y);
}

static void check_dropout(struct layers *g, size_t n, double p)
{
    float *x = layers_random(g, n), *y = layers_memory(n * sizeof *y);
    uint64_t *key = g->run->alloc_pinned(sizeof *key);
    void *px = layers_put(g, x, n), *py = layers_put(g, x, n);
    *key = 0x123456789abcdefull + n;
    nn_cpu.dropout(g->cpu, n, p, key, 5, x, y);
    g->nn->dropout(g->d, n, p, key, 5, px, py);
    layers_same(g, "dropout", py, y, n);
    g->nn->dropout(g->d, n, p, key, 5, px, px);
    layers_same(g, "dropout in place", px, y, n);
    layers_drop(g);
    g->run->free_pinned(key);
    free(x), free(y);
}

int main(void)
{
    struct layers g;
    const size_t sizes[] = {1, 7, 8, 31, 1024, 4099, 8193 * 4};
    layers_open(&g, 41);
    for (size_t m = 0; m < sizeof layers_maths / sizeof *layers_maths; m++)
        for (g.skew = 0; g.skew < 2; g.skew++) {
            layers_math(&g, layers_maths[m]);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                check_elements(&g, sizes[i]);
                check_conversion(&g, sizes[i]);
                check_dropout(&g, sizes[i], i % 2 ? 0.9 : 0.25);
            }
            check_dropout(&g, 100, 0);
            check_dropout(&g, 100, 1);
            check_pools(&g);
            for (int c = 1; c <= 300; c += c < 12 ? 1 : 84)
                check_lrn(&g, 7, c, c % 2 ? 1e-4 : 1);
            check_mean(&g, 1, 1, 10);
            check_mean(&g, 3, 49, 2048);
            check_mean(&g, 2, 16, 64);
            check_mean(&g, 5, 7, 3);
            check_shortcut(&g, (struct nn_shape){5, 7, 3}, 10, 3);
            check_shortcut(&g, (struct nn_shape){8, 8, 16}, 32, 1);
            check_shortcut(&g, (struct nn_shape){9, 6, 64}, 64, 2);
            check_concat(&g, 35, 16, 8, 40);
            check_concat(&g, 12, 5, 3, 11);
            check_concat(&g, 1, 1, 0, 2);
            check_bilinear(&g, (struct nn_shape){4, 5, 19}, 32, 40, 2);
            check_bilinear(&g, (struct nn_shape){3, 7, 8}, 10, 7, 3);
            check_bilinear(&g, (struct nn_shape){1, 6, 16}, 5, 11, 1);
        }
    layers_close(&g);
    DONE();
}
