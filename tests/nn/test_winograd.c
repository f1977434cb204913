/* test_winograd.c : compares Winograd's convolutions with the definition in double: errors at
 * most three times GEMM's. */
#include <math.h>
#include <string.h>
#include "check.h"
#include "nn_inputs.h"
#include "nn/cpu/winograd_kernels.h"

struct pass {
    struct nn_window g;
    int batch;
    const float *x, *w, *bias, *dy;
    size_t n_x, n_y, n_w;
};
struct result {
    float *y, *dx, *dw;
};

static struct result result_of(const struct pass *p, uint64_t key)
{
    return (struct result){uniforms(p->n_y, key), uniforms(p->n_x, key + 1),
                           uniforms(p->n_w, key + 2)};
}

static void result_free(struct result r)
{
    free(r.y), free(r.dx), free(r.dw);
}

/* by definition, in double; dx is added to */
struct exact {
    double *y, *dx, *dw;
};

static double *doubles(size_t n)
{
    double *x = calloc(n, sizeof *x);
    if (!x)
        exit(1);
    return x;
}

static void exact_pixel(const struct pass *p, struct exact e, size_t at_x, size_t at_y, int tap)
{
    const size_t in = (size_t)p->g.in.c, out = (size_t)p->g.out.c;
    for (size_t o = 0; o < out; o++) {
        const double dy = (double)p->dy[at_y + o];
        const size_t at_w = (o * 9 + (size_t)tap) * in;
        double sum = 0;
        for (size_t i = 0; i < in; i++) {
            const double x = (double)p->x[at_x + i], w = (double)p->w[at_w + i];
            sum += x * w;
            e.dx[at_x + i] += dy * w;
            e.dw[at_w + i] += dy * x;
        }
        e.y[at_y + o] += sum;
    }
}

static struct exact exact_of(const struct pass *p, const float *dx_before)
{
    const struct exact e = {doubles(p->n_y), doubles(p->n_x), doubles(p->n_w)};
    const struct nn_shape s = p->g.in;
    for (size_t i = 0; i < p->n_y; i++)
        e.y[i] = p->bias ? (double)p->bias[i % (size_t)p->g.out.c] : 0;
    for (size_t i = 0; dx_before && i < p->n_x; i++)
        e.dx[i] = (double)dx_before[i];
    for (int b = 0; b < p->batch; b++)
        for (int row = 0; row < s.h; row++)
            for (int column = 0; column < s.w; column++)
                for (int tap = 0; tap < 9; tap++) {
                    const int y = row + tap / 3 - 1, x = column + tap % 3 - 1;
                    if (y >= 0 && y < s.h && x >= 0 && x < s.w)
                        exact_pixel(p, e, (size_t)((b * s.h + y) * s.w + x) * (size_t)s.c,
                                    (size_t)((b * s.h + row) * s.w + column) * (size_t)p->g.out.c,
                                    tap);
                }
    return e;
}

static void exact_free(struct exact e)
{
    free(e.y), free(e.dx), free(e.dw);
}

static double off(const float *x, const double *want, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pow((double)x[i] - want[i], 2);
    return sqrt(sum / (double)n);
}

static void by_gemm(const struct pass *p, bool add, struct result r)
{
    const struct nn_setup setup = {.conv = NN_CONV_GEMM};
    void *ctx, *scratch;
    size_t bytes;
    if (nn_cpu.open(&setup, &ctx) < 0 ||
        nn_cpu.conv_plan(ctx, &p->g, true, true, p->batch, &bytes) < 0)
        exit(1);
    scratch = buf_alloc(bytes);
    nn_cpu.conv_forward(ctx, &p->g, p->batch, p->x, p->w, p->bias, r.y, scratch);
    nn_cpu.conv_backward(ctx, &p->g, p->batch, p->x, p->w, p->dy, r.dx, add, r.dw, NULL, scratch);
    free(scratch);
    nn_cpu.close(ctx);
}

static void by_kernels(const struct winograd_kernels *by, const struct pass *p, bool add,
                       struct result r)
{
    void *scratch = buf_alloc(winograd_scratch(&p->g));
    if (!scratch)
        exit(1);
    memset(scratch, 0xff, winograd_scratch(&p->g));
    winograd_forward(by, &p->g, p->batch, p->x, p->w, p->bias, r.y, scratch);
    winograd_backward(by, &p->g, p->batch, p->x, p->w, p->dy, r.dx, add, r.dw, scratch);
    free(scratch);
}

static void check_alone(const struct winograd_kernels *by, const struct pass *p, struct result all)
{
    struct pass one = *p;
    one.batch = 1;
    const size_t n_y = one.n_y /= (size_t)p->batch, last = p->n_y - n_y;
    one.n_x /= (size_t)p->batch;
    one.x += p->n_x - one.n_x;
    one.dy += last;
    const struct result r = result_of(&one, 40);
    by_kernels(by, &one, false, r);
    CHECK(memcmp(r.y, all.y + last, n_y * sizeof *r.y) == 0, "%s: y of an image alone", by->name);
    CHECK(memcmp(r.dx, all.dx + p->n_x - one.n_x, one.n_x * sizeof *r.dx) == 0,
          "%s: dx of an image alone", by->name);
    result_free(r);
}

static void check(int batch, int h, int w, int in, int out, bool bias, bool add)
{
    struct pass p = {.g = {.in = {h, w, in}, .out = {h, w, out}, .k = 3, .stride = 1, .pad = 1},
                     .batch = batch};
    p.n_x = batch_elements(p.g.in, batch), p.n_y = batch_elements(p.g.out, batch),
    p.n_w = (size_t)in * (size_t)out * 9;
    float *x = uniforms(p.n_x, 1), *weights = uniforms(p.n_w, 2), *dy = uniforms(p.n_y, 3),
          *biases = uniforms((size_t)out, 4);
    p.x = x, p.w = weights, p.dy = dy, p.bias = bias ? biases : NULL;
    const struct result gemm = result_of(&p, 10);
    float *before = uniforms(p.n_x, 11);
    struct exact want = exact_of(&p, add ? before : NULL);
    struct result first = {0};
    CHECK(winograd_fits(&p.g), "%dx%d %d to %d", h, w, in, out);
    by_gemm(&p, add, gemm);
    for (enum vec_isa isa = 0; isa < VEC_ISAS; isa++) {
        const struct winograd_kernels *by = winograd_kernels(isa);
        if (!by)
            continue;
        const struct result r = result_of(&p, 10);
        by_kernels(by, &p, add, r);
        const double far[3] = {off(r.y, want.y, p.n_y) / off(gemm.y, want.y, p.n_y),
                               off(r.dx, want.dx, p.n_x) / off(gemm.dx, want.dx, p.n_x),
                               off(r.dw, want.dw, p.n_w) / off(gemm.dw, want.dw, p.n_w)};
        /* for one pixel, GEMM adds 1 of 9 products, Winograd a whole tile */
        const double most = h * w > 1 ? 3 : 5;
        for (int i = 0; i < 3; i++)
            CHECK(far[i] <= most,
                  "%s, %d of %dx%d, %d to %d: %s is %.2f times as far off as by GEMM", by->name,
                  batch, h, w, in, out, (const char *[]){"y", "dx", "dw"}[i], far[i]);
        if (!add)
            check_alone(by, &p, r);
        if (!first.y) {
            first = r;
            printf("%d of %dx%d, %d to %d: y %.2f, dx %.2f, dw %.2f of GEMM's error\n", batch, h, w,
                   in, out, far[0], far[1], far[2]);
            continue;
        }
        CHECK(memcmp(r.y, first.y, p.n_y * sizeof *r.y) == 0, "%s: y has other bits", by->name);
        CHECK(memcmp(r.dx, first.dx, p.n_x * sizeof *r.dx) == 0, "%s: dx has other bits", by->name);
        CHECK(memcmp(r.dw, first.dw, p.n_w * sizeof *r.dw) == 0, "%s: dw has other bits", by->name);
        result_free(r);
    }
    result_free(first);
    result_free(gemm);
    exact_free(want);
    free(x), free(weights), free(dy), free(biases), free(before);
}

static void check_fits(void)
{
    enum { OTHERS = 7 };
    const struct nn_window is = {
        .in = {8, 8, 16}, .out = {8, 8, 16}, .k = 3, .stride = 1, .pad = 1};
    struct nn_window other[OTHERS] = {is, is, is, is, is, is, is};
    other[0].k = 1, other[1].stride = 2, other[2].pad = 0, other[3].in.c = 24, other[4].out.c = 10,
    other[5].groups = 2, other[6].dilation = 2;
    CHECK(winograd_fits(&is), "16 to 16");
    for (int i = 0; i < OTHERS; i++)
        CHECK(!winograd_fits(&other[i]), "window %d", i);
}

int main(void)
{
    if (!winograd_best())
        SKIP("this CPU has no AVX2 with FMA");
    check_fits();
    check(3, 8, 8, 16, 16, false, false); /* 48 tiles: two blocks */
    check(5, 32, 32, 16, 16, false, true);
    check(2, 7, 9, 32, 48, true, false); /* half tiles at the ends; panels of 32 and 16 */
    check(3, 5, 4, 80, 112, true, true);
    check(4, 1, 1, 64, 64, false, false);
    check(1, 3, 3, 16, 64, false, false);
    check(2, 8, 6, 144, 16, true, false);
    check(9, 4, 4, 256, 128, false, false);
    DONE();
}
