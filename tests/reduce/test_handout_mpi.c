/* test_handout_mpi.c : means are handed out while the last bucket travels, except in a step that
 * will be skipped. */
/* RANKS: 1 2 3 */
#include "base/err.h"
#include "check.h"
#include "open_reducer.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_LAYERS = 7, N_MAX = 500, SEED = 6007 };
static const size_t sizes[N_LAYERS] = {N_MAX, 1, 77, 300, 9, 200, 8};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float mine[N_LAYERS][N_MAX], want[N_LAYERS][N_MAX], grads[N_LAYERS][N_MAX];
    float *at[N_LAYERS];
} t;

static struct {
    sem_t open;
    int left; /* buckets that pass; the next waits for `open` */
} gate;

static size_t gather_scratch(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    return algo_gather.scratch_bytes(f, n, n_ranks, group);
}

static int gated_run(struct comm *c, const struct algo_call *call)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    if (gate.left-- == 0)
        CHECK(sem_timedwait(&gate.open, &limit) == 0,
              "a bucket waits for an update that waits for it");
    return algo_gather.run(c, call);
}

static int broken_run(struct comm *c, const struct algo_call *call)
{
    return gate.left-- == 0 ? ERR(-EIO, "broken on purpose") : algo_gather.run(c, call);
}

static const struct algo gated = {
    .name = "gated", .scratch_bytes = gather_scratch, .run = gated_run};
static const struct algo broken = {
    .name = "broken", .scratch_bytes = gather_scratch, .run = broken_run};

static struct reducer *open_reducer(const struct algo *algo, bool overlap)
{
    struct reducer_layer layers[N_LAYERS];
    struct codec codec;
    struct reducer *r = NULL;
    const struct reducer_spec spec = {.comm = t.c,
                                      .codec = &codec,
                                      .algo = algo,
                                      .bucket_bytes = 1,
                                      .layers = layers,
                                      .n_layers = N_LAYERS};
    for (int l = 0; l < N_LAYERS; l++)
        layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l], .fp32 = l == 2};
    if (codec_parse(&(struct codec_spec){.format = "e4m3", .scale = "aps"}, &codec) < 0 ||
        algo_settle(algo, 0, t.n_ranks, &codec) < 0 || reducer_open(&spec, &r) < 0 ||
        reducer_set_overlap(r, overlap) < 0)
        exit(1);
    CHECK(reducer_overlaps(r) == overlap, "overlap %d", overlap);
    return r;
}

static void make_grads(void)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MAX; i++)
            t.mine[l][i] =
                (float)philox_u32(philox_key(SEED, 0, l, (uint32_t)t.rank, 2), i) / 4294967296.0f -
                0.5f;
}

static void point(float grads[N_LAYERS][N_MAX])
{
    memcpy(grads, t.mine, sizeof t.mine);
    for (int l = 0; l < N_LAYERS; l++)
        t.at[l] = grads[l];
}

static void check_means(int first, int n)
{
    for (int l = first; l < first + n; l++)
        CHECK(memcmp(t.want[l], t.grads[l], sizes[l] * sizeof(float)) == 0,
              "layer %d: not the mean", l);
}

/* Layer 0 is ready last. Returns the first reducer_next()'s result. */
static bool begin(struct reducer *r, bool force_fp32, int left, int *first, int *n)
{
    struct reducer *late = open_reducer(&algo_gather, false);
    struct reducer_step report;
    point(t.want);
    reducer_force_fp32(late, force_fp32);
    CHECK(reducer_run(late, 1, t.at, &report) == 0, "the means to compare with");
    reducer_close(late);
    sem_init(&gate.open, 0, 0);
    gate.left = left;
    point(t.grads);
    reducer_force_fp32(r, force_fp32);
    reducer_begin(r, 1, t.at);
    reducer_ready(r, 1, N_LAYERS - 1);
    /* time for all other buckets */
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    *first = *n = -1;
    return reducer_next(r, first, n);
}

/* nan_rank: the rank with a nan in the layer that travels last; or -1. */
static void check_handout(int nan_rank, bool force_fp32)
{
    struct reducer *r = open_reducer(&gated, true);
    struct reducer_step report;
    int first, n;
    const bool bad = nan_rank >= 0;
    make_grads();
    if (nan_rank == t.rank)
        t.mine[0][N_MAX - 1] = NAN;
    const bool some = begin(r, force_fp32, N_LAYERS - 1, &first, &n);
    CHECK(some == !bad, "means are handed out: %d, nan in the last bucket: %d", some, bad);
    if (some) {
        CHECK(first == 1 && n == N_LAYERS - 1, "layers %d+%d while the last bucket waits", first,
              n);
        check_means(first, n);
    }
    sem_post(&gate.open);
    if (some) {
        CHECK(reducer_next(r, &first, &n) && first == 0 && n == 1, "layers %d+%d at last", first,
              n);
        check_means(0, 1);
    }
    CHECK(!reducer_next(r, &first, &n), "more than all layers");
    CHECK(reducer_finish(r, &report) == 0 && report.skipped == bad, "skipped: %d", report.skipped);
    CHECK(report.waited_s > 0 && report.hidden_s >= 0 && report.hidden_s + report.exposed_s > 0,
          "%g s hidden, %g s exposed", report.hidden_s, report.exposed_s);
    reducer_close(r);
    sem_destroy(&gate.open);
}

static void check_finish_at_once(void)
{
    struct reducer *r = open_reducer(&gated, true);
    struct reducer_step report;
    int first, n;
    make_grads();
    CHECK(begin(r, false, N_LAYERS - 1, &first, &n) && first == 1, "layers %d+%d", first, n);
    sem_post(&gate.open);
    CHECK(reducer_finish(r, &report) == 0 && !report.skipped, "finish");
    check_means(0, N_LAYERS);
    reducer_close(r);
    sem_destroy(&gate.open);
}

static void check_without(bool bad)
{
    struct reducer *r = open_reducer(&algo_gather, false);
    struct reducer_step report;
    int first, n;
    make_grads();
    if (bad && t.rank == 0)
        t.mine[3][0] = INFINITY;
    CHECK(begin(r, false, 0, &first, &n) == !bad, "without overlap");
    CHECK(bad || (first == 0 && n == N_LAYERS), "layers %d+%d without overlap", first, n);
    if (!bad)
        check_means(0, N_LAYERS);
    CHECK(!reducer_next(r, &first, &n), "more than all layers");
    CHECK(reducer_finish(r, &report) == 0 && report.skipped == bad && report.waited_s > 0 &&
              report.hidden_s == 0,
          "%g s hidden", report.hidden_s);
    reducer_close(r);
    sem_destroy(&gate.open);
}

static void check_failure(bool overlap)
{
    struct reducer *r = open_reducer(&broken, overlap);
    struct reducer_step report = {.n_guessed = -1};
    int first, n;
    make_grads();
    err_hold();
    CHECK(!begin(r, false, N_LAYERS - 2, &first, &n), "layers %d+%d of a step that failed", first,
          n);
    CHECK(!reducer_next(r, &first, &n), "more of a step that failed");
    CHECK(reducer_finish(r, &report) == -EIO && report.n_guessed == -1, "the failure");
    err_release(false);
    reducer_close(r);
    sem_destroy(&gate.open);
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (int fp32 = 0; fp32 < 2; fp32++)
        for (int nan_rank = -1; nan_rank < t.n_ranks; nan_rank++)
            check_handout(nan_rank, fp32);
    check_finish_at_once();
    check_without(false);
    check_without(true);
    check_failure(true);
    check_failure(false);
    comm_close(t.c);
    DONE();
}
