/* test_codec_error.c : compares the relative L2 error of the mean of P gradients with a simulated
 * table.
 *
 * The table's data are not available. Here gradients are normal; their magnitudes are log-normal
 * over the elements, equal on all ranks, and small enough to underflow in e4m3 without a scale.
 * Numbers must agree within 30 %, the effect of the spread. */
#include "check.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include <math.h>

enum { N = 1 << 15, MAX_P = 16, SEED = 4 };
static const double table_within = 0.30;

enum row_name {
    E5M2_NONE,
    E5M2_APS,
    E5M2_TIGHT,
    E5M2_RING,
    E4M3_NONE,
    E4M3_APS,
    E4M3_TIGHT,
    E4M3_RING,
    E3M0_APS,
    E3M0_TIGHT,
    E3M0_APS_WIDE,
    E3M0_TIGHT_WIDE,
    E3M0_TIGHT_FP32,
    N_ROWS
};
static const struct row {
    const char *format, *scale, *sum, *out;
    double table[4]; /* %; columns as below */
} rows[N_ROWS] = {
    [E5M2_NONE] = {"e5m2", "none", "exact", "e5m2", {8.1, 5.2, 8.1, 5.3}},
    [E5M2_APS] = {"e5m2", "aps", "exact", "e5m2", {8.1, 5.2, 8.1, 5.3}},
    [E5M2_TIGHT] = {"e5m2", "aps-tight", "exact", "e5m2", {8.1, 5.2, 8.1, 5.3}},
    [E5M2_RING] = {"e5m2", "aps", "nearest", "e5m2", {12, 7.7, 17, 28}},
    [E4M3_NONE] = {"e4m3", "none", "exact", "e4m3", {30, 21, 32, 19}},
    [E4M3_APS] = {"e4m3", "aps", "exact", "e4m3", {4.7, 2.9, 4.7, 2.6}},
    [E4M3_TIGHT] = {"e4m3", "aps-tight", "exact", "e4m3", {4.7, 2.9, 4.6, 2.6}},
    [E4M3_RING] = {"e4m3", "aps", "nearest", "e4m3", {5.6, 4.3, 9.3, 6.8}},
    [E3M0_APS] = {"e3m0", "aps", "exact", "e3m0", {62, 48, 112, 82}},
    [E3M0_TIGHT] = {"e3m0", "aps-tight", "exact", "e3m0", {53, 33, 79, 41}},
    [E3M0_APS_WIDE] = {"e3m0", "aps", "exact", "e4m3", {60, 44, 107, 80}},
    [E3M0_TIGHT_WIDE] = {"e3m0", "aps-tight", "exact", "e4m3", {35, 24, 48, 30}},
    [E3M0_TIGHT_FP32] = {"e3m0", "aps-tight", "exact", "fp32", {35, 24, 48, 30}},
};
static const struct {
    int n_ranks;
    double correlation;
} columns[4] = {{4, 0}, {4, 0.9}, {16, 0}, {16, 0.9}};

static float grads[MAX_P][N];

/* Box-Muller. */
static double normal(uint32_t s, uint64_t i)
{
    double u = (philox_u32(SEED + s, 2 * i) + 0.5) / 4294967296.0,
           v = philox_u32(SEED + s, 2 * i + 1) / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static void make_grads(int p, double correlation)
{
    for (size_t i = 0; i < N; i++) {
        double common = normal(MAX_P, i), size = ldexp(exp(1.25 * normal(MAX_P + 1, i)), -12);
        for (int r = 0; r < p; r++) {
            double own = normal((uint32_t)r, i);
            grads[r][i] =
                (float)(size * (sqrt(correlation) * common + sqrt(1 - correlation) * own));
        }
    }
}

static double error_of(const struct codec *c)
{
    static uint8_t codes[N * 4], result[N * 4];
    static uint64_t acc[N];
    static float mean[N];
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = c});
    int8_t exponent = CODEC_ALL_ZERO;
    for (int r = 0; r < c->n_ranks; r++) {
        int8_t mine = codec_exponent(c, c->ops->absmax(grads[r], N));
        exponent = mine > exponent ? mine : exponent;
    }
    int shift = codec_shift(c, exponent);
    for (int r = 0; r < c->n_ranks; r++) {
        codec_encode(c, 0, 0, (uint32_t)r, grads[r], N, shift, codes);
        op.ops->add(&op, 0, acc, codes, N, r == 0);
    }
    op.ops->done(&op, 0, acc, N, result);
    codec_decode(c, result, N, shift, mean);
    double diff2 = 0, ref2 = 0;
    for (size_t i = 0; i < N; i++) {
        double ref = 0;
        for (int r = 0; r < c->n_ranks; r++)
            ref += (double)grads[r][i];
        ref /= c->n_ranks;
        diff2 += (mean[i] - ref) * (mean[i] - ref);
        ref2 += ref * ref;
    }
    return 100 * sqrt(diff2 / ref2);
}

static int run_row(const struct row *row, int n_ranks, double *error)
{
    const struct codec_spec spec = {
        .format = row->format, .scale = row->scale, .sum = row->sum, .out_format = row->out};
    struct codec c;
    int rc = codec_parse(&spec, &c);
    if (rc == 0)
        rc = codec_settle(&c, n_ranks, &(struct codec_adder){.name = "test"});
    if (rc == 0)
        *error = error_of(&c);
    return rc;
}

static void check_order(const double e[N_ROWS])
{
    CHECK(e[E5M2_TIGHT] <= 1.02 * e[E5M2_APS], "e5m2: aps-tight is worse than aps");
    CHECK(e[E4M3_TIGHT] <= 1.02 * e[E4M3_APS], "e4m3: aps-tight is worse than aps");
    CHECK(e[E3M0_TIGHT] <= 1.02 * e[E3M0_APS], "e3m0: aps-tight is worse than aps");
    CHECK(e[E3M0_TIGHT_WIDE] <= e[E3M0_TIGHT_FP32] + 1,
          "e3m0: a result in e4m3 costs more than a point");
    CHECK(e[E5M2_APS] < e[E5M2_RING] && e[E4M3_APS] < e[E4M3_RING],
          "exact sums are worse than rounded ones");
    CHECK(e[E4M3_APS] < 0.5 * e[E4M3_NONE], "e4m3: aps does not mend underflow");
    CHECK(e[E4M3_APS] <= 6 && e[E5M2_APS] <= 11, "8-bit formats with aps: %.2f and %.2f %%",
          e[E4M3_APS], e[E5M2_APS]);
}

int main(void)
{
    double error[4][N_ROWS];
    printf("seed %d; relative L2 error of the mean of %d elements, %%: measured (table)\n", SEED,
           N);
    for (int k = 0; k < 4; k++) {
        make_grads(columns[k].n_ranks, columns[k].correlation);
        for (int i = 0; i < N_ROWS; i++) {
            double want = rows[i].table[k];
            if (run_row(rows + i, columns[k].n_ranks, &error[k][i]))
                return 1;
            CHECK(fabs(error[k][i] - want) <= table_within * want,
                  "%s %s %s -> %s: %.3g %%, table %.3g %%", rows[i].format, rows[i].scale,
                  rows[i].sum, rows[i].out, error[k][i], want);
        }
        check_order(error[k]);
    }
    printf("%-6s %-10s %-8s %-5s %16s %16s %16s %16s\n", "format", "scale", "sum", "out", "P=4",
           "P=4 correlated", "P=16", "P=16 correlated");
    for (int i = 0; i < N_ROWS; i++) {
        printf("%-6s %-10s %-8s %-5s", rows[i].format, rows[i].scale, rows[i].sum, rows[i].out);
        for (int k = 0; k < 4; k++)
            printf("  %6.2f (%5.1f)", error[k][i], rows[i].table[k]);
        printf("\n");
    }
    DONE();
}
