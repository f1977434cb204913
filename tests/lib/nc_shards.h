/* nc_shards.h : checks reduce-scatters and all-gathers of the public interface against all-reduces,
 * for ranks of any transport. */
#ifndef NC_SHARDS_H
#define NC_SHARDS_H
#include "codec/codec.h"
#include "nc_fixture.h"
#include <stdlib.h>

enum { SHARD_STEPS = 3, SHARD_RANKS = 9, CANARY_FLOATS = 3 };

/* A set of ranks. open: like nc_open_over(). */
struct shard_ranks {
    int rank, n_ranks;
    int (*open)(const void *arg, const struct nc_options *o, const struct nc_layer *l, int n,
                struct nc **out);
    const void *arg;
};

struct shard_codec {
    const char *codec, *format, *scale, *sum, *out_format;
};
static const struct shard_codec shard_codecs[] = {
    {.format = "e4m3", .scale = "aps"},
    {.format = "e3m0", .scale = "aps-tight", .out_format = "e4m3"},
    {.format = "e2m5f", .scale = "aps-tight:32"},
    {.format = "e5m2", .sum = "nearest", .scale = "aps"},
    {.format = "e5m2", .sum = "trunc"},
    {.format = "e2m3", .sum = "kahan", .scale = "aps"},
    {.format = "fp32"},
    {.format = "e4m3", .scale = "quantile", .sum = "exact"},
    {.codec = "relgrad:of=gradient", .sum = "exact"},
    {.codec = "relgrad:of=gradient"},
    {.codec = "ternary"},
    {.codec = "qsgd:4,bucket=96"},
    {.codec = "onebit:64"},
    {.codec = "onebit:column"},
};
enum { SHARD_CODECS = sizeof shard_codecs / sizeof *shard_codecs };

static inline struct nc_options shard_options(const struct shard_codec *row)
{
    struct nc_options o = nc_options_default();
    o.codec = row->codec;
    o.format = row->format;
    o.scale = row->scale;
    o.sum = row->sum;
    o.out_format = row->out_format;
    o.quantise = "all";
    o.algo = "direct";
    o.bucket_bytes = 300;
    o.deadline_s = 60;
    return o;
}

/* Ranges 0: equal; 1: of odd lengths, some empty; 2: one rank has all; 3: few elements. */
static inline const size_t *shard_ranges(int kind, int n_ranks, size_t range[SHARD_RANKS])
{
    size_t left = N_ALL;
    memset(range, 0, SHARD_RANKS * sizeof *range);
    for (int r = 0; r + 1 < n_ranks; r++) {
        const size_t want = kind == 1   ? r % 3 == 1 ? 0 : 37 + 101 * (size_t)r
                            : kind == 2 ? 0
                                        : 1 + (size_t)(r % 3);
        range[r] = want < left ? want : left;
        left -= range[r];
    }
    range[n_ranks - 1] = left;
    return kind ? range : NULL;
}

static inline struct nc *shard_open_nc(const struct shard_ranks *s, const struct nc_options *o)
{
    struct nc *nc = NULL;
    CHECK(s->open(s->arg, o, layers, N_LAYERS, &nc) == 0, "open %s %s: %s",
          o->codec ? o->codec : o->format, o->shard ? o->shard : "", nc_last_error(NULL));
    if (!nc)
        exit(1);
    return nc;
}

/* The sum of the values of all ranks' codes in fp32, in rank order, divided by their number: step 0
 * of qsgd and onebit. */
static inline void shard_values(const struct shard_codec *row, int n_ranks, float mean[N_ALL])
{
    const struct codec_spec spec = {.codec = row->codec};
    const struct codec_adder by = {.name = "direct"};
    struct codec c;
    static float x[N_ALL], value[N_ALL];
    static uint8_t codes[8 * N_ALL];
    CHECK(codec_parse(&spec, &c) == 0 && codec_settle(&c, n_ranks, &by) == 0, "%s", row->codec);
    c.seed = 1;
    c.sums = true;
    for (int r = 0; r < n_ranks; r++) {
        fill_grads(r, 0, x);
        for (int l = 0, at = 0; l < N_LAYERS; at += (int)layers[l++].n) {
            if (layers[l].fp32) {
                memcpy(value + at, x + at, layers[l].n * sizeof *x);
                continue;
            }
            codec_encode(&c, 0, (uint32_t)l, (uint32_t)r, x + at, layers[l].n, 0, codes);
            codec_decode(&c, codes, layers[l].n, 0, value + at);
        }
        for (int i = 0; i < N_ALL; i++)
            mean[i] = r ? mean[i] + value[i] : value[i];
    }
    for (int i = 0; i < N_ALL; i++)
        mean[i] /= (float)n_ranks;
}

/* Means of SHARD_STEPS all-reduces. */
static inline void shard_means(const struct shard_ranks *s, const struct nc_options *o,
                               float means[SHARD_STEPS][N_ALL])
{
    struct nc *nc = shard_open_nc(s, o);
    void *list[N_LAYERS];
    for (int step = 0; step < SHARD_STEPS; step++) {
        point(means[step], sizeof(float), list);
        fill_grads(s->rank, (uint64_t)step, means[step]);
        CHECK(nc_allreduce(nc, list, NULL) == 0, "all-reduce: %s", nc_last_error(nc));
    }
    nc_close(nc);
}

static inline int shard_step(struct nc *nc, void *list[N_LAYERS], float *shard, int step,
                             struct nc_report *report)
{
    if (step % 2 == 0)
        return nc_reduce_scatter(nc, list, shard, report);
    CHECK(nc_ireduce_scatter(nc, list, shard) == 0 && nc_ready(nc, 3, 2) == 0 &&
              nc_ready(nc, 0, 1) == 0 && nc_ready(nc, 2, 1) == 0,
          "in parts: %s", nc_last_error(nc));
    return nc_wait(nc, report);
}

/* want: means, or NULL: not known in this step. bound: largest difference allowed. */
static inline void shard_check(const struct shard_ranks *s, const struct nc_options *o, int kind,
                               float (*want)[N_ALL], int n_known)
{
    struct nc *nc = shard_open_nc(s, o);
    static float x[N_ALL], shard[N_ALL + CANARY_FLOATS];
    void *list[N_LAYERS];
    size_t at, n, wrong = 0;
    struct nc_report report;
    point(x, sizeof *x, list);
    CHECK(nc_shard(nc, s->rank, &at, &n) == 0, "a range");
    const size_t each = (N_ALL + (size_t)s->n_ranks - 1) / (size_t)s->n_ranks,
                 room = kind ? n : each;
    for (int step = 0; step < SHARD_STEPS; step++) {
        fill_grads(s->rank, (uint64_t)step, x);
        memset(shard, 0x5a, sizeof shard);
        CHECK(shard_step(nc, list, shard, step, &report) == 0, "%s", nc_last_error(nc));
        if (step < n_known)
            wrong += memcmp(shard, want[step] + at, n * sizeof *shard) != 0;
        for (size_t i = n; i < room; i++)
            wrong += shard[i] != 0;
        for (size_t i = room; i < room + CANARY_FLOATS; i++)
            wrong += memcmp(&shard[i], "ZZZZ", 4) != 0;
        for (int i = 0; i < N_ALL; i++)
            wrong += x[i] != grad_of(s->rank, (uint64_t)step, i);
    }
    CHECK(wrong == 0, "%s %s %s, ranges %d, rank %d of %d: %zu wrong",
          o->codec ? o->codec : o->format, o->sum ? o->sum : "", o->shard, kind, s->rank,
          s->n_ranks, wrong);
    CHECK((report.sent_bytes > 0) == (s->n_ranks > 1), "%d bytes", (int)report.sent_bytes);
    x[N_ALL - 1] = s->rank == s->n_ranks - 1 ? INFINITY : 0;
    memset(shard, 0x5a, sizeof shard);
    CHECK(nc_reduce_scatter(nc, list, shard, NULL) == 1 && memcmp(shard, "ZZZZ", 4) == 0,
          "inf on a rank changes the shard");
    nc_close(nc);
}

static inline void shard_check_codec(const struct shard_ranks *s, const struct shard_codec *row,
                                     int kind)
{
    static float means[SHARD_STEPS][N_ALL];
    size_t range[SHARD_RANKS];
    struct nc_options o = shard_options(row);
    shard_means(s, &o, means);
    o.shard_n = shard_ranges(kind, s->n_ranks, range);
    o.shard = "rounded";
    shard_check(s, &o, kind, means, SHARD_STEPS);
    o.shard = NULL;
    o.shard_n = NULL;
    int n_known = SHARD_STEPS;
    if (!row->codec) {
        o.out_format = "fp32";
        shard_means(s, &o, means);
    } else if (!strncmp(row->codec, "qsgd", 4) || !strncmp(row->codec, "onebit", 6)) {
        shard_values(row, s->n_ranks, means[0]);
        n_known = 1;
    } else if (strcmp(row->codec, "ternary") != 0) {
        n_known = 0;
    }
    o.out_format = NULL;
    o.shard_n = shard_ranges(kind, s->n_ranks, range);
    o.shard = "fp32";
    shard_check(s, &o, kind, means, n_known);
}

/* ---- all-gathers ---- */

static inline float shard_weight(int i, int step)
{
    return (float)(i % 97 - 48) / 64 + (float)step * ldexpf((float)(i % 13 - 6), -12) +
           (i % 7 == 0 ? 1e-9f : 0);
}

/* |weight| < 2: half a unit in the last place of bf16 is 2^-8. Differences are at most 6 * 2^-12.
 */
static inline double shard_bound(const char *gather, int step)
{
    if (!gather || (!strncmp(gather, "delta", 5) && step == 0))
        return 0;
    return !strcmp(gather, "bf16")           ? ldexp(1, -8)
           : !strcmp(gather, "fp16")         ? ldexp(1, -11)
           : !strncmp(gather, "delta:e4", 8) ? 6 * ldexp(1, -12) / 15
                                             : 6 * ldexp(1, -12) / 3;
}

static inline void shard_check_gather(const struct shard_ranks *s, const char *gather, int kind)
{
    static float weights[N_ALL], shard[N_ALL], others[N_ALL];
    size_t range[SHARD_RANKS], at, n;
    struct nc_options o = nc_options_default();
    struct nc_report report;
    void *list[N_LAYERS];
    o.shard = "fp32";
    o.gather = gather;
    o.shard_n = shard_ranges(kind, s->n_ranks, range);
    o.deadline_s = 60;
    struct nc *nc = shard_open_nc(s, &o);
    point(weights, sizeof *weights, list);
    CHECK(nc_shard(nc, s->rank, &at, &n) == 0, "a range");
    for (int step = 0; step < 6; step++) {
        double worst = 0;
        for (size_t i = 0; i < n; i++)
            shard[i] = shard_weight((int)(at + i), step);
        if (step % 2)
            CHECK(nc_iall_gather(nc, shard, list) == 0 && nc_wait(nc, &report) == 0, "%s",
                  nc_last_error(nc));
        else
            CHECK(nc_all_gather(nc, shard, list, &report) == 0, "%s", nc_last_error(nc));
        for (int i = 0; i < N_ALL; i++)
            worst = check_max(worst, fabs((double)weights[i] - (double)shard_weight(i, step)));
        CHECK(worst <= shard_bound(gather, step), "%s, step %d: off by %g",
              gather ? gather : "fp32", step, worst);
        memcpy(others, weights, sizeof others);
        CHECK(nc_broadcast(nc, others, sizeof others, s->n_ranks - 1) == 0, "weights");
        CHECK(memcmp(others, weights, sizeof others) == 0, "%s: ranks differ", gather);
    }
    CHECK(nc_step(nc) == 0, "an all-gather is no step");
    nc_close(nc);
}

#endif
