/* test_nc_mpi.c : uses narrowcast.h only; test_nc_cpp.sh compiles it as C++17. */
/* RANKS: 1 3 4 */
#include <narrowcast.h>
#include "capture.h"
#include "check.h"
#include <math.h>
#include <string.h>

enum { N_WEIGHT = 1000, N_BIAS = 10 };
static float weight[N_WEIGHT], bias[N_BIAS];

static float value(int r, int step, int i)
{
    return (float)((i * 7 + r * 13 + step * 5) % 64 - 32) / 1024;
}

static void fill(int rank, int step)
{
    for (int i = 0; i < N_WEIGHT; i++)
        weight[i] = value(rank, step, i);
    for (int i = 0; i < N_BIAS; i++)
        bias[i] = value(rank, step, i + N_WEIGHT);
}

static double true_mean(int n_ranks, int step, int i)
{
    double sum = 0;
    for (int r = 0; r < n_ranks; r++)
        sum += (double)value(r, step, i);
    return sum / n_ranks;
}

/* Multiples of 2^-10 below 2^-5 have 6 bits: e5m10 holds them and, with aps-tight, the leading
 * 11 bits of their exact sums. */
static void check_mean(int n_ranks, int step, double relative)
{
    for (int i = 0; i < N_WEIGHT + N_BIAS; i++) {
        double got = (double)(i < N_WEIGHT ? weight[i] : bias[i - N_WEIGHT]),
               want = true_mean(n_ranks, step, i);
        double bound = (i < N_WEIGHT ? relative : ldexp(1, -23)) * ldexp(1, -5);
        CHECK(fabs(got - want) <= bound, "step %d element %d: %g, not %g", step, i, got, want);
    }
}

/* Errors are at most a step of an addend and one of the sum, 2 * 2^-5 / 32767. */
static void check_kind(int rank, int n_ranks, const struct nc_layer *layers, float *const *grads)
{
    struct nc_options options = nc_options_default();
    struct nc_report report;
    struct nc *nc = NULL;
    options.codec = "qsgd:16,bucket=32";
    options.quantise = "all";
    CHECK(nc_open(&options, layers, 2, &nc) == 0, "%s", options.codec);
    if (!nc)
        return;
    fill(rank, 6);
    CHECK(nc_allreduce(nc, grads, &report) == 0 && report.code_bytes == 32 * (4 + 64) + 4 * 16,
          "%d bytes", (int)report.code_bytes);
    check_mean(n_ranks, 6, ldexp(1, -13));
    nc_close(nc);
}

int main(void)
{
    const struct nc_layer layers[] = {{"fc.weight", N_WEIGHT, 0, 0, 0, NULL, {NULL}},
                                      {"fc.bias", N_BIAS, 1, 0, 0, NULL, {NULL}}};
    float *const grads[] = {weight, bias};
    struct nc_options options = nc_options_default();
    struct nc_report report;
    struct capture said;
    struct nc *nc = NULL;
    options.format = "fp16";
    options.scale = "aps-tight";
    options.bucket_bytes = 512;
    CHECK(strcmp(nc_version(), NC_VERSION) == 0, "version %s", nc_version());
    CHECK(options.deadline_s >= 600 && options.algo == NULL, "defaults");
    capture_begin(&said);
    options.algo = "tree";
    const int refused = nc_open(&options, layers, 2, &nc);
    options.algo = NULL;
    const int opened = nc_open(&options, layers, 2, &nc);
    capture_end(&said);
    CHECK(refused < 0 && opened == 0, "a mistake that was mended: %d, then %d", refused, opened);
    if (opened < 0)
        return 1;
    const int rank = nc_rank(nc), n_ranks = nc_n_ranks(nc);
    CHECK(capture_lines(said.text) == (rank == 0), "rank %d says \"%s\"", rank, said.text);
    CHECK(rank >= 0 && rank < n_ranks, "rank %d of %d", rank, n_ranks);
    for (int step = 0; step < 3; step++) {
        fill(rank, step);
        CHECK(nc_allreduce(nc, grads, &report) == 0, "step %d", step);
        check_mean(n_ranks, step, ldexp(1, -11));
        CHECK(report.code_bytes == 2 * N_WEIGHT + 4 * 16 &&
                  report.fp32_bytes == 4 * (N_WEIGHT + N_BIAS),
              "%d and %d bytes", (int)report.code_bytes, (int)report.fp32_bytes);
        CHECK((report.sent_bytes > 0) == (n_ranks > 1), "%d bytes", (int)report.sent_bytes);
    }
    fill(rank, 3);
    if (rank == n_ranks - 1)
        bias[3] = INFINITY;
    CHECK(nc_allreduce(nc, grads, NULL) == 1, "inf on one rank");
    CHECK(weight[5] == value(rank, 3, 5), "a skipped step changes nothing");
    nc_force_fp32(nc, 1);
    fill(rank, 4);
    CHECK(nc_allreduce(nc, grads, &report) == 0 && report.code_bytes == 4 * (N_WEIGHT + 16),
          "%d bytes", (int)report.code_bytes);
    check_mean(n_ranks, 4, ldexp(1, -23));
    nc_force_fp32(nc, 0);
    fill(rank, 5);
    CHECK(nc_allreduce(nc, grads, &report) == 0 && report.code_bytes == 2 * N_WEIGHT + 4 * 16,
          "narrow again");
    check_kind(rank, n_ranks, layers, grads);
    nc_close(nc);
    nc_close(NULL);
    DONE();
}
