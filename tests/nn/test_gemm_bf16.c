/* test_gemm_bf16.c : products in bf16 by oneDNN equal sums in fp64 of rounded operands, up to the
 * rounding of fp32 sums. */
#include "base/plugin.h"
#include "gemm_fixture.h"
#include "nn/cpu/gemm_bf16.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct mf_fmt bf16 = {8, 7, MF_IEEE};

static double rounded(float x)
{
    const uint32_t code = mf_enc(bf16, bits_of(x), 0, MF_NEAREST, MF_INF, 0);
    return (double)float_of(mf_dec(bf16, code, 0));
}

/* *size: the sum of magnitudes */
static double element(const struct gemm_shape *s, int i, int j, double *size)
{
    const int lda = gemm_lda(s), ldb = gemm_ldb(s);
    double sum = s->add ? (double)gemm_want[i * (s->n + s->more) + j] : 0;
    *size = fabs(sum);
    for (int p = 0; p < s->k; p++) {
        const double a = rounded(gemm_a[s->ta ? p * lda + i : i * lda + p]),
                     b = rounded(gemm_b[s->tb ? j * ldb + p : p * ldb + j]);
        sum += a * b;
        *size += fabs(a * b);
    }
    return sum;
}

static void check_shape(struct gemm_bf16 *g, const struct gemm_shape *s, uint64_t key)
{
    const int ldc = s->n + s->more;
    gemm_fill(bf16, 0, key);
    CHECK(gemm_bf16(g, s->ta, s->tb, s->m, s->n, s->k, gemm_a, gemm_lda(s), gemm_b, gemm_ldb(s),
                    s->add, gemm_c, ldc),
          "no product of %d x %d x %d", s->m, s->n, s->k);
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < ldc; j++) {
            const double got = (double)gemm_c[i * ldc + j];
            double size = 0;
            const double want = j < s->n ? element(s, i, j, &size) : (double)gemm_want[i * ldc + j];
            CHECK(fabs(got - want) <= size * s->k * 0x1p-24,
                  "m %d n %d k %d ta %d tb %d add %d: c[%d][%d] = %.9g, want %.9g", s->m, s->n,
                  s->k, s->ta, s->tb, s->add, i, j, got, want);
        }
}

static void check_empty(struct gemm_bf16 *g)
{
    for (int zero = 0; zero < 3; zero++)
        CHECK(!gemm_bf16(g, zero & 1, zero & 2, zero != 0, zero != 1, zero != 2, gemm_a, 1, gemm_b,
                         1, false, gemm_c, 1),
              "an empty product was made");
}

/* Ties go to even, overflows to inf, and nan stays. */
static void check_specials(struct gemm_bf16 *g)
{
    static const uint32_t in[] = {0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff, 0xff800000,
                                  0x7fc00000, 0x7f800001, 0x00800000, 0x80000000};
    enum { N = sizeof in / sizeof in[0] };
    float x[N], y[N];
    const float one = 1;
    memcpy(x, in, sizeof in);
    CHECK(gemm_bf16(g, false, false, N, 1, 1, x, 1, &one, 1, false, y, 1), "no product");
    for (int i = 0; i < N; i++) {
        const double want = rounded(x[i]);
        CHECK((double)y[i] == want || (isnan(y[i]) && isnan(want)), "%08x * 1 = %g, want %g", in[i],
              (double)y[i], want);
    }
}

int main(void)
{
    struct gemm_bf16 *g;
    char path[PATH_MAX];
    if (beside("../libnarrowcast_dnnl.so", path) == path)
        setenv("NARROWCAST_DNNL", path, 1);
    const int rc = gemm_bf16_open(1, &g);
    if (rc == -ENODEV)
        SKIP("this CPU has no bf16 products");
    if (rc == -ENOENT)
        SKIP("built without oneDNN");
    if (rc)
        return 1;
    printf("seed %d\n", GEMM_SEED);
    uint64_t key = 0;
    for (int turn = 0; turn < 2; turn++) /* the second finds the first's plans */
        for (int s = 0; s < GEMM_SHAPES; s++, key += 100000)
            if (gemm_shapes[s].k > 0)
                check_shape(g, &gemm_shapes[s], key);
    for (int n = 1; n <= 80; n++, key += 100000) /* more shapes than are kept */
        check_shape(g, &(struct gemm_shape){n & 1, n & 2, n & 4, n, 81 - n, 2 * n, n % 3}, key);
    check_specials(g);
    check_empty(g);
    gemm_bf16_close(g);
    DONE();
}
