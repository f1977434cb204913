/* test_gpu_conv.c : compares conv2d and linear on the GPU with nn_cpu, in all maths.
 *
 * Bounds for a sum of n products; S: the sum of their magnitudes:
 *       fp32        each side rounds n times: 2 n 2^-24 S
 *       the others  tensor cores truncate where others round: n 2^-23 S instead of n 2^-24 S
 *       tf32        each factor has lost at most 2^-10 of itself: 2 * 2^-10 S
 *       fp16-pure   partial sums are halves, of at least 8 products at once: (n / 8 + 1) 2^-10 S
 *       16 bits     the result is rounded to the type: half a unit, or two halves with a bias or if
 *                   cuDNN adds to dx (Hopper's kernels round the product first) */
#include "gpu_layers.h"

struct passes {
    struct layers g;
    bool tf32;
    void *scratch;
    size_t scratch_bytes;
    float *scale; /* pinned: the loss scale */
};

static double sum_bound(const struct passes *t, size_t n, double magnitude)
{
    const bool cores = t->tf32 || t->g.math != NN_FP32, pure = t->g.math == NN_FP16_PURE;
    return (double)n * (0x1p-24 + (cores ? 0x1p-23 : 0x1p-24)) * magnitude +
           (t->tf32 ? 0x1p-9 * magnitude : 0) +
           (pure ? ((double)n / 8 + 1) * 0x1p-10 * magnitude : 0);
}

/* n: products in a sum; magnitude [count]: sums of magnitudes; halves: number of roundings to the
 * type, of values up to |want| + 1, as a bias and an old dx are at most 1. Divides got by scale and
 * frees it. */
static void check_close(const struct passes *t, const char *name, const char *what, float *got,
                        const float *want, const float *magnitude, size_t count, size_t n,
                        int halves, double scale)
{
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < count; i++) {
        double bound = sum_bound(t, n, (double)magnitude[i]);
        if (halves && t->g.math != NN_FP32)
            bound += halves * layers_half_ulp(t->g.math,
                                              fabs((double)want[i]) + (halves > 1 ? 1 : 0) + bound);
        if (!(fabs((double)got[i] * scale - (double)want[i]) <= bound) && bad++ == 0)
            first = i;
    }
    CHECK(bad == 0, "%s %s, %s, skew %zu: %zu of %zu differ, first [%zu] %.9g, want %.9g of %.9g",
          t->tf32 ? "tf32" : layers_names[t->g.math], name, what, t->g.skew, bad, count, first,
          (double)got[first] * scale, (double)want[first], (double)magnitude[first]);
    free(got);
}

static float *magnitudes(const float *x, size_t n)
{
    float *y = layers_memory(n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = fabsf(x[i]);
    return y;
}

static void *on_scratch(struct passes *t, size_t bytes)
{
    const struct dev_run_ops *run = t->g.run;
    if (bytes > t->scratch_bytes) {
        char *nan = layers_memory(bytes);
        memset(nan, 0xff, bytes); /* nan shows reads before the first write */
        run->free(t->scratch);
        t->scratch = run->alloc(bytes);
        t->scratch_bytes = bytes;
        if (!t->scratch || run->copy(t->scratch, nan, bytes, t->g.s) < 0 || run->wait(t->g.s) < 0)
            exit(1);
        free(nan);
    }
    return t->scratch;
}

/* parts of one array, the first at `skew` floats */
struct flat {
    size_t n_w, n_b;
    float *w, *bias, *abs_w;
    void *dev_w, *dev_bias;
};

static void flat_open(struct passes *t, struct flat *f, size_t n_w, size_t n_b)
{
    struct layers *g = &t->g;
    const size_t skew = g->skew, n = skew + n_w + n_b;
    float *all = layers_memory(n * sizeof *all);
    *f = (struct flat){
        .n_w = n_w, .n_b = n_b, .w = layers_random(g, n_w), .bias = layers_random(g, n_b)};
    f->abs_w = magnitudes(f->w, n_w);
    memcpy(all + skew, f->w, n_w * sizeof *all);
    memcpy(all + skew + n_w, f->bias, n_b * sizeof *all);
    g->skew = 0;
    void *dev = layers_put_par(g, all, n);
    g->skew = skew;
    f->dev_w = layers_par_at(g, dev, skew);
    f->dev_bias = layers_par_at(g, dev, skew + n_w);
    if (g->nn->weights_open(g->d, dev, n) < 0 || g->nn->weights(g->d) < 0)
        exit(1);
    free(all);
}

static void flat_close(struct flat *f)
{
    free(f->w), free(f->bias), free(f->abs_w);
}

struct conv_case {
    struct nn_window g;
    struct nn_window w;
    int batch;
    char name[112];
    size_t n_x, n_y, scratch;
    float *x, *dy, *abs_x, *abs_dy;
    void *dev_x, *dev_dy, *dev_y, *dev_dx;
    void *dev_dw, *dev_dbias;
    struct flat f;
};

static void conv_on_gpu(struct passes *t, struct conv_case *c, bool with_bias, bool add)
{
    struct layers *g = &t->g;
    CHECK(g->nn->conv_forward(g->d, &c->w, c->batch, c->dev_x, c->f.dev_w,
                              with_bias ? c->f.dev_bias : NULL, c->dev_y,
                              on_scratch(t, c->scratch)) == 0,
          "%s", c->name);
    CHECK(g->nn->conv_backward(g->d, &c->w, c->batch, c->dev_x, c->f.dev_w, c->dev_dy, c->dev_dx,
                               add, c->dev_dw, with_bias ? c->dev_dbias : NULL,
                               on_scratch(t, c->scratch)) == 0,
          "%s", c->name);
}

/* magnitude: computes with magnitudes. Adds to dx. */
static void conv_on_cpu(struct passes *t, struct conv_case *c, bool magnitude, float *y, float *dx,
                        float *dw, float *dbias)
{
    size_t bytes;
    const float *x = magnitude ? c->abs_x : c->x, *w = magnitude ? c->f.abs_w : c->f.w;
    const float *dy = magnitude ? c->abs_dy : c->dy;
    nn_cpu.conv_plan(t->g.cpu, &c->g, true, true, c->batch, &bytes);
    void *scratch = layers_memory(bytes);
    nn_cpu.conv_forward(t->g.cpu, &c->g, c->batch, x, w, NULL, y, scratch);
    nn_cpu.conv_backward(t->g.cpu, &c->g, c->batch, x, w, dy, dx, true, dw, dbias, scratch);
    free(scratch);
}

static void conv_compare(struct passes *t, struct conv_case *c, bool with_bias, const float *old_dx)
{
    struct layers *g = &t->g;
    const size_t n_w = c->f.n_w, n_b = c->f.n_b, taps = (size_t)(c->g.k * c->g.k);
    const size_t pixels = c->n_y / n_b;
    float *y[2], *dx[2], *dw[2], *dbias[2]; /* of the numbers; of their magnitudes */
    for (int i = 0; i < 2; i++) {
        y[i] = layers_memory(c->n_y * sizeof(float));
        dx[i] = old_dx && i ? magnitudes(old_dx, c->n_x) : layers_memory(c->n_x * sizeof(float));
        dw[i] = layers_memory(n_w * sizeof(float));
        dbias[i] = layers_memory(n_b * sizeof(float));
        if (old_dx && !i)
            memcpy(dx[0], old_dx, c->n_x * sizeof(float));
        conv_on_cpu(t, c, i, y[i], dx[i], dw[i], dbias[i]);
        for (size_t j = 0; with_bias && j < c->n_y; j++)
            y[i][j] += i ? fabsf(c->f.bias[j % n_b]) : c->f.bias[j % n_b];
    }
    const bool pure = g->math == NN_FP16_PURE;
    const int halves = pure ? 2 : g->math != NN_FP32;
    check_close(t, c->name, "y", layers_get(g, c->dev_y, c->n_y), y[0], y[1], c->n_y,
                taps * (size_t)c->g.in.c + 1, with_bias ? 2 : 1, 1);
    check_close(t, c->name, old_dx ? "dx +=" : "dx", layers_get(g, c->dev_dx, c->n_x), dx[0], dx[1],
                c->n_x, taps * n_b + 1, old_dx ? 2 : 1, 1);
    check_close(t, c->name, "dw", layers_get_par(g, c->dev_dw, n_w), dw[0], dw[1], n_w, pixels,
                halves, (double)*t->scale);
    if (with_bias)
        check_close(t, c->name, "dbias", layers_get_par(g, c->dev_dbias, n_b), dbias[0], dbias[1],
                    n_b, pixels, pure, (double)*t->scale);
    for (int i = 0; i < 2; i++)
        free(y[i]), free(dx[i]), free(dw[i]), free(dbias[i]);
}

static void conv_run(struct passes *t, struct conv_case *c, bool with_bias, bool add, bool as_graph)
{
    struct layers *g = &t->g;
    struct dev_graph *graph = NULL;
    float *old = layers_random(g, c->n_x), *nan = layers_memory(c->n_y * sizeof *nan);
    for (size_t i = 0; i < c->n_y; i++)
        nan[i] = NAN;
    c->dev_y = layers_put(g, nan, c->n_y);
    c->dev_dx = layers_put(g, old, c->n_x);
    float *blank = layers_memory((c->f.n_w + c->f.n_b) * sizeof *blank);
    c->dev_dw = layers_put_par(g, blank, c->f.n_w);
    c->dev_dbias = layers_put_par(g, blank, c->f.n_b);
    if (as_graph) {
        CHECK(g->run->graph_begin(g->s) == 0, "%s", c->name);
        conv_on_gpu(t, c, with_bias, add);
        if (g->run->graph_end(g->s, &graph) < 0 || g->run->graph_launch(graph, g->s) < 0)
            exit(1);
    } else {
        conv_on_gpu(t, c, with_bias, add);
    }
    conv_compare(t, c, with_bias, add ? old : NULL);
    if (graph)
        g->run->graph_close(graph);
    free(old), free(nan), free(blank);
}

static void check_dilated(struct passes *t, struct nn_shape in, int out_c, int k, int stride,
                          int pad, int groups, int dilation)
{
    struct layers *g = &t->g;
    const int reach = (k - 1) * dilation + 1;
    const struct nn_shape out = {(in.h + 2 * pad - reach) / stride + 1,
                                 (in.w + 2 * pad - reach) / stride + 1, out_c};
    struct conv_case c = {.g = {in, out, k, stride, pad, groups, 0, dilation}};
    c.w = c.g;
    CHECK(g->nn->conv_plan(g->d, &c.w, true, true, 4, &c.scratch) == 0, "k %d", k);
    for (c.batch = 4; c.batch >= 1; c.batch -= 3) {
        c.n_x = batch_elements(in, c.batch), c.n_y = batch_elements(out, c.batch);
        snprintf(c.name, sizeof c.name,
                 "conv %dx%dx%dx%d -> %d, k %d, stride %d, pad %d, groups %d, dilation %d", c.batch,
                 in.h, in.w, in.c, out_c, k, stride, pad, groups, dilation);
        flat_open(t, &c.f, (size_t)(out_c * k * k * (in.c / groups)), (size_t)out_c);
        c.x = layers_random(g, c.n_x), c.dy = layers_random(g, c.n_y);
        c.abs_x = magnitudes(c.x, c.n_x), c.abs_dy = magnitudes(c.dy, c.n_y);
        c.dev_x = layers_put(g, c.x, c.n_x), c.dev_dy = layers_put(g, c.dy, c.n_y);
        conv_run(t, &c, true, false, false);
        *t->scale = 8;
        conv_run(t, &c, false, true, false);
        conv_run(t, &c, true, c.batch == 4, true);
        *t->scale = 1;
        layers_drop(g);
        flat_close(&c.f);
        free(c.x), free(c.dy), free(c.abs_x), free(c.abs_dy);
    }
}

static void check_groups(struct passes *t, struct nn_shape in, int out_c, int k, int stride,
                         int pad, int groups)
{
    check_dilated(t, in, out_c, k, stride, pad, groups, 1);
}

static void check_conv(struct passes *t, struct nn_shape in, int out_c, int k, int stride, int pad)
{
    check_groups(t, in, out_c, k, stride, pad, 1);
}

static void check_convs(struct passes *t)
{
    check_conv(t, (struct nn_shape){6, 6, 16}, 16, 3, 1, 1);
    check_conv(t, (struct nn_shape){8, 7, 8}, 16, 3, 2, 1);
    check_conv(t, (struct nn_shape){8, 8, 16}, 8, 1, 1, 0);
    check_conv(t, (struct nn_shape){7, 7, 8}, 16, 1, 2, 0);
    check_conv(t, (struct nn_shape){9, 8, 1}, 6, 5, 1, 2);
    check_conv(t, (struct nn_shape){8, 8, 6}, 16, 5, 1, 0);
    check_conv(t, (struct nn_shape){14, 15, 3}, 8, 7, 2, 3);
    check_conv(t, (struct nn_shape){5, 6, 3}, 5, 3, 1, 1);
    check_groups(t, (struct nn_shape){7, 6, 8}, 16, 5, 1, 2, 2);
    check_groups(t, (struct nn_shape){6, 7, 24}, 16, 3, 2, 1, 2);
    check_groups(t, (struct nn_shape){5, 5, 6}, 9, 3, 1, 1, 3);
    check_dilated(t, (struct nn_shape){7, 6, 8}, 16, 3, 1, 2, 1, 2);
    check_dilated(t, (struct nn_shape){9, 8, 6}, 4, 3, 2, 3, 2, 3);
}

static void check_many_rows(struct passes *t)
{
    check_conv(t, (struct nn_shape){40, 31, 2}, 40, 1, 1, 0);
}

static void linear_compare(struct passes *t, const char *name, int batch, int in, int out,
                           const struct flat *f, const float *x, const float *dy, void *dev_y,
                           void *dev_dx, void *dev_dw, void *dev_dbias)
{
    struct layers *g = &t->g;
    const bool pure = g->math == NN_FP16_PURE;
    const size_t n_x = (size_t)(batch * in), n_y = (size_t)(batch * out);
    float *abs_x = magnitudes(x, n_x), *abs_dy = magnitudes(dy, n_y),
          *abs_b = magnitudes(f->bias, f->n_b);
    float *y[2], *dx[2], *dw[2], *dbias[2];
    for (int i = 0; i < 2; i++) {
        y[i] = layers_memory(n_y * sizeof(float)), dx[i] = layers_memory(n_x * sizeof(float));
        dw[i] = layers_memory(f->n_w * sizeof(float)),
        dbias[i] = layers_memory(f->n_b * sizeof(float));
        const float *xi = i ? abs_x : x, *wi = i ? f->abs_w : f->w, *dyi = i ? abs_dy : dy;
        nn_cpu.linear_forward(g->cpu, batch, in, out, xi, wi, i ? abs_b : f->bias, y[i]);
        nn_cpu.linear_backward(g->cpu, batch, in, out, xi, wi, dyi, dx[i], dw[i], dbias[i]);
    }
    check_close(t, name, "y", layers_get(g, dev_y, n_y), y[0], y[1], n_y, (size_t)in + 1, 2, 1);
    check_close(t, name, "dx", layers_get(g, dev_dx, n_x), dx[0], dx[1], n_x, (size_t)out, 1, 1);
    check_close(t, name, "dw", layers_get_par(g, dev_dw, f->n_w), dw[0], dw[1], f->n_w,
                (size_t)batch, pure ? 2 : 0, (double)*t->scale);
    check_close(t, name, "dbias", layers_get_par(g, dev_dbias, f->n_b), dbias[0], dbias[1], f->n_b,
                (size_t)batch, pure, (double)*t->scale);
    for (int i = 0; i < 2; i++)
        free(y[i]), free(dx[i]), free(dw[i]), free(dbias[i]);
    free(abs_x), free(abs_dy), free(abs_b);
}

static void check_linear(struct passes *t, int batch, int in, int out)
{
    struct layers *g = &t->g;
    struct flat f;
    char name[64];
    const size_t n_x = (size_t)(batch * in), n_y = (size_t)(batch * out);
    snprintf(name, sizeof name, "linear %d x %d -> %d", batch, in, out);
    flat_open(t, &f, (size_t)(out * in), (size_t)out);
    float *x = layers_random(g, n_x), *dy = layers_random(g, n_y);
    float *blank = layers_memory((n_x + n_y + f.n_w + f.n_b) * sizeof *blank);
    void *dev_x = layers_put(g, x, n_x), *dev_dy = layers_put(g, dy, n_y),
         *dev_y = layers_put(g, blank, n_y);
    void *dev_dx = layers_put(g, blank, n_x);
    void *dev_dw = layers_put_par(g, blank, f.n_w), *dev_dbias = layers_put_par(g, blank, f.n_b);
    for (int as_graph = 0; as_graph < 2; as_graph++) {
        struct dev_graph *graph = NULL;
        *t->scale = as_graph ? 1 : 0.5f;
        CHECK(!as_graph || g->run->graph_begin(g->s) == 0, "%s", name);
        CHECK(g->nn->linear_forward(g->d, batch, in, out, dev_x, f.dev_w, f.dev_bias, dev_y) == 0,
              "%s", name);
        CHECK(g->nn->linear_backward(g->d, batch, in, out, dev_x, f.dev_w, dev_dy, dev_dx, dev_dw,
                                     dev_dbias) == 0,
              "%s", name);
        if (as_graph &&
            (g->run->graph_end(g->s, &graph) < 0 || g->run->graph_launch(graph, g->s) < 0))
            exit(1);
        linear_compare(t, name, batch, in, out, &f, x, dy, dev_y, dev_dx, dev_dw, dev_dbias);
        if (graph)
            g->run->graph_close(graph);
    }
    *t->scale = 1;
    layers_drop(g);
    flat_close(&f);
    free(x), free(dy), free(blank);
}

static void check_apart(struct passes *t)
{
    if (strcmp(gpu_info()->name, "emulated") || setenv("EMU_CUDNN_ADDS", "0", 1))
        return;
    t->tf32 = false;
    for (t->g.skew = 0; t->g.skew < 2; t->g.skew++) {
        layers_math(&t->g, NN_FP32);
        t->g.nn->loss_scale(t->g.d, t->scale);
        const struct nn_window g = {{4, 4, 8}, {4, 4, 8}, 1, 1, 0, 1, 0, 1};
        size_t bytes;
        CHECK(t->g.nn->conv_plan(t->g.d, &g, true, false, 2, &bytes) == 0 &&
                  t->g.nn->conv_apart(t->g.d) == 0,
              "what nobody adds is planned as if it were");
        check_conv(t, (struct nn_shape){6, 6, 16}, 16, 3, 1, 1);
        check_groups(t, (struct nn_shape){8, 7, 8}, 16, 3, 2, 1, 2);
        CHECK(t->g.nn->conv_apart(t->g.d) == 2, "%d windows apart", t->g.nn->conv_apart(t->g.d));
    }
    unsetenv("EMU_CUDNN_ADDS");
}

int main(void)
{
    struct passes t = {0};
    layers_open(&t.g, 20);
    t.scale = t.g.run->alloc_pinned(sizeof *t.scale);
    if (!t.scale)
        return 1;
    *t.scale = 1;
    for (int math = NN_FP32; math <= NN_FP16_PURE; math++)
        for (t.g.skew = 0; t.g.skew < 2; t.g.skew++) {
            if (t.g.skew ? setenv("NARROWCAST_CONV", "first", 1) : unsetenv("NARROWCAST_CONV"))
                return 1;
            layers_math(&t.g, (enum nn_math)math);
            t.tf32 = math == NN_TF32;
            if (t.tf32)
                t.g.math = NN_FP32;
            t.g.nn->loss_scale(t.g.d, t.scale);
            check_convs(&t);
            check_many_rows(&t);
            check_linear(&t, 1, 10, 3);
            check_linear(&t, 5, 64, 10);
            check_linear(&t, 16, 33, 17);
        }
    check_apart(&t);
    t.g.run->free(t.scratch);
    t.g.run->free_pinned(t.scale);
    layers_close(&t.g);
    DONE();
}
