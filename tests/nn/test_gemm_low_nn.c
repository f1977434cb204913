/* test_gemm_low_nn.c : with a rule in the setup, gemm_low() makes all products of the CPU's conv
 * and linear. */
#include "gemm_fixture.h"
#include "nn/nn_ops.h"

static const struct gemm_rule rules[] = {{{5, 2, 0}, MF_SATURATE, false},
                                         {{4, 3, 0}, MF_SATURATE, true}};

static bool in_format(struct mf_fmt f, float x)
{
    const uint32_t code = mf_enc(f, bits_of(x), 0, MF_NEAREST, MF_INF, 0);
    return mf_dec(f, code, 0) == bits_of(x);
}

static int n_outside(struct mf_fmt f, const float *x, int n)
{
    int outside = 0;
    for (int i = 0; i < n; i++)
        outside += !in_format(f, x[i]);
    return outside;
}

static bool equal(const float *a, const float *b, int n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

enum { BATCH = 7, IN = 37, OUT = 11 };

static void check_linear(void *ctx, const struct gemm_rule *r)
{
    static float y[BATCH * OUT], dx[BATCH * IN], dw[OUT * IN], dbias[OUT], want[OUT * IN];
    const float *x = gemm_a, *w = gemm_b, *bias = gemm_c, *dy = gemm_a + 1000;
    nn_cpu.linear_forward(ctx, BATCH, IN, OUT, x, w, bias, y);
    for (int i = 0; i < BATCH * OUT; i++)
        want[i] = bias[i % OUT];
    gemm_low(r, false, true, BATCH, OUT, IN, x, IN, w, IN, true, want, OUT);
    CHECK(equal(y, want, BATCH * OUT), "linear forward");
    nn_cpu.linear_backward(ctx, BATCH, IN, OUT, x, w, dy, dx, dw, dbias);
    gemm_low(r, true, false, OUT, IN, BATCH, dy, OUT, x, IN, false, want, IN);
    CHECK(equal(dw, want, OUT * IN), "linear backward, weights");
    gemm_low(r, false, false, BATCH, IN, OUT, dy, OUT, w, IN, false, want, IN);
    CHECK(equal(dx, want, BATCH * IN), "linear backward, input");
}

/* Convolutions of one pixel, in a single block, are products of matrices. */
static void check_conv_pixel(void *ctx, const struct gemm_rule *r)
{
    enum { SIDE = 4, PIXELS = 2 * SIDE * SIDE };
    static float y[PIXELS * OUT], dx[PIXELS * IN], dw[OUT * IN], want[PIXELS * IN];
    const float *x = gemm_a, *w = gemm_b, *bias = gemm_c, *dy = gemm_a + 2000;
    const struct nn_window g = {
        .in = {SIDE, SIDE, IN}, .out = {SIDE, SIDE, OUT}, .k = 1, .stride = 1};
    size_t bytes;
    CHECK(nn_cpu.conv_plan(ctx, &g, true, true, 2, &bytes) == 0, "plan");
    void *scratch = nn_cpu.alloc(ctx, bytes);
    nn_cpu.conv_forward(ctx, &g, 2, x, w, bias, y, scratch);
    nn_cpu.conv_backward(ctx, &g, 2, x, w, dy, dx, false, dw, NULL, scratch);
    nn_cpu.free(ctx, scratch);
    for (int i = 0; i < PIXELS * OUT; i++)
        want[i] = bias[i % OUT];
    gemm_low(r, false, true, PIXELS, OUT, IN, x, IN, w, IN, true, want, OUT);
    CHECK(equal(y, want, PIXELS * OUT), "conv forward");
    gemm_low(r, true, false, OUT, IN, PIXELS, dy, OUT, x, IN, false, want, IN);
    CHECK(equal(dw, want, OUT * IN), "conv backward, weights");
    gemm_low(r, false, false, PIXELS, IN, OUT, dy, OUT, w, IN, false, want, IN);
    CHECK(equal(dx, want, PIXELS * IN), "conv backward, input");
}

enum {
    SIDE = 6,
    C_IN = 5,
    C_OUT = 9,
    K = 3,
    PIXELS = 2 * SIDE * SIDE,
    WEIGHTS = C_OUT * K * K * C_IN
};

/* Without a rule, the machine's arithmetic leaves the format almost everywhere. */
static void check_conv(void *ctx, struct mf_fmt f, bool ruled)
{
    static float y[PIXELS * C_OUT], dx[PIXELS * C_IN], dw[WEIGHTS];
    const struct nn_window g = {
        .in = {SIDE, SIDE, C_IN}, .out = {SIDE, SIDE, C_OUT}, .k = K, .stride = 1, .pad = 1};
    size_t bytes;
    CHECK(nn_cpu.conv_plan(ctx, &g, true, true, 2, &bytes) == 0, "plan");
    void *scratch = nn_cpu.alloc(ctx, bytes);
    nn_cpu.conv_forward(ctx, &g, 2, gemm_a, gemm_b, gemm_c, y, scratch);
    nn_cpu.conv_backward(ctx, &g, 2, gemm_a, gemm_b, gemm_a + 2000, dx, false, dw, NULL, scratch);
    nn_cpu.free(ctx, scratch);
    const int outside[] = {n_outside(f, y, PIXELS * C_OUT), n_outside(f, dx, PIXELS * C_IN),
                           n_outside(f, dw, WEIGHTS)};
    for (int i = 0; i < 3; i++)
        CHECK(ruled ? outside[i] == 0 : outside[i] > WEIGHTS / 2,
              "conv, ruled %d, tensor %d: %d values are not e%um%u's", ruled, i, outside[i], f.e,
              f.m);
}

int main(void)
{
    void *ctx;
    printf("seed %d\n", GEMM_SEED);
    for (int i = 0; i < 2; i++) {
        const struct nn_setup setup = {.gemm = &rules[i]};
        gemm_fill(rules[i].fmt, 0, (uint64_t)i * 100000);
        if (nn_cpu.open(&setup, &ctx) < 0)
            return 1;
        check_linear(ctx, &rules[i]);
        check_conv_pixel(ctx, &rules[i]);
        check_conv(ctx, rules[i].fmt, true);
        nn_cpu.close(ctx);
        if (nn_cpu.open(NULL, &ctx) < 0)
            return 1;
        check_conv(ctx, rules[i].fmt, false);
        nn_cpu.close(ctx);
    }
    (void)gemm_shapes;
    DONE();
}
