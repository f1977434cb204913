/* test_codec_relgrad_mpi.c : compares relgrad through the reducer with relgrad_slow.h. */
/* RANKS: 1 2 6 LONG: 4 */
#include "check.h"
#include "codec_refused.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include "relgrad_slow.h"
#include <string.h>

enum { N_LAYERS = 5, N_MAX = 9001, SEED = 3, ZEROS = 1, N_STEPS = 8, EVERY = 3 };
static const size_t sizes[N_LAYERS] = {600, 9, 1, 40, N_MAX};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float *weights[N_LAYERS], *grads[SLOW_RANKS][N_LAYERS], *got[N_LAYERS];
    float q[N_LAYERS];
    int left[N_LAYERS];
} t;

static float draw(uint32_t step, uint32_t layer, uint32_t who, size_t i)
{
    const double u =
        (double)(int32_t)philox_u32(philox_key(SEED, step, layer, who, 9), i) * 0x1p-31;
    return (float)(u * u * u * (1 + layer));
}

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++)
            for (size_t i = 0; i < sizes[l]; i++)
                t.grads[r][l][i] =
                    l == ZEROS && step == 0 ? 0 : draw(step, l, r, i) * (float)((r + step) % 3 + 1);
}

static float quantile(uint32_t step, uint32_t l, uint32_t r, bool of_weights)
{
    static float d[1024];
    const uint64_t key = philox_key(philox_key(SEED, step, l, r, 0x63617374), 0x73616d70, 0, 0, 0);
    const size_t n = sizes[l] < 1024 ? sizes[l] : 1024;
    for (size_t k = 0; k < n; k++) {
        const size_t i =
            sizes[l] <= 1024 ? k : (size_t)((sizes[l] * (uint64_t)philox_u32(key, k)) >> 32);
        d[k] = fabsf(t.grads[r][l][i] / (of_weights ? fabsf(t.weights[l][i]) + 1e-5f : 1));
    }
    return slow_quantile(d, n, 95);
}

static void work_out_quantiles(uint32_t step, bool of_weights)
{
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        if (!t.left[l]) {
            t.q[l] = 0;
            for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++)
                t.q[l] = fmaxf(t.q[l], quantile(step, l, r, of_weights));
            t.left[l] = t.q[l] > 0 ? EVERY : 1;
        }
        t.left[l]--;
    }
}

static void check_means(const struct slow_step *like, uint32_t step)
{
    struct slow_step slow = *like;
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        slow.q = t.q[l];
        for (size_t i = 0; i < sizes[l]; i++) {
            float grads[SLOW_RANKS];
            for (int r = 0; r < t.n_ranks; r++)
                grads[r] = t.grads[r][l][i];
            const float want = slow_element(&slow, grads, t.weights[l][i]).mean;
            CHECK(t.got[l][i] == want, "nodes of %d, step %u, layer %u: element %zu is %a, want %a",
                  slow.node, step, l, i, (double)t.got[l][i], (double)want);
        }
    }
}

static struct reducer *open_reducer(const char *word, const char *algo_word, const char *sum,
                                    size_t bucket_bytes, bool overlap, int *node)
{
    const struct reducer_words words = {
        {.codec = word, .sum = sum}, algo_word, bucket_bytes, overlap, SEED};
    const char *group = strchr(algo_word, ':');
    struct reducer_layer layers[N_LAYERS];
    for (int l = 0; l < N_LAYERS; l++)
        layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l]};
    struct reducer *r = open_reducer_of(t.c, &words, layers, N_LAYERS, NULL);
    reducer_set_weights(r, (const float *const *)t.weights);
    *node = group ? atoi(group + 1) : t.n_ranks;
    return r;
}

static bool run(struct reducer *r, uint32_t step)
{
    struct reducer_step report = {.skipped = true};
    for (int l = 0; l < N_LAYERS; l++)
        memcpy(t.got[l], t.grads[t.rank][l], sizes[l] * sizeof(float));
    CHECK(reducer_run(r, step, t.got, &report) == 0, "step %u", step);
    return !report.skipped;
}

/* Step 2 has a nan and step 5 is in fp32. Between 3 and 4 the state moves to a new reducer. */
static void check_run(const char *word, const char *algo, const char *sum, size_t bucket_bytes,
                      bool overlap)
{
    const bool of_weights = !strstr(word, "gradient");
    int node;
    struct reducer *r = open_reducer(word, algo, sum, bucket_bytes, overlap, &node);
    const struct slow_step slow = {.n_ranks = t.n_ranks,
                                   .node = node,
                                   .rule = !strcmp(sum, "exact")   ? SLOW_EXACT
                                           : !strcmp(sum, "trunc") ? SLOW_TRUNC
                                                                   : SLOW_NEAREST,
                                   .eps = of_weights ? 1e-5f : 0};
    memset(t.left, 0, sizeof t.left);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        if (step == 2)
            t.grads[t.n_ranks - 1][4][N_MAX - 1] = NAN;
        reducer_force_fp32(r, step == 5);
        const bool taken = run(r, step);
        CHECK(taken == (step != 2), "step %u", step);
        if (step == 2 || step == 5)
            continue;
        work_out_quantiles(step, of_weights);
        check_means(&slow, step);
        if (step == 3) {
            uint8_t *state = calloc(1, reducer_state_bytes(r));
            CHECK(state && reducer_state_get(r, state) == 0, "state");
            reducer_close(r);
            r = open_reducer(word, algo, sum, bucket_bytes, overlap, &node);
            CHECK(reducer_state_put(r, state) == 0, "state");
            free(state);
        }
    }
    reducer_close(r);
}

/* Impossible states count as none if all ranks have them. If one rank has one, the steps still
 * end. */
static void check_any_state(bool overlap)
{
    int node;
    struct reducer *r = open_reducer("relgrad:every=3", "direct", "trunc", 2000, overlap, &node);
    const size_t bytes = reducer_state_bytes(r);
    uint8_t *state = calloc(1, bytes);
    CHECK(state, "memory");
    make_grads(1);
    memset(state, 0xff, bytes);
    memset(t.left, 0, sizeof t.left);
    CHECK(reducer_state_put(r, state) == 0 && run(r, 1), "a step");
    work_out_quantiles(1, true);
    check_means(&(struct slow_step){.n_ranks = t.n_ranks, .node = node, .eps = 1e-5f}, 1);
    for (uint32_t kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < bytes; i++)
            state[i] = kind ? (uint8_t)philox_u32(kind, i) : 0;
        if (t.rank == 0)
            CHECK(reducer_state_put(r, state) == 0, "put");
        for (uint32_t step = 2; step < 4; step++)
            CHECK(run(r, step), "kind %u, step %u", kind, step);
    }
    free(state);
    reducer_close(r);
}

static void check_refusals(void)
{
    static const char *const algos[] = {"ring", "group-master:1"};
    check_refused("relgrad", algos, sizeof algos / sizeof algos[0], t.n_ranks,
                  "need one of self direct group-scatter:K gather gather-sum native");
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        t.got[l] = floats(sizes[l]);
        t.weights[l] = floats(sizes[l]);
        for (size_t i = 0; i < sizes[l]; i++)
            t.weights[l][i] = i % 50 == 7 ? 0 : draw(99, l, 99, i);
        for (int r = 0; r < t.n_ranks; r++)
            t.grads[r][l] = floats(sizes[l]);
    }
    if (t.rank == 0)
        check_refusals();
    check_run("relgrad:every=3", t.n_ranks == 1 ? "self" : "direct", "trunc", 1 << 20, false);
    check_run("relgrad:every=3", "direct", "trunc", 2000, true);
    check_run("relgrad:every=3,of=gradient", "gather", "nearest", 5000, true);
    check_run("relgrad:every=3", "direct", "exact", 5000, false);
    if (t.n_ranks % 2 == 0)
        check_run("relgrad:every=3", "group-scatter:2", "trunc", 2000, true);
    if (t.n_ranks % 2 == 0)
        check_run("relgrad:every=3", "group-scatter:2", "exact", 5000, false);
    check_any_state(false);
    check_any_state(true);
    if (t.n_ranks <= 2) /* independent of the order of MPI's additions */
        check_run("relgrad:every=3", "native", "trunc", 1 << 20, false);
    comm_close(t.c);
    DONE();
}
