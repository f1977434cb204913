/* test_nn_grad.c : compares gradients of layers with weights with central differences. */
#include "nn_grad.h"

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

static void check_window(void *ctx, int batch, struct nn_window g, bool bias)
{
    struct layer l = {.batch = batch, .ctx = ctx, .g = g, .forward = conv_y, .backward = conv_d};
    const struct nn_shape in = g.in;
    const int out_c = g.out.c, k = g.k;
    size_t bytes;
    snprintf(l.name, sizeof l.name,
             "conv %dx%dx%dx%d -> %d, k %d, stride %d, pad %d, groups %d, dilation %d%s", batch,
             in.h, in.w, in.c, out_c, k, g.stride, g.pad, g.groups, g.dilation,
             bias ? ", bias" : "");
    nn_cpu.conv_plan(ctx, &l.g, true, true, batch, &bytes);
    l.scratch = buf_alloc(bytes);
    add_var(&l, batch_elements(in, batch), 1);
    add_var(&l, (size_t)(out_c * k * k * in.c / g.groups), 2);
    if (bias)
        add_var(&l, (size_t)out_c, 3);
    set_output(&l, batch_elements(l.g.out, batch));
    check_layer(&l);
    close_layer(&l);
}

static void check_conv_groups(void *ctx, int batch, struct nn_shape in, int out_c, int k,
                              int stride, int pad, int groups, bool bias)
{
    struct nn_window g = window(in, out_c, k, stride, pad);
    g.groups = groups;
    g.block_least = groups > 1 ? 48 : 0;
    check_window(ctx, batch, g, bias);
}

static void check_conv(void *ctx, int batch, struct nn_shape in, int out_c, int k, int stride,
                       int pad, bool bias)
{
    check_conv_groups(ctx, batch, in, out_c, k, stride, pad, 1, bias);
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

static void check_groups(void *ctx)
{
    static const int kernels[][3] = {{1, 1, 0}, {3, 1, 1}, {3, 2, 1}, {5, 1, 2}, {4, 3, 0}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const int *k = kernels[i];
        check_conv_groups(ctx, 3, (struct nn_shape){6, 5, 4}, 6, k[0], k[1], k[2], 2, i & 1);
        check_conv_groups(ctx, 2, (struct nn_shape){5, 7, 6}, 3, k[0], k[1], k[2], 3, !(i & 1));
    }
    check_conv_groups(ctx, 2, (struct nn_shape){5, 4, 5}, 5, 3, 1, 1, 5, true);
    check_conv_groups(ctx, 3, (struct nn_shape){15, 17, 16}, 32, 3, 1, 1, 2, false);
    check_conv_groups(ctx, 1, (struct nn_shape){9, 8, 130}, 4, 3, 1, 1, 2, true);
}

static void check_dilated(void *ctx)
{
    static const struct {
        int k, stride, pad, dilation, groups;
    } cases[] = {{3, 1, 2, 2, 1}, {3, 1, 4, 4, 1}, {3, 1, 0, 2, 1}, {3, 1, 3, 2, 2},
                 {3, 2, 2, 2, 1}, {2, 1, 1, 3, 1}, {5, 1, 1, 2, 1}, {2, 3, 2, 2, 2},
                 {1, 1, 0, 4, 1}, {3, 1, 7, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int c = 2; c <= 34; c += 32) {
            struct nn_window g = {.in = {9, 8, c},
                                  .k = cases[i].k,
                                  .stride = cases[i].stride,
                                  .pad = cases[i].pad,
                                  .groups = cases[i].groups,
                                  .dilation = cases[i].dilation};
            g.out = (struct nn_shape){(9 + 2 * g.pad - window_reach(g) - 1) / g.stride + 1,
                                      (8 + 2 * g.pad - window_reach(g) - 1) / g.stride + 1, 4};
            check_window(ctx, 1 + (int)i % 3, g, i & 1);
        }
}

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

static void norm_y(struct layer *l)
{
    const double *addend = l->f.addend ? l->vars[3].v : NULL;
    nn_cpu.batch_norm_forward(l->ctx, &l->f, l->vars[0].n / (size_t)l->f.c, l->vars[0].v, addend,
                              l->y, l->scratch);
}

static void norm_d(struct layer *l)
{
    size_t n = l->vars[0].n / (size_t)l->f.c, bytes = l->n_y * sizeof(double);
    double *dx = l->vars[0].d;
    if (!l->f.addend)
        dx = memcpy(dx, l->dy, bytes);
    nn_cpu.batch_norm_backward(l->ctx, &l->f, n, l->vars[0].v, l->f.addend ? l->vars[3].v : NULL,
                               l->y, l->f.addend ? l->dy : dx, dx, l->vars[1].d, l->vars[2].d,
                               l->scratch);
    if (l->f.addend)
        memcpy(l->vars[3].d, l->dy, bytes);
}

static void check_norm_form(void *ctx, int pixels, int c, bool relu, bool addend, double factor,
                            bool swapped)
{
    struct layer l = {.ctx = ctx, .forward = norm_y, .backward = norm_d, .bends = relu};
    size_t n = (size_t)(pixels * c), bytes;
    snprintf(l.name, sizeof l.name, "norm of %d pixels, %d channels%s%s%s, times %g", pixels, c,
             addend ? ", addend" : "", relu ? ", relu" : "", swapped ? ", swapped" : "", factor);
    nn_cpu.batch_norm_plan(ctx, c, &bytes);
    l.scratch = buf_alloc(bytes);
    add_var(&l, n, 1);
    add_var(&l, (size_t)c, 2);
    add_var(&l, (size_t)c, 3);
    if (addend)
        add_var(&l, n, 4);
    set_output(&l, n);
    double *more = new_reals(4 * (size_t)c);
    l.f = (struct nn_batch_norm){
        c,    relu,     addend,       1e-5,         0.1,    l.vars[1].v, l.vars[2].v,
        more, more + c, more + 2 * c, more + 3 * c, factor, swapped};
    check_layer(&l);
    close_layer(&l);
    free(more);
}

static void check_norm(void *ctx, int pixels, int c, bool relu, bool addend)
{
    check_norm_form(ctx, pixels, c, relu, addend, 1, false);
    check_norm_form(ctx, pixels, c, relu, addend, 0.25, false);
    if (addend) {
        check_norm_form(ctx, pixels, c, relu, true, 1, true);
        check_norm_form(ctx, pixels, c, relu, true, 0.25, true);
    }
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

static void layer_norm_y(struct layer *l)
{
    nn_cpu.layer_norm_forward(l->ctx, l->n_y / (size_t)l->g.in.c, l->g.in.c, 1e-5, l->vars[0].v,
                              l->vars[1].v, l->vars[2].v, l->y);
}

static void layer_norm_d(struct layer *l)
{
    const size_t n = l->n_y / (size_t)l->g.in.c;
    double *x = l->vars[0].v, *gamma = l->vars[1].v, *dx = new_reals(l->n_y);
    for (size_t i = 0; i < l->n_y; i++)
        dx[i] = 1;
    nn_cpu.layer_norm_backward(l->ctx, n, l->g.in.c, 1e-5, x, gamma, l->dy, dx, true, l->vars[1].d,
                               l->vars[2].d, l->scratch);
    nn_cpu.layer_norm_backward(l->ctx, n, l->g.in.c, 1e-5, x, gamma, l->dy, l->vars[0].d, false,
                               l->vars[1].d, l->vars[2].d, l->scratch);
    for (size_t i = 0; i < l->n_y; i++)
        CHECK(fabs(dx[i] - 1 - l->vars[0].d[i]) < 1e-12, "%s: add: %g, not 1 + %g", l->name, dx[i],
              l->vars[0].d[i]);
    free(dx);
}

static void check_layer_norm(void *ctx, int rows, int c)
{
    struct layer l = {.ctx = ctx, .g.in.c = c, .forward = layer_norm_y, .backward = layer_norm_d};
    size_t bytes;
    snprintf(l.name, sizeof l.name, "layer norm of %d rows, %d channels", rows, c);
    nn_cpu.layer_norm_plan(ctx, (size_t)rows, c, &bytes);
    l.scratch = buf_alloc(bytes);
    add_var(&l, (size_t)(rows * c), 1);
    add_var(&l, (size_t)c, 2);
    add_var(&l, (size_t)c, 3);
    set_output(&l, (size_t)(rows * c));
    check_layer(&l);
    close_layer(&l);
}

int main(void)
{
    void *ctx = open_cpu();
    check_convs(ctx);
    check_groups(ctx);
    check_dilated(ctx);
    check_linear(ctx, 1, 7, 3);
    check_linear(ctx, 5, 40, 11);
    check_norms(ctx);
    check_layer_norm(ctx, 1, 5);
    check_layer_norm(ctx, 9, 33);
    check_layer_norm(ctx, 300, 4);
    check_layer_norm(ctx, 3, 130);
    close_cpu(ctx);
    DONE();
}
