/* test_codec_onebit_mpi.c : compares 1bitSGD through the reducer with plain loops. Results
 * improve with the residuals kept. */
/* RANKS: 1 3 4 LONG: 2 */
#include "codec_refused.h"
#include "check.h"
#include "codec/codec_kind.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include "vec/list/vec_signs.h"
#include <math.h>
#include <string.h>

enum { N_LAYERS = 6, N_MAX = 192 * 120, MAX_RANKS = 8, SEED = 1414 };
enum { N_STEPS = 8, SKIPPED = 5, WIDE = 6, SAME_STEPS = 100 };
static const struct {
    size_t n, column, stride;
} shapes[N_LAYERS] = {{960, 3, 16}, {48, 6, 8},     {640, 10, 64},
                      {40, 0, 0},   {N_MAX, 3, 64}, {1, 1, 1}};

static const struct {
    const char *word;
    size_t bucket; /* 0: by columns */
    int keeps;
} kinds[] = {{"onebit", 64, 2},
             {"onebit:column", 0, 2},
             {"onebit:32,residual=own", 32, 1},
             {"onebit:residual=none,512", 512, 0}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static struct {
    struct comm *c;
    int n_ranks, rank;
    float *all[MAX_RANKS][N_LAYERS], *left[MAX_RANKS + 1][2][N_LAYERS];
    float *want[N_LAYERS], *got[N_LAYERS];
    uint8_t *codes[MAX_RANKS + 1], *before, *after;
} t;

static void *take(size_t bytes)
{
    void *p = calloc(bytes, 1);
    if (!p)
        abort();
    return p;
}

static void open_memory(void)
{
    for (int l = 0; l < N_LAYERS; l++) {
        const size_t bytes = shapes[l].n * sizeof(float);
        t.want[l] = take(bytes);
        t.got[l] = take(bytes);
        for (int r = 0; r <= t.n_ranks; r++) {
            if (r < t.n_ranks)
                t.all[r][l] = take(bytes);
            t.left[r][0][l] = take(bytes);
            t.left[r][1][l] = take(bytes);
        }
    }
    for (int r = 0; r <= t.n_ranks; r++)
        t.codes[r] = take((size_t)N_MAX * 16);
    t.before = take((size_t)N_MAX * 32);
    t.after = take((size_t)N_MAX * 32);
}

static double normal(uint64_t key, uint64_t i)
{
    const double u = (philox_u32(key, 2 * i) + 0.5) * 0x1p-32, v = philox_u32(key, 2 * i + 1);
    return sqrt(-2 * log(u)) * cos(v * 0x1p-32 * 2 * 3.14159265358979);
}

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++)
            for (size_t i = 0; i < shapes[l].n; i++)
                t.all[r][l][i] =
                    (float)((int32_t)philox_u32(philox_key(SEED, step, l, r, 1), i) / 256) * 1e-7f;
}

static struct signs_rule rule_of(int k, int l)
{
    const size_t column = shapes[l].column ? shapes[l].column : shapes[l].n,
                 stride = shapes[l].stride ? shapes[l].stride : 1;
    return kinds[k].bucket ? (struct signs_rule){kinds[k].bucket, 1}
                           : (struct signs_rule){column, stride};
}

/* r = n_ranks: the residual of sums. */
static struct signs_left left_of(int k, int r, int l, uint32_t step)
{
    if (kinds[k].keeps < 1 + (r == t.n_ranks))
        return (struct signs_left){NULL, NULL};
    return (struct signs_left){t.left[r][step % 2][l], t.left[r][1 - step % 2][l]};
}

/* made: number of the step. */
static void work_out(int k, uint32_t made)
{
    for (int l = 0; l < N_LAYERS; l++) {
        const struct signs_rule r = rule_of(k, l);
        const size_t n = shapes[l].n;
        for (int p = 0; p < t.n_ranks; p++)
            signs_c.encode(&r, t.all[p][l], n, n, left_of(k, p, l, made), t.codes[p]);
        signs_c.sum(&r, (const uint8_t *const *)t.codes, t.n_ranks, 0, n, n,
                    left_of(k, t.n_ranks, l, made), t.codes[t.n_ranks]);
        signs_c.decode(&r, t.codes[t.n_ranks], n, (float)t.n_ranks, t.want[l]);
    }
}

static struct reducer *open_reducer(const char *codec_word, const char *algo_word,
                                    size_t bucket_bytes, bool overlap)
{
    const struct reducer_words words = {{.codec = codec_word}, algo_word, bucket_bytes, overlap, 0};
    struct reducer_layer layers[N_LAYERS];
    for (int l = 0; l < N_LAYERS; l++)
        layers[l] = (struct reducer_layer){.name = "layer",
                                           .n = shapes[l].n,
                                           .column = shapes[l].column,
                                           .stride = shapes[l].stride};
    return open_reducer_of(t.c, &words, layers, N_LAYERS, NULL);
}

static struct reducer_step run(struct reducer *r, uint32_t step)
{
    struct reducer_step report = {.skipped = true};
    for (int l = 0; l < N_LAYERS; l++)
        memcpy(t.got[l], t.all[t.rank][l], shapes[l].n * sizeof(float));
    if (step == SKIPPED && t.rank == t.n_ranks - 1)
        t.got[2][7] = NAN;
    CHECK(reducer_run(r, step, t.got, &report) == 0, "step %u", step);
    return report;
}

static void check_run(int k, const char *algo, size_t bucket_bytes, bool overlap)
{
    struct reducer *r = open_reducer(kinds[k].word, algo, bucket_bytes, overlap);
    const size_t state = reducer_state_bytes(r);
    uint64_t bytes = 0;
    uint32_t made = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        const struct signs_rule rule = rule_of(k, l);
        bytes += signs_bytes(&rule, shapes[l].n);
        for (int p = 0; p <= t.n_ranks; p++)
            memset(t.left[p][0][l], 0, shapes[l].n * sizeof(float));
    }
    CHECK((state > 0) == (kinds[k].keeps > 0) && state <= (size_t)N_MAX * 32, "%zu", state);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        CHECK(reducer_state_get(r, t.before) == 0, "get");
        reducer_force_fp32(r, step == WIDE);
        const struct reducer_step report = run(r, step);
        CHECK(reducer_state_get(r, t.after) == 0, "get");
        CHECK(report.skipped == (step == SKIPPED), "step %u", step);
        if (step == SKIPPED || step == WIDE) {
            CHECK(memcmp(t.before, t.after, state) == 0, "step %u: what is kept", step);
            continue;
        }
        CHECK(report.code_bytes == bytes, "%llu bytes", (unsigned long long)report.code_bytes);
        work_out(k, made++);
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(t.got[l], t.want[l], shapes[l].n * sizeof(float)) == 0,
                  "%s by %s, messages of %zu, overlap %d: step %u, layer %d is not the mean",
                  kinds[k].word, algo, bucket_bytes, overlap, step, l);
    }
    reducer_close(r);
}

/* Average result of the same log-normal gradients in every step. */
static double error_of(const char *word)
{
    struct reducer *r = open_reducer(word, "auto", 1 << 20, false);
    enum { L = 0 };
    double sum[960] = {0}, off = 0, size = 0;
    for (uint32_t p = 0; p < (uint32_t)t.n_ranks; p++)
        for (size_t i = 0; i < shapes[L].n; i++) {
            const uint64_t key = philox_key(SEED, 0, p, 0, 2);
            const double large = exp(normal(key, 2 * i));
            t.all[p][L][i] = (float)(normal(key, 2 * i + 1) < 0 ? -large : large);
        }
    for (uint32_t step = 0; step < SAME_STEPS; step++) {
        run(r, step == SKIPPED ? SAME_STEPS : step);
        for (size_t i = 0; i < shapes[L].n; i++)
            sum[i] += (double)t.got[L][i] / SAME_STEPS;
    }
    for (size_t i = 0; i < shapes[L].n; i++) {
        double mean = 0;
        for (int p = 0; p < t.n_ranks; p++)
            mean += (double)t.all[p][L][i] / t.n_ranks;
        off += (sum[i] - mean) * (sum[i] - mean);
        size += mean * mean;
    }
    reducer_close(r);
    return sqrt(off / size);
}

static void check_errors(void)
{
    const double both = error_of("onebit:64"), own = error_of("onebit:64,residual=own"),
                 none = error_of("onebit:64,residual=none");
    if (t.rank == 0)
        printf("error of the mean of %d steps: both %.3f, own %.3f, none %.3f\n", SAME_STEPS, both,
               own, none);
    CHECK(both <= 0.25 && own >= 0.4 && none >= 0.8, "both %.3f, own %.3f, none %.3f", both, own,
          none);
}

static void check_refusals(void)
{
    static const char *const algos[] = {"ring", "group-master:1", "group-scatter:1", "native"};
    check_refused("onebit", algos, sizeof algos / sizeof algos[0], t.n_ranks,
                  "cannot add codec \"onebit\": need one of self direct");
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    open_memory();
    if (t.rank == 0)
        check_refusals();
    for (int k = 0; k < N_KINDS; k++) {
        check_run(k, "direct", 1 << 20, false);
        check_run(k, t.n_ranks == 1 ? "self" : "direct", 500, true);
        check_run(k, "gather", 20000, false);
    }
    if (t.n_ranks == 4)
        check_errors();
    comm_close(t.c);
    DONE();
}
