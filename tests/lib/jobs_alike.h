/* jobs_alike.h : runs jobs of every algorithm and kind of codec on ranks of any kind and on
 * virtual ranks, which must have equal means, bytes and rounds. */
#ifndef JOBS_ALIKE_H
#define JOBS_ALIKE_H
#include "base/err.h"
#include "check.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include "hls/arith/philox.h"
#include "job/job.h"
#include <string.h>

enum { MAX_RANKS = 8, N = 4000, N_LAYERS = 4, STEPS = 3 };
static const uint64_t seed = 20261122;
static const struct reducer_layer layers[N_LAYERS] = {{.name = "a", .n = 2900, .column = 29},
                                                      {.name = "b", .n = 1},
                                                      {.name = "c", .n = 999, .column = 9},
                                                      {.name = "d", .n = 100, .fp32 = true}};

struct ended {
    float mean[N];
    uint64_t sent_bytes, rounds;
    int rc;
};

struct trial {
    struct job_spec spec;
    struct ended ended[MAX_RANKS];
};

static inline void make_grads(int rank, int step, float *x)
{
    const uint64_t key = philox_key(seed, (uint32_t)step, 0, (uint32_t)rank, 0);
    for (size_t i = 0; i < N; i++) {
        const uint32_t bits = philox_u32(key, i);
        x[i] = ((float)(bits & 0xffff) - 32768) / (float)(1u << (bits >> 16) % 24);
    }
}

static inline int run_steps(struct comm *c, struct job *job, struct ended *e)
{
    float *grads[N_LAYERS], *at = e->mean;
    struct reducer_step report;
    for (int l = 0; l < N_LAYERS; at += layers[l++].n)
        grads[l] = at;
    TRY(job_open(job, layers, N_LAYERS));
    for (int step = 0; step < STEPS; step++) {
        make_grads(c->rank, step, e->mean);
        TRY(reducer_run(job->reducer, (uint64_t)step, grads, &report));
    }
    return report.skipped ? -1 : 0;
}

static inline int run_job(struct comm *c, void *ctx)
{
    struct trial *t = ctx;
    struct ended *e = &t->ended[c->rank];
    struct job job = {.comm = NULL};
    const struct comm_count before = comm_counted(c);
    e->rc = job_settle(c, &t->spec, &job);
    if (e->rc == 0)
        e->rc = run_steps(c, &job, e);
    job_close(&job);
    const struct comm_count after = comm_counted(c);
    e->sent_bytes = after.sent_bytes - before.sent_bytes;
    e->rounds = after.rounds - before.rounds;
    return e->rc;
}

static inline void compare(const struct trial *real, const struct trial *virtual, int n_ranks)
{
    const struct job_spec *w = &real->spec;
    for (int r = 0; r < n_ranks; r++) {
        const struct ended *a = &real->ended[r], *b = &virtual->ended[r];
        const char *kind = w->codec.codec ? w->codec.codec : w->codec.format;
        CHECK(a->rc == 0 && b->rc == 0, "%s %s: %d, %d", w->algo, kind, a->rc, b->rc);
        CHECK(memcmp(a->mean, b->mean, sizeof a->mean) == 0, "%s %s: other means on rank %d",
              w->algo, kind, r);
        CHECK(a->sent_bytes == b->sent_bytes && a->rounds == b->rounds,
              "%s %s, rank %d: %d bytes, %d rounds, not %d, %d", w->algo, kind, r,
              (int)b->sent_bytes, (int)b->rounds, (int)a->sent_bytes, (int)a->rounds);
    }
}

static inline void try_both(struct comm *c, struct job_spec spec)
{
    static struct trial real, virtual;
    real = virtual = (struct trial){.spec = spec};
    CHECK(run_job(c, &real) == 0, "%s", spec.algo);
    if (comm_gather(c, &real.ended[c->rank], sizeof *real.ended, real.ended) < 0)
        exit(1);
    if (c->rank > 0)
        return;
    struct comm_virtual *v;
    if (comm_virtual_open(c->n_ranks, NULL, &v) < 0)
        exit(1);
    CHECK(comm_virtual_run(v, run_job, &virtual) == 0, "%s", spec.algo);
    compare(&real, &virtual, c->n_ranks);
    comm_virtual_close(v);
}

static inline void try_codecs(struct comm *c, const char *algo, const struct codec_spec *codecs,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        try_both(c, (struct job_spec){
                        .codec = codecs[i], .seed = 5, .algo = algo, .bucket_bytes = 2000});
}

static inline void check_jobs(struct comm *c)
{
    static const struct codec_spec rounded[] =
        {{.format = "e5m2", .scale = "aps", .sum = "nearest"},
         {.format = "e3m0", .scale = "aps", .sum = "nearest", .round = "stochastic"},
         {.format = "e5m2", .scale = "const:2", .sum = "trunc"}},
                                   exact[] = {{.format = "e4m3", .scale = "aps-tight"},
                                              {.format = "e2m5f", .scale = "aps-tight:32"},
                                              {.format = "e2m1f", .scale = "aps:16"}},
                                   in_order[] = {{.format = "e5m2", .sum = "kahan"},
                                                 {.format = "fp32"},
                                                 {.codec = "qsgd:4"},
                                                 {.codec = "onebit"},
                                                 {.codec = "ternary"},
                                                 {.codec = "nvfp4"}};
    static const char *const spec[] = {
        "direct",          "gather",         "gather-sum",      "ring",
        "group-scatter:1", "group-master:1", "group-scatter:2", "group-master:2"};
    if (c->rank == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < (c->n_ranks % 2 ? 6 : 8); i++) {
        try_codecs(c, spec[i], rounded, sizeof rounded / sizeof *rounded);
        if (i < 3)
            try_codecs(c, spec[i], in_order, sizeof in_order / sizeof *in_order);
        if (i < 3 || i == 4 || i == 6)
            try_codecs(c, spec[i], exact, sizeof exact / sizeof *exact);
    }
    static const struct codec_spec partial[] = {
        {.format = "e5m2", .scale = "aps", .sum = "nearest", .acc_format = "e6m9"},
        {.format = "e4m3", .scale = "aps", .sum = "nearest", .rescale = true}};
    for (int i = 6; i < 8 && c->n_ranks > 2 && c->n_ranks % 2 == 0; i++)
        try_codecs(c, spec[i], partial, sizeof partial / sizeof *partial);
}

#endif
