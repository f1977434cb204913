/* test_codec_qsgd_mpi.c : compares QSGD through the reducer with plain loops. */
/* RANKS: 1 3 8 LONG: 2 5 */
#include "codec_refused.h"
#include "check.h"
#include "codec/codec_kind.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include "vec/list/vec_levels.h"
#include <math.h>
#include <string.h>

enum { N_LAYERS = 5, N_MAX = 200000, MAX_RANKS = 8, SEED = 77, STEP = 3 };
static const size_t sizes[N_LAYERS] = {40, 1, N_MAX, 700, 512};

static const struct {
    const char *word;
    struct levels_rule rule;
} kinds[] = {
    {"qsgd:4", {.scheme = {4, 0}, .bucket = 512}},
    {"qsgd:1", {.scheme = {1, 1}, .bucket = 128}},
    {"qsgd:2,norm=2,bucket=32", {.scheme = {2, 0}, .bucket = 32, .norm2 = true}},
    {"qsgd:8,levels=even,norm=max", {.scheme = {8, 1}, .bucket = 512}},
    {"qsgd:16,levels=sign", {.scheme = {16, 0}, .bucket = 8192}},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static struct {
    struct comm *c;
    int n_ranks, rank;
    float *all[MAX_RANKS][N_LAYERS], *want[N_LAYERS], *got[N_LAYERS];
} t;

static void make_grads(void)
{
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        t.want[l] = floats(sizes[l]);
        t.got[l] = floats(sizes[l]);
        for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++) {
            const uint64_t key = philox_key(SEED, l, r, 0, 9);
            t.all[r][l] = floats(sizes[l]);
            for (size_t i = 0; i < sizes[l]; i++) {
                const float u = (float)(int32_t)philox_u32(key, i) * 0x1p-31f;
                t.all[r][l][i] = l == 3 ? 0 : u * u * u;
            }
        }
    }
}

static void work_out(const struct levels_rule *r)
{
    const size_t most = levels_bytes(r, N_MAX);
    uint8_t *codes[MAX_RANKS], *sum = malloc(most);
    for (int k = 0; k < t.n_ranks; k++)
        codes[k] = malloc(most);
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        const size_t n = sizes[l];
        for (uint32_t k = 0; k < (uint32_t)t.n_ranks; k++)
            levels_c.encode(r, t.all[k][l], n, 0, philox_key(SEED, STEP, l, k, 0x63617374),
                            codes[k]);
        levels_c.sum(r, (const uint8_t *const *)codes, t.n_ranks, 0, n, 0,
                     philox_key(SEED, STEP, l, 0, 0x73756d73), sum);
        levels_c.decode(r, sum, n, (float)t.n_ranks, t.want[l]);
    }
    for (int k = 0; k < t.n_ranks; k++)
        free(codes[k]);
    free(sum);
}

static struct reducer *open_reducer(const char *codec_word, const char *algo_word,
                                    size_t bucket_bytes, bool overlap)
{
    const struct reducer_words words = {
        {.codec = codec_word}, algo_word, bucket_bytes, overlap, SEED};
    struct reducer_layer layers[N_LAYERS];
    for (int l = 0; l < N_LAYERS; l++)
        layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l]};
    return open_reducer_of(t.c, &words, layers, N_LAYERS, NULL);
}

static void check_run(int k, const char *algo, size_t bucket_bytes, bool overlap)
{
    const struct levels_rule *rule = &kinds[k].rule;
    struct reducer *r = open_reducer(kinds[k].word, algo, bucket_bytes, overlap);
    struct reducer_step report;
    uint64_t bytes = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        memcpy(t.got[l], t.all[t.rank][l], sizes[l] * sizeof(float));
        bytes += levels_bytes(rule, sizes[l]);
    }
    CHECK(reducer_run(r, STEP, t.got, &report) == 0 && !report.skipped, "%s", kinds[k].word);
    for (int l = 0; l < N_LAYERS; l++)
        CHECK(memcmp(t.got[l], t.want[l], sizes[l] * sizeof(float)) == 0,
              "%s by %s, messages of %zu, overlap %d: layer %d is not the mean", kinds[k].word,
              algo, bucket_bytes, overlap, l);
    CHECK(report.code_bytes == bytes, "%s: %llu bytes of codes, want %llu", kinds[k].word,
          (unsigned long long)report.code_bytes, (unsigned long long)bytes);
    double sent = (double)report.sent_bytes;
    const double exponents = t.n_ranks > 1 ? t.n_ranks * N_LAYERS : 0;
    CHECK(comm_sum_f64(t.c, &sent, 1) == 0, "sum");
    if (!strcmp(algo, "direct"))
        CHECK(sent - exponents == 2 * (t.n_ranks - 1.0) * (double)bytes,
              "%s: %.0f bytes sent by all ranks, codes have %llu", kinds[k].word, sent,
              (unsigned long long)bytes);
    reducer_close(r);
}

/* inf on one rank skips the step on all; codes of inf and nan must be harmless. */
static void check_skip(int k)
{
    struct reducer *r = open_reducer(kinds[k].word, "direct", 4096, false);
    struct reducer_step report;
    for (int l = 0; l < N_LAYERS; l++)
        memcpy(t.got[l], t.all[t.rank][l], sizes[l] * sizeof(float));
    if (t.rank == t.n_ranks - 1)
        t.got[2][100] = NAN, t.got[0][3] = -INFINITY;
    CHECK(reducer_run(r, STEP, t.got, &report) == 0 && report.skipped, "%s", kinds[k].word);
    reducer_close(r);
}

static void check_formula(void)
{
    static const double want[] = {0.5078125, 0.15625, 0.375, 1.0078125, 2.00048828125};
    for (int k = 0; k < N_KINDS; k++)
        CHECK((double)levels_bytes(&kinds[k].rule, 1 << 20) / (1 << 20) == want[k], "%s",
              kinds[k].word);
}

static void check_refusals(void)
{
    static const char *const algos[] = {"ring", "group-master:1", "group-scatter:1", "native"};
    check_refused("qsgd:4", algos, sizeof algos / sizeof algos[0], t.n_ranks,
                  "cannot add codec \"qsgd\": need one of self direct");
}

int main(void)
{
    static const size_t messages[] = {300, 20000, 1 << 20};
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    make_grads();
    check_formula();
    if (t.rank == 0)
        check_refusals();
    for (int k = 0; k < N_KINDS; k++) {
        work_out(&kinds[k].rule);
        for (int m = 0; m < 3; m++)
            check_run(k, t.n_ranks == 1 && m == 0 ? "self" : "direct", messages[m], m == 1);
        check_run(k, "gather", messages[2], false);
        check_skip(k);
    }
    comm_close(t.c);
    DONE();
}
