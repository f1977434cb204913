/* test_overlap_mpi.c : buckets that travel while gradients are made, in whatever order: the bits of
 * reducer_run() without overlap, by every way; means handed out one by one; skipped steps, failures
 * and the end of the thread. */
/* RANKS: 1 2 3 4 */
#include "base/clock.h"
#include "base/err.h"
#include "check.h"
#include "reduce/reducer.h"
#include "fake_way.h"
#include <math.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAYERS = 9, N_MOST = 1200, N_STEPS = 24, SEED = 6006 };
static const size_t sizes[N_LAYERS] = {N_MOST, 1, 77, 640, 9, 1000, 8, 333, 50};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[N_LAYERS][N_MOST], late[N_LAYERS][N_MOST], early[N_LAYERS][N_MOST];
    struct reducer_layer layers[N_LAYERS];
    struct fake_way fake;
} t;

static uint32_t dice(uint32_t step, uint32_t what, uint32_t i)
{
    return philox_u32(philox_key(SEED, step, what, (uint32_t)t.rank, 7), i) >> 8;
}

/* Drawn alike on all ranks. */
static uint32_t shared_dice(uint32_t step, uint32_t what)
{
    return philox_u32(philox_key(SEED, step, what, 0, 8), 0) >> 8;
}

/* Layers change their magnitude from step to step, and so their shifts. Some steps one rank has a
 * nan. Returns whether. */
static bool make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MOST; i++) {
            const uint32_t word = philox_u32(philox_key(SEED, step, l, (uint32_t)t.rank, 2), i);
            t.grads[l][i] = ldexpf((float)word / 4294967296.0f - 0.5f, (int)(step / (l + 1) % 5));
        }
    const bool bad = shared_dice(step, 0) % 6 == 0;
    if (bad && shared_dice(step, 1) % (uint32_t)t.n_ranks == (uint32_t)t.rank) {
        const uint32_t l = shared_dice(step, 2) % N_LAYERS;
        t.grads[l][shared_dice(step, 3) % sizes[l]] = shared_dice(step, 4) % 2 ? NAN : -INFINITY;
    }
    return bad;
}

struct setting {
    struct codec_words words;
    const char *algo;
    size_t bucket_bytes;
    bool batches; /* by a backend that takes many spans in one launch, as a GPU does */
};

static struct {
    struct vec_ops ops;
    int launches, decodes, decoded, allocated; /* decoded: layers, of so many decodes */
} batch;

static void launch(const struct vec_ops *ops, const struct vec_cast *cast, struct vec_span *spans,
                   int n_spans)
{
    batch.launches++;
    vec_encode_each(ops, cast, spans, n_spans);
}
static void launch_decode(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *spans,
                          int n_spans, float divisor)
{
    batch.decodes++;
    batch.decoded += n_spans;
    vec_decode_each(ops, fmt, spans, n_spans, divisor);
}
static void *batch_alloc(size_t bytes)
{
    batch.allocated++;
    return vec_best()->alloc(bytes);
}
static void batch_free(void *p)
{
    batch.allocated--;
    vec_best()->free(p);
}

static struct reducer *open_reducer(const struct setting *s, const struct algo *algo)
{
    struct codec codec;
    int group = 0;
    struct reducer *r = NULL;
    if (codec_parse(&s->words, &codec) < 0 ||
        (!algo && algo_find(s->algo, t.n_ranks, &algo, &group) < 0))
        exit(1);
    codec.seed = SEED;
    if (s->batches)
        codec.ops = &batch.ops;
    if (algo_settle(algo, group, t.n_ranks, &codec) < 0 ||
        reducer_open(t.c, &codec, algo, group, s->bucket_bytes, t.layers, N_LAYERS, &r) < 0)
        exit(1);
    return r;
}

static void point(float grads[N_LAYERS][N_MOST], float *at[N_LAYERS])
{
    for (int l = 0; l < N_LAYERS; l++)
        at[l] = grads[l];
}

static struct reducer_step run_late(struct reducer *r, uint64_t step)
{
    float *at[N_LAYERS];
    struct reducer_step report = {0};
    memcpy(t.late, t.grads, sizeof t.late);
    point(t.late, at);
    CHECK(reducer_run(r, step, at, &report) == 0, "step %d", (int)step);
    CHECK(report.hidden_s == 0 && report.exposed_s > 0 && report.waited_s > 0,
          "%g s hidden without a thread", report.hidden_s);
    return report;
}

/* Which layers get ready together and when: groups of neighbours, cut and shuffled anew on every
 * rank in every step. */
static int cut_groups(uint32_t step, int first[N_LAYERS])
{
    int order[N_LAYERS], n = 0;
    for (int l = 0; l < N_LAYERS; l++)
        if (l == 0 || dice(step, 10, (uint32_t)l) % 3)
            order[n++] = l;
    for (int i = n - 1; i > 0 && step % 2; i--) { /* else backward order */
        const int j = (int)(dice(step, 11, (uint32_t)i) % (uint32_t)(i + 1)), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (int i = 0; i < n; i++)
        first[i] = step % 2 ? order[i] : order[n - 1 - i];
    return n;
}

static int group_end(const int *first, int n, int i)
{
    int end = N_LAYERS;
    for (int j = 0; j < n; j++)
        if (first[j] > first[i] && first[j] < end)
            end = first[j];
    return end;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Layers whose means are handed out: the bits of run_late(), and nobody else's from then on. */
static void take_means(struct reducer *r, uint32_t step, bool bad, bool out[N_LAYERS])
{
    int first = -1, n = -1;
    while (reducer_next(r, &first, &n)) {
        CHECK(!bad, "step %u: means of layers %d+%d of a step with a nan", step, first, n);
        CHECK(first >= 0 && n > 0 && first + n <= N_LAYERS, "step %u: layers %d+%d", step, first,
              n);
        for (int l = first; l < first + n; l++) {
            CHECK(!out[l], "step %u: layer %d twice", step, l);
            CHECK(bad || memcmp(t.late[l], t.early[l], sizes[l] * sizeof(float)) == 0,
                  "step %u: layer %d is handed out with other bits", step, l);
            out[l] = true;
            memset(t.early[l], 0x5a, sizeof t.early[l]);
        }
    }
    for (int l = 0; l < N_LAYERS; l++)
        CHECK(out[l] == !bad, "step %u: layer %d handed out: %d, nan: %d", step, l, out[l], bad);
    CHECK(!reducer_next(r, &first, &n), "step %u: there is more after the end", step);
}

/* Who was handed a layer's means may do what he likes with it; here they are put back. */
static void check_taken(uint32_t step, const bool out[N_LAYERS])
{
    for (int l = 0; l < N_LAYERS; l++) {
        int touched = 0;
        for (int i = 0; i < N_MOST && out[l]; i++)
            touched += memcmp(&t.early[l][i], "ZZZZ", 4) != 0;
        CHECK(!touched, "step %u: layer %d was touched after it was handed out", step, l);
        if (out[l])
            memcpy(t.early[l], t.late[l], sizes[l] * sizeof(float));
    }
}

/* After run_late(). Gradients come into being just before they are said to be ready; before, they
 * are what no step survives. */
static struct reducer_step run_early(struct reducer *r, uint32_t step, bool bad)
{
    float *at[N_LAYERS];
    int first[N_LAYERS];
    bool out[N_LAYERS] = {false};
    struct reducer_step report = {0};
    for (int l = 0; l < N_LAYERS; l++)
        for (int i = 0; i < N_MOST; i++)
            t.early[l][i] = NAN;
    point(t.early, at);
    reducer_begin(r, step, at);
    const int n = cut_groups(step, first);
    for (int i = 0; i < n; i++) {
        const int end = group_end(first, n, i);
        if (dice(step, 12, (uint32_t)i) % 4 == 0)
            nap(200000);
        memcpy(t.early[first[i]], t.grads[first[i]], (size_t)(end - first[i]) * sizeof t.grads[0]);
        if (i < n - 1 || step % 3) /* what is left is taken as ready in the end */
            reducer_ready(r, first[i], end - first[i]);
    }
    if (dice(step, 13, 0) % 4) /* else finish() hands out all */
        take_means(r, step, bad, out);
    CHECK(reducer_finish(r, &report) == 0, "step %u", step);
    check_taken(step, out);
    CHECK(report.hidden_s >= 0 && report.exposed_s >= 0 && report.waited_s > 0 &&
              report.hidden_s + report.exposed_s > 0,
          "%g s hidden, %g s exposed", report.hidden_s, report.exposed_s);
    return report;
}

static void check_setting(const struct setting *s, bool way)
{
    struct setting plain = *s;
    plain.batches = false;
    struct reducer *late = open_reducer(&plain, NULL), *early = open_reducer(s, NULL);
    int taken = 0, redone = 0;
    CHECK(reducer_set_overlap(early, true) == 0 && reducer_overlaps(early), "no overlap");
    t.fake = (struct fake_way){.c = t.c, .seed = SEED, .mpi = t.fake.mpi};
    if (way)
        reducer_set_way(early, &fake_ops, &t.fake);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        const bool bad = make_grads(step);
        t.fake.step = step;
        reducer_force_fp32(late, step % 7 == 3);
        reducer_force_fp32(early, step % 7 == 3);
        if (step == N_STEPS / 2) /* the thread may come and go */
            CHECK(reducer_set_overlap(early, false) == 0 && reducer_set_overlap(early, true) == 0,
                  "again");
        const struct reducer_step a = run_late(late, step), b = run_early(early, step, bad);
        CHECK(a.skipped == bad && b.skipped == bad, "step %u: skipped %d late, %d early, nan %d",
              step, a.skipped, b.skipped, bad);
        for (int l = 0; l < N_LAYERS && !bad; l++)
            CHECK(memcmp(t.late[l], t.early[l], sizes[l] * sizeof(float)) == 0,
                  "%s %s %s, buckets of %zu: step %u layer %d differs", s->words.format,
                  s->words.scale, s->algo, s->bucket_bytes, step, l);
        CHECK(bad || way || a.sent_bytes == b.sent_bytes, "step %u: %d bytes late, %d early", step,
              (int)a.sent_bytes, (int)b.sent_bytes);
        CHECK(a.code_bytes == b.code_bytes && a.fp32_bytes == b.fp32_bytes, "step %u", step);
        taken += !bad;
        redone += b.n_redone;
    }
    CHECK(taken > N_STEPS / 2 && taken < N_STEPS,
          "%d steps of %d were taken: this tests too little", taken, N_STEPS);
    CHECK(!way || (redone > 3 && t.fake.gave_up > 1 && t.fake.sums > 10),
          "%d buckets redone, given up %d times, %d sums", redone, t.fake.gave_up, t.fake.sums);
    reducer_close(late);
    reducer_close(early);
}

static void check_bits(void)
{
    static const size_t buckets[] = {1, 700, 2500, 1 << 20};
    const bool many = t.n_ranks > 1;
    const char *group = t.n_ranks % 2 ? "gather" : "group-scatter:2",
               *ring = many ? "ring" : "self";
    const struct setting settings[] = {
        {.words = {.format = "e4m3", .scale = "aps"}, .algo = "auto"},
        {.words = {.format = "e5m2", .scale = "none", .round = "stochastic"}, .algo = "auto"},
        {.words = {.format = "e3m0", .scale = "aps-tight"}, .algo = group},
        {.words = {.format = "e5m2", .sum = "trunc"}, .algo = ring},
        {.words = {.format = "e6m9", .scale = "const:8", .sum = "nearest"},
         .algo = many ? "direct" : "self"},
        {.words = {.format = "fp32", .scale = "none"}, .algo = "native"},
    };
    for (int i = 0; i < 6; i++)
        for (int b = 0; b < 4; b++) {
            struct setting s = settings[i];
            s.bucket_bytes = buckets[b];
            check_setting(&s, false);
        }
    for (int i = 0; i < 3; i++) { /* exact sums: what a card does */
        struct setting s = settings[i];
        s.algo = "auto";
        s.bucket_bytes = 700;
        check_setting(&s, true);
        s.batches = true;
        check_setting(&s, i > 0);
    }
    CHECK(batch.decodes > 100 && batch.decoded > batch.decodes, "%d layers in %d decodes",
          batch.decoded, batch.decodes);
    CHECK(batch.launches > 100 && batch.allocated == 0, "%d launches, %d not freed", batch.launches,
          batch.allocated);
}

/* ---- does anything travel before the last gradient is there? ---- */

static sem_t summed;
static size_t spy_scratch(const struct fold *f, size_t n, int n_ranks, int group)
{
    return algo_gather.scratch_bytes(f, n, n_ranks, group);
}
static int spy_run(struct comm *c, const struct algo_call *call)
{
    int rc = algo_gather.run(c, call);
    sem_post(&summed);
    return rc;
}
static int broken_run(struct comm *c, const struct algo_call *call)
{
    (void)c, (void)call;
    return ERR(-EIO, "broken on purpose");
}

/* The first bucket (the last layers) is summed while the other gradients do not exist. */
static void check_that_it_overlaps(void)
{
    static const struct algo spy = {
        .name = "spy", .rules = 31, .scratch_bytes = spy_scratch, .run = spy_run};
    const struct setting s = {.words = {.format = "e4m3", .scale = "aps"}, .bucket_bytes = 300};
    struct reducer *r = open_reducer(&s, &spy);
    struct reducer_step report;
    struct timespec limit;
    float *at[N_LAYERS];
    sem_init(&summed, 0, 0);
    make_grads(1);
    point(t.grads, at);
    CHECK(reducer_set_overlap(r, true) == 0, "overlap");
    reducer_begin(r, 1, at);
    reducer_ready(r, N_LAYERS - 2, 2);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    CHECK(sem_timedwait(&summed, &limit) == 0, "the first bucket waits for the others");
    CHECK(reducer_finish(r, &report) == 0 && report.hidden_s > 0, "%g s hidden", report.hidden_s);
    reducer_close(r);
    sem_destroy(&summed);
}

static void check_failure(void)
{
    static const struct algo broken = {
        .name = "broken", .rules = 31, .scratch_bytes = spy_scratch, .run = broken_run};
    const struct setting s = {.words = {.format = "e5m2"}, .algo = "auto", .bucket_bytes = 300};
    struct reducer *r = open_reducer(&s, &broken), *left = open_reducer(&s, NULL);
    struct reducer_step report = {.n_guessed = -1};
    float *at[N_LAYERS];
    int first, n;
    make_grads(1);
    point(t.grads, at);
    CHECK(reducer_set_overlap(r, true) == 0 && reducer_set_overlap(left, true) == 0, "overlap");
    err_hold();
    reducer_begin(r, 1, at);
    CHECK(!reducer_next(r, &first, &n), "means of layers %d+%d of a step that failed", first, n);
    CHECK(reducer_finish(r, &report) == -EIO && report.n_guessed == -1, "a failure in the thread");
    err_release(false);
    reducer_close(r);
    reducer_begin(left, 1, at); /* its thread waits for gradients that never come */
    nap(1000000);
    reducer_close(left);
}

/* An MPI that allows one thread alone: everything as without overlap, after a warning. */
static void check_refusal(void)
{
    const struct setting s = {
        .words = {.format = "e4m3", .scale = "aps"}, .algo = "auto", .bucket_bytes = 700};
    struct reducer *late = open_reducer(&s, NULL), *asked = open_reducer(&s, NULL);
    err_hold();
    CHECK(reducer_set_overlap(asked, true) == 0 && !reducer_overlaps(asked),
          "overlap on one thread");
    err_release(false);
    for (uint32_t step = 0; step < 5; step++) {
        const bool bad = make_grads(step);
        const struct reducer_step a = run_late(late, step), b = run_early(asked, step, bad);
        CHECK(a.skipped == b.skipped && b.hidden_s == 0, "step %u", step);
        for (int l = 0; l < N_LAYERS && !bad; l++)
            CHECK(memcmp(t.late[l], t.early[l], sizes[l] * sizeof(float)) == 0, "step %u layer %d",
                  step, l);
    }
    reducer_close(late);
    reducer_close(asked);
}

int main(void)
{
    if (comm_open(60, &t.c) < 0)
        return 1;
    t.n_ranks = comm_n_ranks(t.c);
    t.rank = comm_rank(t.c);
    if (t.rank == 0)
        printf("seed %d\n", SEED);
    for (int l = 0; l < N_LAYERS; l++)
        t.layers[l] =
            (struct reducer_layer){.name = "layer", .n = sizes[l], .fp32 = l == 4 || l == 8};
    batch.ops = *vec_best();
    batch.ops.encode_all = launch;
    batch.ops.decode_all = launch_decode;
    batch.ops.alloc = batch_alloc;
    batch.ops.free = batch_free;
    if (t.n_ranks == 3)
        t.c->threads = t.rank != 1; /* one rank's MPI is enough */
    if (t.n_ranks != 3) {
        MPI_Comm_dup(MPI_COMM_WORLD, &t.fake.mpi);
        check_bits();
        check_that_it_overlaps();
        check_failure();
        MPI_Comm_free(&t.fake.mpi);
    } else {
        check_refusal();
    }
    comm_close(t.c);
    DONE();
}
