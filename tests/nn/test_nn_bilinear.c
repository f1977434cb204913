/* test_nn_bilinear.c : compares bilinear upsampling with its definition in double. */
#include <math.h>
#include <string.h>
#include "check.h"
#include "hls/nn/bilinear.h"
#include "nn_inputs.h"

static double weight(int to, int from, int n_from, int n_to)
{
    const double place = fmax((to + 0.5) * n_from / n_to - 0.5, 0);
    const int first = (int)place, second = first + 1 < n_from ? first + 1 : first;
    const double part = place - first;
    return (first == from ? 1 - part : 0) + (second == from ? part : 0);
}

static void check_shares(int n_from, int n_to)
{
    for (int from = 0; from < n_from; from++) {
        const int begin = bilinear_begin(from, n_from, n_to),
                  end = bilinear_end(from, n_from, n_to);
        for (int to = 0; to < n_to; to++) {
            const double want = weight(to, from, n_from, n_to);
            const bool counts = to >= begin && to < end;
            CHECK(fabs(counts ? (double)bilinear_share(to, from, n_from, n_to) - want : want) <
                      1e-6,
                  "%d of %d in %d of %d: %g, [%d, %d)", from, n_from, to, n_to, want, begin, end);
        }
    }
}

/* Weights add up to 1 in a pixel of y, and in one of dx to n_y / n_x, 4 times that at corners. */
static void check_bilinear(void *ctx, struct nn_shape in, struct nn_shape out, int batch)
{
    const size_t c = (size_t)in.c, n_in = (size_t)(in.h * in.w) * c,
                 n_out = (size_t)(out.h * out.w) * c;
    const size_t n_x = n_in * (size_t)batch, n_y = n_out * (size_t)batch;
    real *x = uniforms(n_x, 1), *dy = uniforms(n_y, 2), *y = uniforms(n_y, 5),
         *dx = uniforms(n_x, 5);
    double *want = calloc(n_y, sizeof *want), *want_dx = calloc(n_x, sizeof *want_dx);
    for (int b = 0; b < batch; b++)
        for (int oy = 0; oy < out.h; oy++)
            for (int ox = 0; ox < out.w; ox++)
                for (int iy = 0; iy < in.h; iy++)
                    for (int ix = 0; ix < in.w; ix++) {
                        const double w = weight(oy, iy, in.h, out.h) * weight(ox, ix, in.w, out.w);
                        const size_t to = (size_t)b * n_out + (size_t)(oy * out.w + ox) * c,
                                     from = (size_t)b * n_in + (size_t)(iy * in.w + ix) * c;
                        for (size_t j = 0; j < c; j++) {
                            want[to + j] += w * (double)x[from + j];
                            want_dx[from + j] += w * (double)dy[to + j];
                        }
                    }
    nn_cpu.bilinear_forward(ctx, in, out, batch, x, y);
    nn_cpu.bilinear_backward(ctx, in, out, batch, dy, dx);
    check_near("bilinear", y, want, n_y, 8 * 0x1p-24);
    const double terms = 4.0 * (out.h / in.h + 1) * (out.w / in.w + 1);
    check_near("bilinear backward", dx, want_dx, n_x, 2 * terms * 0x1p-24);
    free(x), free(dy), free(y), free(dx), free(want), free(want_dx);
}

static void check_concat(void *ctx)
{
    enum { N = 7, A = 3, B = 5, ALL = A + B };
    real *a = uniforms(N * A, 1), *b = uniforms(N * B, 2), y[N * ALL], back[N * B];
    nn_cpu.concat_forward(ctx, N, A, a, 0, ALL, y);
    nn_cpu.concat_forward(ctx, N, B, b, A, ALL, y);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < ALL; j++)
            CHECK(!(y[i * ALL + j] != (j < A ? a[i * A + j] : b[i * B + j - A])), "pixel %d, %d", i,
                  j);
    nn_cpu.concat_backward(ctx, N, B, y, A, ALL, back);
    CHECK(!memcmp(back, b, sizeof back), "the second part does not come back");
    free(a), free(b);
}

int main(void)
{
    void *ctx;
    if (nn_cpu.open(NULL, &ctx) < 0)
        return 1;
    puts("seeds: x 1, dy 2, what must be overwritten 5");
    for (int n_from = 1; n_from < 20; n_from++)
        for (int n_to = n_from; n_to < 70; n_to++)
            check_shares(n_from, n_to);
    check_shares(29, 227);
    check_bilinear(ctx, (struct nn_shape){4, 5, 3}, (struct nn_shape){32, 40, 3}, 2);
    check_bilinear(ctx, (struct nn_shape){7, 1, 19}, (struct nn_shape){9, 6, 19}, 1);
    check_bilinear(ctx, (struct nn_shape){3, 6, 16}, (struct nn_shape){3, 17, 16}, 3);
    check_concat(ctx);
    nn_cpu.close(ctx);
    DONE();
}
