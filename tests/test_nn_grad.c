/* test_nn_grad.c : every gradient of every layer against central differences, computed in double.
 *
 * A layer becomes a scalar function, L = sum of r_i * y_i with fixed random r; the gradient of L is
 * what the backward pass makes of dy = r. Where ReLU bends inside a step the point is skipped and
 * counted; max pooling gets inputs that are far apart. */
#include "nn_double.h"

enum { VARS = 4 };

struct var {
    double *v, *d; /* values; gradient by the backward pass */
    size_t n;
};

struct layer {
    char name[120];
    int batch;
    struct nn_window g;
    struct nn_norm f;
    struct var vars[VARS]; /* what L depends on: x first */
    int n_vars;
    size_t n_y;
    double *y, *r, *dy;
    double p;   /* dropout */
    bool bends; /* a ReLU is at work */
    void *ctx, *scratch;
    void (*forward)(struct layer *l);
    void (*backward)(struct layer *l);
    int32_t *labels;
};

static double *new_reals(size_t n)
{
    double *p = buf_alloc((n + 1) * sizeof *p);
    if (!p)
        exit(1);
    return p;
}

static void add_var(struct layer *l, size_t n, uint64_t key)
{
    struct var v = {new_reals(n), new_reals(n), n};
    for (size_t i = 0; i < n; i++)
        v.v[i] = uniform(philox_key(key, (uint32_t)l->n_vars, 0, 0, 0), i);
    l->vars[l->n_vars++] = v;
}

static void set_output(struct layer *l, size_t n)
{
    l->n_y = n;
    l->y = new_reals(n), l->r = new_reals(n), l->dy = new_reals(n);
    for (size_t i = 0; i < n; i++)
        l->r[i] = uniform(99, i);
}

static double value(struct layer *l)
{
    double sum = 0;
    l->forward(l);
    for (size_t i = 0; i < l->n_y; i++)
        sum += l->r[i] * l->y[i];
    return sum;
}

/* True if the last forward pass switched other outputs on than `on` says. */
static bool bent(const struct layer *l, const bool *on)
{
    for (size_t i = 0; l->bends && i < l->n_y; i++)
        if ((l->y[i] > 0) != on[i])
            return true;
    return false;
}

static double worst_error;
static int n_points, n_skipped;

static void check_layer(struct layer *l)
{
    bool *on = calloc(l->n_y + 1, sizeof *on);
    l->forward(l);
    for (size_t i = 0; i < l->n_y; i++)
        on[i] = l->y[i] > 0;
    memcpy(l->dy, l->r, l->n_y * sizeof *l->dy);
    l->backward(l);
    double worst = 0;
    for (int k = 0; k < l->n_vars; k++) {
        struct var *var = &l->vars[k];
        double typical = rms(var->d, var->n);
        size_t stride = 1 + var->n / 400; /* not every weight of the large ones */
        for (size_t i = 0; i < var->n; i += stride) {
            double at = var->v[i];
            var->v[i] = at + STEP;
            double up = value(l);
            bool skip = bent(l, on);
            var->v[i] = at - STEP;
            double down = value(l);
            skip |= bent(l, on);
            var->v[i] = at;
            n_points++, n_skipped += skip;
            double error = skip ? 0 : grad_error((up - down) / (2 * STEP), var->d[i], typical);
            worst = error > worst ? error : worst;
            CHECK(error <= MOST_ERROR, "%s: var %d element %zu: %.12g, by differences %.12g",
                  l->name, k, i, var->d[i], (up - down) / (2 * STEP));
        }
    }
    worst_error = worst > worst_error ? worst : worst_error;
    free(on);
}

static void close_layer(struct layer *l)
{
    for (int k = 0; k < l->n_vars; k++)
        free(l->vars[k].v), free(l->vars[k].d);
    free(l->y), free(l->r), free(l->dy), free(l->scratch), free(l->labels);
}

static struct nn_window window(struct nn_shape in, int out_c, int k, int stride, int pad)
{
    return (struct nn_window){
        in,
        {(in.h + 2 * pad - k) / stride + 1, (in.w + 2 * pad - k) / stride + 1, out_c},
        k,
        stride,
        pad};
}

static size_t elements(struct nn_shape s, int batch)
{
    return (size_t)batch * (size_t)s.h * (size_t)s.w * (size_t)s.c;
}

/* --- conv2d
 * ---------------------------------------------------------------------------------------------- */
static void conv_y(struct layer *l)
{
    const double *bias = l->n_vars > 2 ? l->vars[2].v : NULL;
    nn_cpu.conv_forward(l->ctx, &l->g, l->batch, l->vars[0].v, l->vars[1].v, bias, l->y,
                        l->scratch);
}

static void conv_d(struct layer *l)
{
    double *dbias = l->n_vars > 2 ? l->vars[2].d : NULL;
    struct var *x = &l->vars[0], *w = &l->vars[1];
    nn_cpu.conv_backward(l->ctx, &l->g, l->batch, x->v, w->v, l->dy, x->d, false, w->d, dbias,
                         l->scratch);
    /* dx added to what is there, and dx not wanted, must give the same numbers. */
    double *dx = new_reals(x->n), *dw = new_reals(w->n);
    for (size_t i = 0; i < x->n; i++)
        dx[i] = 1;
    nn_cpu.conv_backward(l->ctx, &l->g, l->batch, x->v, w->v, l->dy, dx, true, dw, dbias,
                         l->scratch);
    for (size_t i = 0; i < x->n; i++)
        CHECK(fabs(dx[i] - 1 - x->d[i]) < 1e-12, "%s: add: %g, not 1 + %g", l->name, dx[i],
              x->d[i]);
    nn_cpu.conv_backward(l->ctx, &l->g, l->batch, x->v, w->v, l->dy, NULL, false, dw, dbias,
                         l->scratch);
    for (size_t i = 0; i < w->n; i++)
        CHECK(fabs(dw[i] - w->d[i]) < 1e-11, "%s: without dx: dw %g, not %g", l->name, dw[i],
              w->d[i]);
    free(dx), free(dw);
}

static void check_conv(void *ctx, int batch, struct nn_shape in, int out_c, int k, int stride,
                       int pad, bool bias)
{
    struct layer l = {.batch = batch, .ctx = ctx, .forward = conv_y, .backward = conv_d};
    size_t bytes;
    l.g = window(in, out_c, k, stride, pad);
    snprintf(l.name, sizeof l.name, "conv %dx%dx%dx%d -> %d, k %d, stride %d, pad %d%s", batch,
             in.h, in.w, in.c, out_c, k, stride, pad, bias ? ", bias" : "");
    nn_cpu.conv_plan(ctx, &l.g, batch, &bytes);
    l.scratch = buf_alloc(bytes);
    add_var(&l, elements(in, batch), 1);
    add_var(&l, (size_t)(out_c * k * k * in.c), 2);
    if (bias)
        add_var(&l, (size_t)out_c, 3);
    set_output(&l, elements(l.g.out, batch));
    check_layer(&l);
    close_layer(&l);
}

static void check_convs(void *ctx)
{
    static const int kernels[][3] = {{1, 1, 0}, {1, 2, 0}, {3, 1, 1}, {3, 2, 1}, {3, 1, 0},
                                     {3, 1, 2}, {2, 1, 0}, {2, 2, 1}, {5, 1, 2}, {5, 3, 1},
                                     {3, 3, 0}, {4, 2, 3}, {1, 3, 0}, {2, 3, 0}};
    static const struct nn_shape shapes[] = {{5, 7, 1}, {6, 5, 3}, {9, 8, 2}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (size_t s = 0; s < 3; s++)
            check_conv(ctx, 1 + (int)(i + s) % 5, shapes[s], 1 + (int)i % 4, kernels[i][0],
                       kernels[i][1], kernels[i][2], i & 1);
    /* several blocks of pixels */
    check_conv(ctx, 3, (struct nn_shape){15, 17, 16}, 16, 3, 1, 1, false);
    check_conv(ctx, 2, (struct nn_shape){17, 15, 16}, 32, 3, 2, 1, false);
    /* rows longer than most blocks */
    check_conv(ctx, 1, (struct nn_shape){4, 3, 300}, 5, 3, 1, 1, true);
}

/* --- linear
 * ---------------------------------------------------------------------------------------------- */
static void linear_y(struct layer *l)
{
    nn_cpu.linear_forward(l->ctx, l->batch, l->g.in.c, l->g.out.c, l->vars[0].v, l->vars[1].v,
                          l->vars[2].v, l->y);
}

static void linear_d(struct layer *l)
{
    nn_cpu.linear_backward(l->ctx, l->batch, l->g.in.c, l->g.out.c, l->vars[0].v, l->vars[1].v,
                           l->dy, l->vars[0].d, l->vars[1].d, l->vars[2].d);
}

static void check_linear(void *ctx, int batch, int in, int out)
{
    struct layer l = {.batch = batch, .ctx = ctx, .forward = linear_y, .backward = linear_d};
    l.g = (struct nn_window){.in = {1, 1, in}, .out = {1, 1, out}};
    snprintf(l.name, sizeof l.name, "linear %dx%d -> %d", batch, in, out);
    add_var(&l, (size_t)(batch * in), 1);
    add_var(&l, (size_t)(in * out), 2);
    add_var(&l, (size_t)out, 3);
    set_output(&l, (size_t)(batch * out));
    check_layer(&l);
    close_layer(&l);
}

/* --- batch norm
 * ------------------------------------------------------------------------------------------ */
static void norm_y(struct layer *l)
{
    const double *addend = l->f.addend ? l->vars[3].v : NULL;
    nn_cpu.norm_forward(l->ctx, &l->f, l->vars[0].n / (size_t)l->f.c, l->vars[0].v, addend, l->y,
                        l->scratch);
}

static void norm_d(struct layer *l)
{
    size_t n = l->vars[0].n / (size_t)l->f.c, bytes = l->n_y * sizeof(double);
    double *dx = l->vars[0].d;
    if (!l->f.addend) /* in place */
        dx = memcpy(dx, l->dy, bytes);
    nn_cpu.norm_backward(l->ctx, &l->f, n, l->vars[0].v, l->y, l->f.addend ? l->dy : dx, dx,
                         l->vars[1].d, l->vars[2].d, l->scratch);
    if (l->f.addend)
        memcpy(l->vars[3].d, l->dy, bytes);
}

static void check_norm(void *ctx, int pixels, int c, bool relu, bool addend)
{
    struct layer l = {.ctx = ctx, .forward = norm_y, .backward = norm_d, .bends = relu};
    size_t n = (size_t)(pixels * c), bytes;
    snprintf(l.name, sizeof l.name, "norm of %d pixels, %d channels%s%s", pixels, c,
             addend ? ", addend" : "", relu ? ", relu" : "");
    nn_cpu.norm_plan(ctx, c, &bytes);
    l.scratch = buf_alloc(bytes);
    add_var(&l, n, 1);
    add_var(&l, (size_t)c, 2);
    add_var(&l, (size_t)c, 3);
    if (addend)
        add_var(&l, n, 4);
    set_output(&l, n);
    double *more = new_reals(4 * (size_t)c);
    l.f = (struct nn_norm){c,           relu, addend,   1e-5,         0.1,         l.vars[1].v,
                           l.vars[2].v, more, more + c, more + 2 * c, more + 3 * c};
    check_layer(&l);
    close_layer(&l);
    free(more);
}

static void check_norms(void *ctx)
{
    static const int sizes[][2] = {{4, 1},   {33, 3},  {300, 1}, {40, 16},
                                   {65, 24}, {9, 130}, {5, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int how = 0; how < 4; how++)
            check_norm(ctx, sizes[i][0], sizes[i][1], how & 1, how & 2);
    check_norm(ctx, 2500, 2, true, true); /* several tiles */
}

/* --- layers without weights
 * ------------------------------------------------------------------------------ */
#define WEIGHTLESS(name, forward_call, backward_call) \
    static void name##_y(struct layer *l)             \
    {                                                 \
        nn_cpu.forward_call;                          \
    }                                                 \
    static void name##_d(struct layer *l)             \
    {                                                 \
        nn_cpu.backward_call;                         \
    }
#define X  l->vars[0].v
#define DX l->vars[0].d
WEIGHTLESS(max, pool_max_forward(l->ctx, &l->g, l->batch, X, l->y),
           pool_max_backward(l->ctx, &l->g, l->batch, X, l->y, l->dy, DX))
WEIGHTLESS(avg, pool_avg_forward(l->ctx, &l->g, l->batch, X, l->y),
           pool_avg_backward(l->ctx, &l->g, l->batch, l->dy, DX))
WEIGHTLESS(mean, mean_forward(l->ctx, l->batch, l->g.in.h * l->g.in.w, l->g.in.c, X, l->y),
           mean_backward(l->ctx, l->batch, l->g.in.h * l->g.in.w, l->g.in.c, l->dy, DX))
WEIGHTLESS(shortcut, shortcut_forward(l->ctx, l->g.in, l->g.out.c, l->batch, X, l->y),
           shortcut_backward(l->ctx, l->g.in, l->g.out.c, l->batch, l->dy, DX))
WEIGHTLESS(relu, relu_forward(l->ctx, l->n_y, X, l->y),
           relu_backward(l->ctx, l->n_y, l->y, l->dy, DX))
static const uint64_t dropout_key = 5;
WEIGHTLESS(dropout, dropout(l->ctx, l->n_y, l->p, &dropout_key, 1, X, l->y),
           dropout(l->ctx, l->n_y, l->p, &dropout_key, 1, l->dy, DX))
WEIGHTLESS(scale, scale(l->ctx, l->n_y, l->p, X, l->y), scale(l->ctx, l->n_y, l->p, l->dy, DX))

static void check_weightless(void *ctx, const char *name, void (*forward)(struct layer *),
                             void (*backward)(struct layer *), int batch, struct nn_window g)
{
    struct layer l = {
        .batch = batch, .ctx = ctx, .g = g, .forward = forward, .backward = backward, .p = 0.4};
    snprintf(l.name, sizeof l.name, "%s %dx%dx%dx%d -> %d, k %d, stride %d, pad %d", name, batch,
             g.in.h, g.in.w, g.in.c, g.out.c, g.k, g.stride, g.pad);
    add_var(&l, elements(g.in, batch), 1);
    set_output(&l, elements(g.out, batch));
    l.bends = forward == relu_y;
    for (size_t i = 0; forward == max_y && i < l.vars[0].n; i++) /* all distinct, 1/n apart */
        l.vars[0].v[i] = (double)((i * 7919) % 10007) / 10007;
    check_layer(&l);
    close_layer(&l);
}

static void check_all_weightless(void *ctx)
{
    static const int windows[][3] = {{2, 2, 0}, {3, 2, 1}, {3, 1, 1}, {2, 1, 0},
                                     {4, 3, 2}, {5, 2, 0}, {1, 1, 0}, {2, 3, 0}};
    static const struct nn_shape shapes[] = {{5, 7, 1}, {8, 6, 3}, {7, 7, 16}};
    for (int s = 0; s < 3; s++) {
        struct nn_shape in = shapes[s];
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            struct nn_window g = window(in, in.c, windows[i][0], windows[i][1], windows[i][2]);
            check_weightless(ctx, "max pool", max_y, max_d, 1 + s, g);
            check_weightless(ctx, "avg pool", avg_y, avg_d, 1 + s, g);
        }
        struct nn_window same = {.in = in, .out = in};
        check_weightless(ctx, "relu", relu_y, relu_d, 2, same);
        check_weightless(ctx, "dropout", dropout_y, dropout_d, 2, same);
        check_weightless(ctx, "scale", scale_y, scale_d, 2, same);
        check_weightless(ctx, "mean", mean_y, mean_d, 3,
                         (struct nn_window){.in = in, .out = {1, 1, in.c}});
        struct nn_window half = {.in = in, .out = {(in.h + 1) / 2, (in.w + 1) / 2, 2 * in.c}};
        check_weightless(ctx, "shortcut", shortcut_y, shortcut_d, 3, half);
    }
}

/* --- softmax cross-entropy: its value is the function, no weights needed
 * --------------------------------- */
static void loss_y(struct layer *l)
{
    struct nn_result r;
    nn_cpu.softmax_loss(l->ctx, l->batch, l->g.in.c, X, l->labels, NULL, &r);
    l->y[0] = r.loss_sum / l->batch;
}

static void loss_d(struct layer *l)
{
    struct nn_result r;
    nn_cpu.softmax_loss(l->ctx, l->batch, l->g.in.c, X, l->labels, DX, &r);
}

static void check_loss(void *ctx, int batch, int classes, double scale)
{
    struct layer l = {
        .batch = batch, .ctx = ctx, .g.in.c = classes, .forward = loss_y, .backward = loss_d};
    snprintf(l.name, sizeof l.name, "loss of %d images, %d classes, logits up to %g", batch,
             classes, scale);
    add_var(&l, (size_t)(batch * classes), 1);
    for (size_t i = 0; i < l.vars[0].n; i++)
        l.vars[0].v[i] *= scale;
    set_output(&l, 1);
    l.r[0] = 1;
    l.labels = calloc((size_t)batch, sizeof *l.labels);
    for (int i = 0; i < batch; i++)
        l.labels[i] = (i * 3 + 1) % classes;
    check_layer(&l);
    close_layer(&l);
}

int main(void)
{
    void *ctx;
    nn_cpu_threads(1);
    if (nn_cpu.open(NULL, &ctx) < 0)
        return 1;
    puts("seeds: x 1, weights 2, biases 3, addend 4, dropout 5, r 99");
    check_convs(ctx);
    check_linear(ctx, 1, 7, 3);
    check_linear(ctx, 5, 40, 11);
    check_norms(ctx);
    check_all_weightless(ctx);
    check_loss(ctx, 1, 2, 1);
    check_loss(ctx, 5, 10, 4);
    check_loss(ctx, 3, 10, 30);
    printf("%d points, worst relative error %.2g, %d skipped at a bend\n", n_points, worst_error,
           n_skipped);
    CHECK(n_skipped * 20 < n_points, "%d of %d points skipped", n_skipped, n_points);
    nn_cpu.close(ctx);
    DONE();
}
