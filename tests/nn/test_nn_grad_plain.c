/* test_nn_grad_plain.c : compares gradients of layers without weights, and of the loss, with
 * central differences. */
#include "nn_grad.h"
#include "hls/nn/gelu.h"

#define X  l->vars[0].v
#define DX l->vars[0].d

#define WEIGHTLESS(name, forward_call, backward_call) \
    static void name##_y(struct layer *l)             \
    {                                                 \
        nn_cpu.forward_call;                          \
    }                                                 \
    static void name##_d(struct layer *l)             \
    {                                                 \
        nn_cpu.backward_call;                         \
    }
WEIGHTLESS(max, pool_max_forward(l->ctx, &l->g, l->batch, X, l->y),
           pool_max_backward(l->ctx, &l->g, l->batch, X, l->y, l->dy, DX))
WEIGHTLESS(avg, pool_avg_forward(l->ctx, &l->g, l->batch, X, l->y),
           pool_avg_backward(l->ctx, &l->g, l->batch, l->dy, DX, false))
WEIGHTLESS(bilinear, bilinear_forward(l->ctx, l->g.in, l->g.out, l->batch, X, l->y),
           bilinear_backward(l->ctx, l->g.in, l->g.out, l->batch, l->dy, DX))
WEIGHTLESS(mean, mean_forward(l->ctx, l->batch, l->g.in.h * l->g.in.w, l->g.in.c, X, l->y),
           mean_backward(l->ctx, l->batch, l->g.in.h * l->g.in.w, l->g.in.c, l->dy, DX))
WEIGHTLESS(shortcut, shortcut_forward(l->ctx, l->g.in, l->g.out.c, l->batch, X, l->y),
           shortcut_backward(l->ctx, l->g.in, l->g.out.c, l->batch, l->dy, DX))
WEIGHTLESS(gelu, gelu_forward(l->ctx, l->n_y, X, l->y), gelu_backward(l->ctx, l->n_y, X, l->dy, DX))
WEIGHTLESS(relu, relu_forward(l->ctx, l->n_y, X, l->y),
           relu_backward(l->ctx, l->n_y, l->y, l->dy, DX))
static const uint64_t dropout_key = 5;
WEIGHTLESS(dropout, dropout(l->ctx, l->n_y, l->p, &dropout_key, 1, X, l->y),
           dropout(l->ctx, l->n_y, l->p, &dropout_key, 1, l->dy, DX))
WEIGHTLESS(
    lrn, lrn_forward(l->ctx, (size_t)(l->batch * l->g.in.h * l->g.in.w), l->g.in.c, l->p, X, l->y),
    lrn_backward(l->ctx, (size_t)(l->batch * l->g.in.h * l->g.in.w), l->g.in.c, l->p, X, l->dy, DX))
WEIGHTLESS(scale, scale(l->ctx, l->n_y, l->p, X, l->y), scale(l->ctx, l->n_y, l->p, l->dy, DX))

static void check_weightless(void *ctx, const char *name, void (*forward)(struct layer *),
                             void (*backward)(struct layer *), int batch, struct nn_window g)
{
    struct layer l = {
        .batch = batch, .ctx = ctx, .g = g, .forward = forward, .backward = backward, .p = 0.4};
    snprintf(l.name, sizeof l.name, "%s %dx%dx%dx%d -> %d, k %d, stride %d, pad %d", name, batch,
             g.in.h, g.in.w, g.in.c, g.out.c, g.k, g.stride, g.pad);
    add_var(&l, batch_elements(g.in, batch), 1);
    set_output(&l, batch_elements(g.out, batch));
    l.bends = forward == relu_y;
    for (size_t i = 0; forward == max_y && i < l.vars[0].n; i++) /* distinct, 1/n apart */
        l.vars[0].v[i] = (double)((i * 7919) % 10007) / 10007;
    for (size_t i = 0; forward == gelu_y && i < l.vars[0].n; i++) /* also its tails */
        l.vars[0].v[i] *= 7;
    check_layer(&l);
    close_layer(&l);
}

/* Below zero the error is relative, far into the tail. */
static void check_gelu(void)
{
    double worst = 0;
    for (double x = -GELU_END + 0.07; x < 12; x += 0.0137) {
        const struct gelu g = gelu_at(x);
        const double share = erfc(-x / sqrt(2)) / 2,
                     slope = share + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
        const double error = check_max(fabs(g.share / share - 1), fabs(g.slope - slope));
        worst = check_max(worst, error);
        CHECK(error < 1e-9, "gelu at %g: %.15g, %.15g, not %.15g, %.15g", x, g.share, g.slope,
              share, slope);
    }
    CHECK(gelu_at(-GELU_END).share == 0 && gelu_at(INFINITY).share == 1, "ends of gelu");
    CHECK(isnan(gelu_at(NAN).share) && isnan(gelu_at(NAN).slope), "nan is lost");
    printf("gelu's worst error %.2g\n", worst);
}

static void check_all_weightless(void *ctx)
{
    static const int windows[][3] = {{2, 2, 0}, {3, 2, 1}, {3, 1, 1}, {2, 1, 0},
                                     {4, 3, 2}, {5, 2, 0}, {1, 1, 0}, {2, 3, 0}};
    static const struct nn_shape shapes[] = {{5, 7, 1}, {8, 6, 3}, {7, 7, 16}};
    for (int c = 94; c <= 200; c += 3) { /* several runs of channels */
        struct nn_window pixels = {.in = {1, 2, c}, .out = {1, 2, c}};
        check_weightless(ctx, "lrn", lrn_y, lrn_d, 1, pixels);
    }
    for (int s = 0; s < 3; s++) {
        struct nn_shape in = shapes[s];
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            struct nn_window g = window(in, in.c, windows[i][0], windows[i][1], windows[i][2]);
            check_weightless(ctx, "max pool", max_y, max_d, 1 + s, g);
            check_weightless(ctx, "avg pool", avg_y, avg_d, 1 + s, g);
        }
        /* the last windows pass the edge, as in pooling that rounds up */
        for (int k = 2; k <= 3; k++) {
            struct nn_window up = window(in, in.c, k, 2, 0);
            up.out.h = (in.h - k + 1) / 2 + 1;
            up.out.w = (in.w - k + 1) / 2 + 1;
            check_weightless(ctx, "max pool, rounded up", max_y, max_d, 1 + s, up);
        }
        struct nn_window same = {.in = in, .out = in};
        check_weightless(ctx, "relu", relu_y, relu_d, 2, same);
        check_weightless(ctx, "gelu", gelu_y, gelu_d, 2, same);
        check_weightless(ctx, "dropout", dropout_y, dropout_d, 2, same);
        check_weightless(ctx, "scale", scale_y, scale_d, 2, same);
        check_weightless(ctx, "lrn", lrn_y, lrn_d, 2, same);
        check_weightless(ctx, "mean", mean_y, mean_d, 3,
                         (struct nn_window){.in = in, .out = {1, 1, in.c}});
        struct nn_window half = {.in = in, .out = {(in.h + 1) / 2, (in.w + 1) / 2, 2 * in.c}};
        check_weightless(ctx, "shortcut", shortcut_y, shortcut_d, 3, half);
    }
}

static void check_bilinear(void *ctx)
{
    static const int sides[][4] = {{3, 4, 24, 32}, {1, 5, 7, 9},  {4, 3, 4, 3},
                                   {5, 2, 11, 3},  {7, 6, 8, 13}, {2, 1, 9, 1}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int c = 1; c <= 19; c += 9) {
            const int *s = sides[i];
            struct nn_window g = {.in = {s[0], s[1], c}, .out = {s[2], s[3], c}};
            check_weightless(ctx, "bilinear", bilinear_y, bilinear_d, 2, g);
        }
}

static void concat_y(struct layer *l)
{
    const int all = l->g.out.c;
    for (int k = 0, at = 0; k < l->n_vars; k++) {
        const int c = (int)(l->vars[k].n / (l->n_y / (size_t)all));
        nn_cpu.concat_forward(l->ctx, l->n_y / (size_t)all, c, l->vars[k].v, at, all, l->y);
        at += c;
    }
}

static void concat_d(struct layer *l)
{
    const int all = l->g.out.c;
    for (int k = 0, at = 0; k < l->n_vars; k++) {
        const int c = (int)(l->vars[k].n / (l->n_y / (size_t)all));
        nn_cpu.concat_backward(l->ctx, l->n_y / (size_t)all, c, l->dy, at, all, l->vars[k].d);
        at += c;
    }
}

static void check_concat(void *ctx, int pixels, int a, int b, int c)
{
    struct layer l = {.ctx = ctx, .g.out.c = a + b + c, .forward = concat_y, .backward = concat_d};
    snprintf(l.name, sizeof l.name, "concat of %d, %d and %d channels", a, b, c);
    add_var(&l, (size_t)(pixels * a), 1);
    add_var(&l, (size_t)(pixels * b), 2);
    add_var(&l, (size_t)(pixels * c), 3);
    set_output(&l, (size_t)(pixels * (a + b + c)));
    check_layer(&l);
    close_layer(&l);
}

static void loss_y(struct layer *l)
{
    struct nn_result r;
    nn_cpu.softmax_loss(l->ctx, l->batch, l->g.in.c, l->p, X, l->labels, NULL, &r);
    l->y[0] = r.loss_sum / l->batch;
}

static void loss_d(struct layer *l)
{
    struct nn_result r;
    nn_cpu.softmax_loss(l->ctx, l->batch, l->g.in.c, l->p, X, l->labels, DX, &r);
}

static void check_loss(void *ctx, int batch, int classes, double scale, double smoothing)
{
    struct layer l = {.batch = batch,
                      .ctx = ctx,
                      .g.in.c = classes,
                      .p = smoothing,
                      .forward = loss_y,
                      .backward = loss_d};
    snprintf(l.name, sizeof l.name, "loss of %d images, %d classes, logits up to %g, smoothing %g",
             batch, classes, scale, smoothing);
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

static void dense_y(struct layer *l)
{
    struct nn_result r;
    nn_cpu.dense_loss(l->ctx, l->batch, l->g.in.c, l->p, X, l->labels, NULL, NULL, &r, NULL);
    l->y[0] = r.n_labels ? r.loss_sum / r.n_labels : 0;
}

static void dense_d(struct layer *l)
{
    struct nn_result r;
    nn_cpu.dense_loss(l->ctx, l->batch, l->g.in.c, l->p, X, l->labels, DX, NULL, &r, NULL);
}

static void check_dense(void *ctx, int rows, int classes, int every, double smoothing)
{
    struct layer l = {.batch = rows,
                      .ctx = ctx,
                      .g.in.c = classes,
                      .p = smoothing,
                      .forward = dense_y,
                      .backward = dense_d};
    snprintf(l.name, sizeof l.name, "loss of %d rows, %d classes, every %d, smoothing %g", rows,
             classes, every, smoothing);
    add_var(&l, (size_t)(rows * classes), 1);
    set_output(&l, 1);
    l.r[0] = 1;
    l.labels = calloc((size_t)rows, sizeof *l.labels);
    for (int i = 0; i < rows; i++)
        l.labels[i] = every && i % every == 0 ? (i * 3 + 1) % classes : i % 2 ? -1 : 255;
    check_layer(&l);
    close_layer(&l);
}

int main(void)
{
    void *ctx = open_cpu();
    check_all_weightless(ctx);
    check_gelu();
    check_bilinear(ctx);
    check_concat(ctx, 1, 1, 1, 1);
    check_concat(ctx, 6, 3, 17, 2);
    check_concat(ctx, 20, 16, 8, 33);
    for (int i = 0; i < 3; i++) {
        const double smoothing = (double[]){0, 0.1, 0.9}[i];
        check_loss(ctx, 1, 2, 1, smoothing);
        check_loss(ctx, 5, 10, 4, smoothing);
        check_loss(ctx, 3, 10, 30, smoothing);
        check_dense(ctx, 7, 5, 1, smoothing);
        check_dense(ctx, 30, 19, 3, smoothing);
        check_dense(ctx, 6, 4, 0, smoothing);
    }
    close_cpu(ctx);
    DONE();
}
