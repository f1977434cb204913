/* test_nn_ops.c : compares the CPU's layers in float with plain loops in double. */
#include <math.h>
#include <string.h>
#include "check.h"
#include "nn_inputs.h"

/* n roundings of partial sums of about sqrt(n) add up like a random walk to n * 2^-24; 4 is a
 * margin. */
static double sum_bound(size_t n)
{
    return 4 * (double)n * 0x1p-24;
}

static double *zeros(size_t n)
{
    double *x = buf_alloc((n + 1) * sizeof *x);
    if (!x)
        exit(1);
    return x;
}

struct conv {
    struct nn_window g;
    int batch;
    const real *x, *w, *bias, *dy;
    double *y, *dx, *dw, *dbias;
};

static void slow_conv(struct conv *c)
{
    const struct nn_window *g = &c->g;
    struct nn_shape in = g->in, out = g->out;
    for (int b = 0; b < c->batch; b++)
        for (int oy = 0; oy < out.h; oy++)
            for (int ox = 0; ox < out.w; ox++)
                for (int o = 0; o < out.c; o++) {
                    size_t at_y =
                        (((size_t)b * (size_t)out.h + (size_t)oy) * (size_t)out.w + (size_t)ox) *
                            (size_t)out.c +
                        (size_t)o;
                    double dy = (double)c->dy[at_y];
                    c->y[at_y] = (double)c->bias[o];
                    c->dbias[o] += dy;
                    for (int ky = 0; ky < g->k; ky++)
                        for (int kx = 0; kx < g->k; kx++) {
                            int iy = oy * g->stride - g->pad + ky * g->dilation,
                                ix = ox * g->stride - g->pad + kx * g->dilation;
                            if (iy < 0 || iy >= in.h || ix < 0 || ix >= in.w)
                                continue;
                            const int part_c = in.c / g->groups,
                                      first = o / (out.c / g->groups) * part_c;
                            for (int i = 0; i < part_c; i++) {
                                size_t at_x =
                                    (size_t)(((b * in.h + iy) * in.w + ix) * in.c + first + i);
                                size_t at_w = (size_t)(((o * g->k + ky) * g->k + kx) * part_c + i);
                                c->y[at_y] += (double)c->x[at_x] * (double)c->w[at_w];
                                c->dx[at_x] += dy * (double)c->w[at_w];
                                c->dw[at_w] += dy * (double)c->x[at_x];
                            }
                        }
                }
}

static void check_dilated(void *ctx, int batch, struct nn_shape in, int out_c, int k, int stride,
                          int pad, int groups, int dilation)
{
    char name[112];
    const int reach = (k - 1) * dilation + 1;
    struct nn_window g = {
        in,
        {(in.h + 2 * pad - reach) / stride + 1, (in.w + 2 * pad - reach) / stride + 1, out_c},
        k,
        stride,
        pad,
        groups,
        groups > 1 ? 40 : 0,
        dilation};
    size_t n_x = batch_elements(in, batch), n_y = batch_elements(g.out, batch),
           n_w = (size_t)(out_c * k * k * in.c / groups), bytes;
    real *x = uniforms(n_x, 1), *w = uniforms(n_w, 2), *bias = uniforms((size_t)out_c, 3),
         *dy = uniforms(n_y, 4);
    real *y = uniforms(n_y, 5), *dx = uniforms(n_x, 5), *dw = uniforms(n_w, 5),
         *dbias = uniforms((size_t)out_c, 5);
    struct conv slow = {g,  batch,      x,          w,          bias,
                        dy, zeros(n_y), zeros(n_x), zeros(n_w), zeros((size_t)out_c)};
    slow_conv(&slow);
    nn_cpu.conv_plan(ctx, &g, true, true, batch, &bytes);
    void *scratch = buf_alloc(bytes);
    memset(scratch, 0xff, bytes); /* nan shows reads before the first write */
    nn_cpu.conv_forward(ctx, &g, batch, x, w, bias, y, scratch);
    nn_cpu.conv_backward(ctx, &g, batch, x, w, dy, dx, false, dw, dbias, scratch);
    size_t per_y = (size_t)(k * k * in.c), per_x = (size_t)(k * k * out_c),
           per_w = batch_elements(g.out, batch) / (size_t)out_c;
    snprintf(name, sizeof name,
             "conv %dx%dx%dx%d -> %d, k %d, stride %d, pad %d, groups %d, dilation %d", batch, in.h,
             in.w, in.c, out_c, k, stride, pad, groups, dilation);
    check_near(name, y, slow.y, n_y, sum_bound(per_y + 1));
    check_near(name, dx, slow.dx, n_x, sum_bound(per_x));
    check_near(name, dw, slow.dw, n_w, sum_bound(per_w));
    check_near(name, dbias, slow.dbias, (size_t)out_c, sum_bound(per_w));
    void *all[] = {x, w, bias, dy, y, dx, dw, dbias, scratch, slow.y, slow.dx, slow.dw, slow.dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void check_conv(void *ctx, int batch, struct nn_shape in, int out_c, int k, int stride,
                       int pad, int groups)
{
    check_dilated(ctx, batch, in, out_c, k, stride, pad, groups, 1);
}

struct norm_case {
    size_t n;
    int c;
    bool relu, addend;
    double offset;
};

/* var is the biased variance. */
static void slow_moments(const real *x, size_t n, size_t c, size_t i, double *mean, double *var)
{
    *mean = *var = 0;
    for (size_t r = 0; r < n; r++)
        *mean += (double)x[r * c + i] / (double)n;
    for (size_t r = 0; r < n; r++)
        *var += pow((double)x[r * c + i] - *mean, 2) / (double)n;
}

static void check_norm(void *ctx, struct norm_case k)
{
    char name[96];
    snprintf(name, sizeof name, "norm of %zu pixels, %d channels around %g", k.n, k.c, k.offset);
    size_t c = (size_t)k.c, n = k.n * c, bytes;
    real *x = uniforms(n, 1), *addend = uniforms(n, 2), *y = uniforms(n, 5), *dy = uniforms(n, 4),
         *dx = uniforms(n, 5);
    real *f = uniforms(8 * c, 6), *gamma = f, *beta = f + c, *run_mean = f + 2 * c,
         *run_var = f + 3 * c;
    real *dgamma = f + 6 * c, *dbeta = f + 7 * c, *dy_in = uniforms(n, 4);
    double *want = zeros(n), *want_eval = zeros(n), *want_dx = zeros(n), *want_mean = zeros(c),
           *want_var = zeros(c);
    double *want_dgamma = zeros(c), *want_dbeta = zeros(c), *want_dadd = zeros(n);
    for (size_t i = 0; i < n; i++)
        x[i] += (real)k.offset;
    for (size_t i = 0; i < c; i++) {
        double mean, var, dot = 0, sum = 0;
        run_var[i] += 2;
        slow_moments(x, k.n, c, i, &mean, &var);
        want_mean[i] = 0.9 * (double)run_mean[i] + 0.1 * mean;
        want_var[i] = 0.9 * (double)run_var[i] + 0.1 * var * (double)k.n / (double)(k.n - 1);
        for (size_t j = i; j < n; j += c) {
            double more = (double)beta[i] + (k.addend ? (double)addend[j] : 0);
            want[j] = ((double)x[j] - mean) / sqrt(var + 1e-5) * (double)gamma[i] + more;
            want_eval[j] =
                ((double)x[j] - want_mean[i]) / sqrt(want_var[i] + 1e-5) * (double)gamma[i] + more;
            want_dadd[j] = k.relu && want[j] <= 0 ? 0 : (double)dy[j];
            sum += want_dadd[j];
            dot += want_dadd[j] * ((double)x[j] - mean) / sqrt(var + 1e-5);
        }
        for (size_t j = i; j < n; j += c) {
            double xhat = ((double)x[j] - mean) / sqrt(var + 1e-5);
            want_dx[j] = (double)gamma[i] / sqrt(var + 1e-5) *
                         (want_dadd[j] - sum / (double)k.n - xhat * dot / (double)k.n);
            want[j] = k.relu ? fmax(want[j], 0) : want[j];
            want_eval[j] = k.relu ? fmax(want_eval[j], 0) : want_eval[j];
        }
        want_dgamma[i] = dot, want_dbeta[i] = sum;
    }
    nn_cpu.batch_norm_plan(ctx, k.c, &bytes);
    void *scratch = buf_alloc(bytes);
    memset(scratch, 0xff, bytes);
    struct nn_batch_norm norm = {k.c,      k.relu,  k.addend,  1e-5,      0.1, gamma, beta,
                                 run_mean, run_var, f + 4 * c, f + 5 * c, 1,   false};
    nn_cpu.batch_norm_forward(ctx, &norm, k.n, x, k.addend ? addend : NULL, y, scratch);
    nn_cpu.batch_norm_backward(ctx, &norm, k.n, x, k.addend ? addend : NULL, y, dy_in,
                               k.addend ? dx : dy_in, dgamma, dbeta, scratch);
    /* x itself carries an error of eps * far, and 1 / std is about 2 */
    double eps = 0x1p-24, far = 1 + fabs(k.offset);
    check_near(name, run_mean, want_mean, c, 4 * eps * far);
    check_near(name, run_var, want_var, c, 32 * eps);
    check_near(name, y, want, n, 16 * eps * far);
    check_near(name, dbeta, want_dbeta, c, 32 * eps * sqrt((double)k.n) * 4);
    check_near(name, dgamma, want_dgamma, c, 32 * eps * sqrt((double)k.n) * 4 * far);
    check_near(name, k.addend ? dx : dy_in, want_dx, n, 64 * eps * far);
    if (k.addend)
        check_near(name, dy_in, want_dadd, n, 0);
    nn_cpu.batch_norm_eval(ctx, &norm, k.n, x, k.addend ? addend : NULL, y, scratch);
    check_near(name, y, want_eval, n, 16 * eps * far);
    void *all[] = {x,           addend,     y,         dy,      dx,        f,
                   dy_in,       want,       want_eval, want_dx, want_mean, want_var,
                   want_dgamma, want_dbeta, want_dadd, scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void check_lrn(void *ctx, size_t n, int c, double alpha)
{
    char name[96];
    const size_t all = n * (size_t)c;
    real *x = uniforms(all, 1), *y = uniforms(all, 5);
    double *want = zeros(all);
    for (size_t i = 0; i < all; i++) {
        const size_t pixel = i / (size_t)c * (size_t)c;
        double sum = 0;
        for (int j = (int)(i - pixel) - 2; j <= (int)(i - pixel) + 2; j++)
            if (j >= 0 && j < c)
                sum += pow((double)x[pixel + (size_t)j], 2);
        want[i] = (double)x[i] / pow(1 + alpha / 5 * sum, 0.75);
    }
    snprintf(name, sizeof name, "lrn of %zu pixels, %d channels, alpha %g", n, c, alpha);
    nn_cpu.lrn_forward(ctx, n, c, alpha, x, y);
    check_near(name, y, want, all, 16 * 0x1p-24);
    free(x), free(y), free(want);
}

static void check_loss(void *ctx)
{
    static const struct {
        real z[3];
        int label, correct;
        double loss, gradient;
    } rows[] = {
        {{1e30f, 0, 0}, 0, 1, 0, 0},
        {{1e30f, 0, 0}, 1, 0, 1e30, -1},
        {{-1e30f, -1e30f, -1e30f}, 0, 1, 1.0986122886681098, -2.0 / 3},
        {{88, 89, 90}, 2, 1, 0.40760596444438, 0.66524095577482 - 1},
        {{0, 0, 0}, 2, 0, 1.0986122886681098, -2.0 / 3},
        {{-200, 0, 0}, 0, 0, 200.69314718055995, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        real d[3];
        int32_t label = rows[i].label;
        struct nn_result r;
        nn_cpu.softmax_loss(ctx, 1, 3, 0, rows[i].z, &label, d, &r);
        CHECK(r.n_correct == rows[i].correct, "row %zu: correct %d", i, r.n_correct);
        CHECK(fabs(r.loss_sum - rows[i].loss) <= 1e-7 * rows[i].loss, "row %zu: loss %.15g", i,
              r.loss_sum);
        CHECK(fabs((double)d[label] - rows[i].gradient) <= 1e-7, "row %zu: gradient %.9g", i,
              (double)d[label]);
        CHECK(fabs((double)(d[0] + d[1] + d[2])) <= 2e-7, "row %zu: gradients add up to %g", i,
              (double)(d[0] + d[1] + d[2]));
    }
    static const real with_nan[2][3] = {{NAN, 0, 0}, {0, NAN, 0}};
    for (int i = 0; i < 2; i++) {
        int32_t label = 0;
        struct nn_result r;
        nn_cpu.softmax_loss(ctx, 1, 3, 0, with_nan[i], &label, NULL, &r);
        CHECK(r.n_correct == 0 && r.n_top == 0 && isnan(r.loss_sum),
              "nan %d: loss %g, correct %d, top %d", i, r.loss_sum, r.n_correct, r.n_top);
    }
}

static void check_top(void *ctx)
{
    enum { CLASSES = 9 };
    const real z[CLASSES] = {0, 3, 1, 3, -2, 1, 1, 7, 3};
    const int place[CLASSES] = {7, 1, 4, 2, 8, 5, 6, 0, 3};
    for (int32_t label = 0; label < CLASSES; label++) {
        struct nn_result r;
        nn_cpu.softmax_loss(ctx, 1, CLASSES, 0, z, &label, NULL, &r);
        CHECK(r.n_correct == (place[label] == 0) && r.n_top == (place[label] < NN_TOP),
              "label %d is in place %d: correct %d, top %d", label, place[label], r.n_correct,
              r.n_top);
        if (label < 3) {
            nn_cpu.softmax_loss(ctx, 1, 3, 0, z, &label, NULL, &r);
            CHECK(r.n_top == 1, "label %d of 3 classes is not among the five", label);
        }
    }
}

static void check_dropout(void *ctx)
{
    enum { N = 100000 };
    const uint64_t key = 9;
    real *x = uniforms(N, 1), *y = uniforms(N, 2), *dx = uniforms(N, 3), *other = uniforms(N, 4);
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    for (int tenths = 0; tenths < 10; tenths += 3) {
        double p = tenths / 10.0;
        size_t kept = 0, same = 0;
        nn_cpu.dropout(ctx, N, p, &key, 11, x, y);
        nn_cpu.dropout(ctx, N, p, &key, 11, x, dx);
        nn_cpu.dropout(ctx, N, p, &key, 12, x, other);
        CHECK(memcmp(y, dx, N * sizeof *y) == 0, "p %g: two masks of one key", p);
        for (size_t i = 0; i < N; i++) {
            kept += y[i] != 0;
            same += (y[i] != 0) == (other[i] != 0);
            CHECK(y[i] == 0 || fabs((double)y[i] * (1 - p) - 1) < 1e-6, "p %g: %g", p,
                  (double)y[i]);
        }
        double sigma = sqrt(N * p * (1 - p)), want_same = N * (p * p + (1 - p) * (1 - p));
        CHECK(fabs((double)kept - N * (1 - p)) <= 5 * sigma, "p %g: kept %zu of %d", p, kept, N);
        CHECK(fabs((double)same - want_same) <= 5 * sqrt(N) / 2 || p == 0,
              "p %g: masks of two keys agree %zu times", p, same);
    }
    free(x), free(y), free(dx), free(other);
}

/* The exponent a^2 / 2 is off by an ulp, a relative error of the exponential. */
static void check_gelu(void *ctx)
{
    enum { N = 4000 };
    static real x[N], one[N], y[N], slope[N];
    for (int i = 0; i < N; i++)
        x[i] = (real)(i - N / 2) * 0.0043f, one[i] = 1;
    nn_cpu.gelu_forward(ctx, N, x, y);
    nn_cpu.gelu_backward(ctx, N, x, one, slope);
    for (int i = 0; i < N; i++) {
        const double a = (double)x[i], bell = exp(-a * a / 2) / sqrt(2 * acos(-1)),
                     share = erfc(-a / sqrt(2)) / 2, bound = 0x1p-24 * (8 + a * a);
        CHECK(fabs((double)y[i] - a * share) <= bound * fabs(a) * share, "gelu(%g) is %g, not %g",
              a, (double)y[i], a * share);
        CHECK(fabs((double)slope[i] - share - a * bell) <= bound * (share + fabs(a) * bell),
              "slope of gelu at %g is %g, not %g", a, (double)slope[i], share + a * bell);
    }
}

/* `most` bounds a row's values, relative to its deviation. */
static void check_layer_norm(void *ctx, size_t n, int c)
{
    const size_t all = n * (size_t)c;
    real *x = uniforms(all, 1), *gamma = uniforms((size_t)c, 2), *beta = uniforms((size_t)c, 3),
         *y = uniforms(all, 5);
    nn_cpu.layer_norm_forward(ctx, n, c, 1e-5, x, gamma, beta, y);
    for (size_t r = 0; r < n; r++) {
        const real *row = x + r * (size_t)c;
        double mean = 0, var = 0;
        for (int i = 0; i < c; i++)
            mean += (double)row[i] / c;
        for (int i = 0; i < c; i++)
            var += ((double)row[i] - mean) * ((double)row[i] - mean) / c;
        const double std = sqrt(var + 1e-5), bound = sum_bound((size_t)c + 8) / std;
        for (int i = 0; i < c; i++) {
            const double v = ((double)row[i] - mean) / std,
                         want = v * (double)gamma[i] + (double)beta[i];
            CHECK(fabs((double)y[r * (size_t)c + (size_t)i] - want) <= bound * (1 + fabs(v)),
                  "layer norm [%zu][%d]: %g, not %g", r, i, (double)y[r * (size_t)c + (size_t)i],
                  want);
        }
    }
    free(x), free(gamma), free(beta), free(y);
}

int main(void)
{
    void *ctx;
    nn_cpu_threads(1);
    if (nn_cpu.open(NULL, &ctx) < 0)
        return 1;
    puts("seeds: x 1, weights and addend 2, biases 3, dy 4, what must be overwritten 5, factors 6, "
         "dropout 9, nodes 11 "
         "12");
    static const int kernels[][3] = {{1, 1, 0}, {3, 1, 1}, {3, 2, 1}, {3, 1, 2}, {3, 1, 0},
                                     {5, 1, 2}, {5, 3, 4}, {2, 2, 0}, {1, 2, 0}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const int *k = kernels[i];
        check_conv(ctx, 3, (struct nn_shape){7, 6, 3}, 5, k[0], k[1], k[2], 1);
        check_conv(ctx, 5, (struct nn_shape){28, 29, 1}, 16, k[0], k[1], k[2], 1);
        check_conv(ctx, 2, (struct nn_shape){15, 13, 16}, 24, k[0], k[1], k[2], 1);
        check_conv(ctx, 1, (struct nn_shape){5, 9, 64}, 64, k[0], k[1], k[2], 1);
        check_conv(ctx, 2, (struct nn_shape){7, 9, 12}, 8, k[0], k[1], k[2], 4);
        check_conv(ctx, 3, (struct nn_shape){13, 11, 32}, 64, k[0], k[1], k[2], 2);
    }
    for (int d = 2; d <= 4; d++) {
        check_dilated(ctx, 2, (struct nn_shape){15, 13, 16}, 24, 3, 1, d, 1, d);
        check_dilated(ctx, 3, (struct nn_shape){13, 11, 32}, 64, 3, 2, d, 2, d);
        check_dilated(ctx, 2, (struct nn_shape){14, 17, 3}, 5, 4, 1, 1, 1, d);
    }
    check_conv(ctx, 2, (struct nn_shape){9, 8, 256}, 8, 3, 1, 1, 2); /* rows longer than blocks */
    for (int c = 1; c < 300; c = 2 * c + 1)
        check_lrn(ctx, 5, c, c % 4 == 1 ? 1e-4 : 1);
    static const int sizes[][2] = {{2, 1}, {50, 3}, {1000, 16}, {777, 64}, {33, 200}, {20000, 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int how = 0; how < 4; how++)
            check_norm(ctx, (struct norm_case){(size_t)sizes[i][0], sizes[i][1], how & 1, how & 2,
                                               how == 2 && i > 0 ? 1000 : 0.5});
    check_loss(ctx);
    check_top(ctx);
    check_dropout(ctx);
    check_gelu(ctx);
    check_layer_norm(ctx, 7, 3);
    check_layer_norm(ctx, 200, 33);
    check_layer_norm(ctx, 3, 768);
    nn_cpu.close(ctx);
    DONE();
}
