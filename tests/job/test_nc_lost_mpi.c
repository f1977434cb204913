/* test_nc_lost_mpi.c : compares nc_report's losses of casts with a search of every element.
 * Codecs that cannot count them refuse. */
/* RANKS: 1 2 4 */
#include "capture.h"
#include "hls/arith/mf.h"
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

static int rank, n_ranks;

static struct nc *must_open(struct nc_options o)
{
    struct nc *nc = NULL;
    const int rc = nc_open(&o, layers, N_LAYERS, &nc);
    CHECK(rc == 0, "open: %d", rc);
    if (rc < 0)
        exit(1);
    return nc;
}

/* Uses mf.h only, for e4m3 without a scale; layer "e" travels in fp32. */
static void search(const float *x, uint64_t *underflow, uint64_t *saturated)
{
    const struct mf_fmt e4m3 = {4, 3, 0};
    *underflow = *saturated = 0;
    for (int i = 0; i < N_ALL - (int)layers[4].n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        const uint32_t mag = mf_enc(e4m3, bits, 0, MF_NEAREST, MF_INF, 0) & 0x7f;
        *underflow += x[i] != 0 && mag == 0;
        *saturated += mag > mf_max(e4m3);
    }
}

static void spread(uint64_t step, float x[N_ALL])
{
    fill_grads(rank, step, x);
    for (int i = 0; i < N_ALL; i++)
        x[i] = i % 11 ? ldexpf(x[i], i % 24) : 0;
}

static void test_counts(struct nc *nc, bool in_parts, uint64_t step, const struct nc_report *none)
{
    static float x[N_ALL];
    void *list[N_LAYERS];
    uint64_t underflow, saturated;
    struct nc_report report;
    spread(step, x);
    search(x, &underflow, &saturated);
    CHECK(underflow > 20 && saturated > 20, "the test has %d and %d", (int)underflow,
          (int)saturated);
    point(x, sizeof *x, list);
    const int rc = in_parts
                       ? (nc_iallreduce(nc, list) || nc_ready(nc, 3, 2) || nc_wait(nc, &report))
                       : nc_allreduce(nc, list, &report);
    CHECK(rc == 0, "step %d: %d", (int)step, rc);
    if (none)
        underflow = saturated = 0;
    CHECK(report.underflow == underflow && report.saturated == saturated,
          "rank %d, step %d: %d became 0 and %d the largest, not %d and %d", rank, (int)step,
          (int)report.underflow, (int)report.saturated, (int)underflow, (int)saturated);
}

static void test_refused(void)
{
    struct nc_options o = nc_options_default();
    struct capture said;
    struct nc *nc = NULL;
    o.codec = "qsgd:4";
    o.count_lost = 1;
    capture_begin(&said);
    const int rc = nc_open(&o, layers, N_LAYERS, &nc);
    capture_end(&said);
    CHECK(rc == -EINVAL && nc == NULL, "codes that are no casts: %d", rc);
    CHECK(rank > 0 || strstr(said.text, "qsgd:4"), "said \"%s\"", said.text);
}

int main(void)
{
    struct nc_options o = nc_options_default();
    int level;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    o.format = "e4m3";
    o.bucket_bytes = 300;
    struct nc *nc = must_open(o);
    rank = nc_rank(nc), n_ranks = nc_n_ranks(nc);
    test_counts(nc, false, 0, &(struct nc_report){.underflow = 0});
    nc_close(nc);
    o.count_lost = 1;
    nc = must_open(o);
    for (uint64_t step = 0; step < 4; step++)
        test_counts(nc, step % 2, step, NULL);
    nc_force_fp32(nc, 1);
    test_counts(nc, false, 4, &(struct nc_report){.underflow = 0});
    nc_close(nc);
    test_refused();
    MPI_Finalize();
    DONE();
}
