/* test_gemm_low_dot.c : rounding each step of a dot product differs from rounding its end (APS
 * paper, Fig. 12); Kahan's sum is near fp64's. */
#include "base/bits.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "nn/cpu/gemm_low.h"
#include <math.h>
#include <string.h>

enum { N_DOTS = 1000, K = 4096, SEED = 12 };

static float dot_low(const struct gemm_rule *r, const float *a, const float *b, int k)
{
    float c;
    gemm_low(r, false, true, 1, 1, k, a, k, b, k, false, &c, 1);
    return c;
}

static float cast(struct mf_fmt f, float x)
{
    return float_of(mf_dec(f, mf_enc(f, bits_of(x), 0, MF_NEAREST, MF_SATURATE, 0), 0));
}

/* Fig. 12: 3 bits, 2 of them exponent; the only magnitudes are 0, 1 and 2. */

static void check_figure(void)
{
    static const struct {
        float a[4], b[4];
        float each, end; /* rounded at each step, at the end */
    } rows[] = {
        /* 1, 2, 3 saturates to 2, 2 - 2 */
        {{0.9f, 1.1f, 1.3f, -1.6f}, {1.2f, 0.8f, 0.9f, 1.1f}, 0, 1},
        /* 2, 4 saturates to 2, 2 - 1, 1 - 2 */
        {{2, 1.7f, -1, -2}, {1, 1, 1.4f, 1}, -1, 1},
        /* no intermediate round-off */
        {{1, -1, 2, 0.4f}, {1, 1, 1, 2}, 2, 2},
    };
    const struct gemm_rule r = {{2, 0, 0}, MF_SATURATE, false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float a[4], b[4], s = 0;
        for (int p = 0; p < 4; p++) {
            a[p] = cast(r.fmt, rows[i].a[p]);
            b[p] = cast(r.fmt, rows[i].b[p]);
            s += a[p] * b[p];
        }
        const float each = dot_low(&r, a, b, 4), end = cast(r.fmt, s);
        printf("(%g %g %g %g) . (%g %g %g %g) in e2m0: %g rounded at each step, %g at the end\n",
               (double)a[0], (double)a[1], (double)a[2], (double)a[3], (double)b[0], (double)b[1],
               (double)b[2], (double)b[3], (double)each, (double)end);
        CHECK(each == rows[i].each && end == rows[i].end, "want %g and %g", (double)rows[i].each,
              (double)rows[i].end);
    }
}

static float a[K], b[K];

static void make_vectors(uint32_t which)
{
    for (uint32_t i = 0; i < K; i++) {
        a[i] =
            ((float)(philox_u32(SEED, (uint64_t)which * 2 * K + 2 * i) >> 8) - 0x1p23f) * 0x1p-23f;
        b[i] = ((float)(philox_u32(SEED, (uint64_t)which * 2 * K + 2 * i + 1) >> 8) - 0x1p23f) *
               0x1p-26f;
    }
}

static void check_random(void)
{
    const struct gemm_rule fp32 = {{8, 23, 0}, MF_INF, false}, half = {{5, 10, 0}, MF_INF, false},
                           kahan = {{5, 10, 0}, MF_INF, true};
    double error_half = 0, error_kahan = 0;
    int n_nearer = 0;
    for (uint32_t d = 0; d < N_DOTS; d++) {
        make_vectors(d);
        float in_order = 0;
        double exact = 0;
        for (int i = 0; i < K; i++) {
            in_order += a[i] * b[i];
            exact += (double)a[i] * b[i];
        }
        const float got = dot_low(&fp32, a, b, K);
        CHECK(memcmp(&got, &in_order, sizeof got) == 0, "%u: %a in e8m23, %a in order", d,
              (double)got, (double)in_order);
        const double with = fabs((double)dot_low(&kahan, a, b, K) - exact),
                     without = fabs((double)dot_low(&half, a, b, K) - exact);
        error_half += without / N_DOTS;
        error_kahan += with / N_DOTS;
        n_nearer += with < without;
    }
    printf("%d dot products of %d, seed %d: e5m10 is off by %.5f on average, with kahan by %.5f, "
           "nearer "
           "in %d\n",
           N_DOTS, K, SEED, error_half, error_kahan, n_nearer);
    CHECK(error_kahan < error_half / 2 && n_nearer > N_DOTS * 9 / 10, "kahan is no better");
}

int main(void)
{
    check_figure();
    check_random();
    DONE();
}
