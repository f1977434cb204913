/* overlap_fixture.h : runs each step as a whole, and again overlapped with producing gradients and
 * using means. */
#ifndef OVERLAP_FIXTURE_H
#define OVERLAP_FIXTURE_H
#include "check.h"
#include "fake_card_path.h"
#include "open_reducer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_LAYERS = 9, N_MAX = 1200, N_STEPS = 24, SEED = 6006 };
static const size_t sizes[N_LAYERS] = {N_MAX, 1, 77, 640, 9, 1000, 8, 333, 50};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[N_LAYERS][N_MAX], late[N_LAYERS][N_MAX], early[N_LAYERS][N_MAX];
    struct reducer_layer layers[N_LAYERS];
    struct fake_card_path fake;
} t;

static inline uint32_t dice(uint32_t step, uint32_t what, uint32_t i)
{
    return philox_u32(philox_key(SEED, step, what, (uint32_t)t.rank, 7), i) >> 8;
}

static inline uint32_t shared_dice(uint32_t step, uint32_t what)
{
    return philox_u32(philox_key(SEED, step, what, 0, 8), 0) >> 8;
}

/* Magnitudes, and so shifts, differ between steps. Returns true if one rank has a nan or inf. */
static inline bool make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MAX; i++) {
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
    struct codec_spec spec;
    const char *algo;
    size_t bucket_bytes;
    bool batches; /* the backend takes many spans in one launch, like a GPU */
};

static struct {
    struct vec_ops ops;
    int launches, decodes, decoded, allocated; /* decoded: layers decoded in `decodes` calls */
} batch;

static inline void launch(const struct vec_ops *ops, const struct vec_cast *cast,
                          struct vec_span *spans, int n_spans)
{
    batch.launches++;
    vec_encode_each(ops, cast, spans, n_spans);
}
static inline void launch_decode(const struct vec_ops *ops, struct mf_fmt fmt,
                                 const struct vec_out *spans, int n_spans, float divisor)
{
    batch.decodes++;
    batch.decoded += n_spans;
    vec_decode_each(ops, fmt, spans, n_spans, divisor);
}
static inline void *batch_alloc(size_t bytes)
{
    batch.allocated++;
    return vec_best()->alloc(bytes);
}
static inline void batch_free(void *p)
{
    batch.allocated--;
    vec_best()->free(p);
}

static inline struct reducer *open_reducer(const struct setting *s, const struct algo *algo)
{
    struct codec codec;
    int group = 0;
    struct reducer *r = NULL;
    if (codec_parse(&s->spec, &codec) < 0 ||
        (!algo && algo_find(s->algo, t.n_ranks, &algo, &group) < 0))
        exit(1);
    codec.seed = SEED;
    if (s->batches)
        codec.ops = &batch.ops;
    const struct reducer_spec spec = {.comm = t.c,
                                      .codec = &codec,
                                      .algo = algo,
                                      .group = group,
                                      .bucket_bytes = s->bucket_bytes,
                                      .layers = t.layers,
                                      .n_layers = N_LAYERS};
    if (algo_settle(algo, group, t.n_ranks, &codec) < 0 || reducer_open(&spec, &r) < 0)
        exit(1);
    return r;
}

static inline void point(float grads[N_LAYERS][N_MAX], float *at[N_LAYERS])
{
    for (int l = 0; l < N_LAYERS; l++)
        at[l] = grads[l];
}

static inline struct reducer_step run_late(struct reducer *r, uint64_t step)
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

/* Groups neighbouring layers; the order differs between ranks and steps. */
static inline int cut_groups(uint32_t step, int first[N_LAYERS])
{
    int order[N_LAYERS], n = 0;
    for (int l = 0; l < N_LAYERS; l++)
        if (l == 0 || dice(step, 10, (uint32_t)l) % 3)
            order[n++] = l;
    for (int i = n - 1; i > 0 && step % 2; i--) {
        const int j = (int)(dice(step, 11, (uint32_t)i) % (uint32_t)(i + 1)), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (int i = 0; i < n; i++)
        first[i] = step % 2 ? order[i] : order[n - 1 - i];
    return n;
}

static inline int group_end(const int *first, int n, int i)
{
    int end = N_LAYERS;
    for (int j = 0; j < n; j++)
        if (first[j] > first[i] && first[j] < end)
            end = first[j];
    return end;
}

static inline void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Means must equal run_late()'s. Overwrites them, to show whether the reducer touches them. */
static inline void take_means(struct reducer *r, uint32_t step, bool bad, bool out[N_LAYERS])
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

/* Overwritten means must be untouched. */
static inline void check_taken(uint32_t step, const bool out[N_LAYERS])
{
    for (int l = 0; l < N_LAYERS; l++) {
        int touched = 0;
        for (int i = 0; i < N_MAX && out[l]; i++)
            touched += memcmp(&t.early[l][i], "ZZZZ", 4) != 0;
        CHECK(!touched, "step %u: layer %d was touched after it was handed out", step, l);
        if (out[l])
            memcpy(t.early[l], t.late[l], sizes[l] * sizeof(float));
    }
}

/* Call it after run_late(). Gradients that are not ready are nan, which would show in the means. */
static inline struct reducer_step run_early(struct reducer *r, uint32_t step, bool bad)
{
    float *at[N_LAYERS];
    int first[N_LAYERS];
    bool out[N_LAYERS] = {false};
    struct reducer_step report = {0};
    for (int l = 0; l < N_LAYERS; l++)
        for (int i = 0; i < N_MAX; i++)
            t.early[l][i] = NAN;
    point(t.early, at);
    reducer_begin(r, step, at);
    const int n = cut_groups(step, first);
    for (int i = 0; i < n; i++) {
        const int end = group_end(first, n, i);
        if (dice(step, 12, (uint32_t)i) % 4 == 0)
            nap(200000);
        memcpy(t.early[first[i]], t.grads[first[i]], (size_t)(end - first[i]) * sizeof t.grads[0]);
        if (i < n - 1 || step % 3) /* finish() takes the rest as ready */
            reducer_ready(r, first[i], end - first[i]);
    }
    if (dice(step, 13, 0) % 4)
        take_means(r, step, bad, out);
    CHECK(reducer_finish(r, &report) == 0, "step %u", step);
    check_taken(step, out);
    CHECK(report.hidden_s >= 0 && report.exposed_s >= 0 && report.waited_s > 0 &&
              report.hidden_s + report.exposed_s > 0,
          "%g s hidden, %g s exposed", report.hidden_s, report.exposed_s);
    return report;
}

static inline void overlap_fixture_open(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (int l = 0; l < N_LAYERS; l++)
        t.layers[l] =
            (struct reducer_layer){.name = "layer", .n = sizes[l], .fp32 = l == 4 || l == 8};
    batch.ops = *vec_best();
    batch.ops.encode_all = launch;
    batch.ops.decode_all = launch_decode;
    batch.ops.alloc = batch_alloc;
    batch.ops.free = batch_free;
}
#endif
