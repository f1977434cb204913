/* test_alternating_mpi.c : layers alternately in the codec and in fp32 need few messages per
 * step. */
/* RANKS: 2 3 4 */
#include "check.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include <string.h>

enum { N_LAYERS = 24, N_MAX = 288, N_STEPS = 4, SEED = 1507 };

static struct {
    struct comm *c;
    int n_ranks, rank;
    struct reducer_layer layers[N_LAYERS];
    float mine[N_LAYERS][N_MAX], got[N_LAYERS][N_MAX], want[N_STEPS][N_LAYERS][N_MAX];
    float *at[N_LAYERS];
    uint8_t state[N_LAYERS * N_MAX * 16], first_state[N_LAYERS * N_MAX * 16];
} t;

static void make_layers(void)
{
    for (int l = 0; l < N_LAYERS; l++) {
        const bool norm = l % 2;
        t.layers[l] = (struct reducer_layer){
            .name = norm ? "norm" : "weights",
            .n = norm    ? 5 + (size_t)l
                 : l % 3 ? 144
                         : N_MAX,
            .fp32 = norm,
            .column = norm    ? 1
                      : l % 3 ? 9
                              : 36,
            .stride = 1,
        };
        t.at[l] = t.got[l];
    }
}

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MAX; i++)
            t.mine[l][i] = (float)philox_u32(philox_key(SEED, step, l, (uint32_t)t.rank, 2), i) /
                               4294967296.0f -
                           0.5f;
}

static struct reducer *open_reducer(const struct codec_spec *codec, const char *algo_word,
                                    size_t bucket_bytes, bool overlap)
{
    const struct reducer_words spec = {*codec, algo_word, bucket_bytes, overlap, SEED};
    return open_reducer_of(t.c, &spec, t.layers, N_LAYERS, NULL);
}

static int run(struct reducer *r, uint32_t step)
{
    struct reducer_step report = {.skipped = true};
    const uint64_t before = comm_counted(t.c).rounds;
    make_grads(step);
    memcpy(t.got, t.mine, sizeof t.got);
    reducer_begin(r, step, t.at);
    for (int l = N_LAYERS - 2; l >= 0; l -= 2)
        reducer_ready(r, l, 2);
    CHECK(reducer_finish(r, &report) == 0 && !report.skipped, "step %u", step);
    return (int)(comm_counted(t.c).rounds - before);
}

static void check_codec(const struct codec_spec *spec, const char *algo, int n_classes,
                        int rounds_each)
{
    static const size_t bucket_bytes[] = {1, 300, 1 << 20};
    const char *name = spec->codec ? spec->codec : spec->format;
    for (int k = 0; k < 6; k++) {
        struct reducer *r = open_reducer(spec, algo, bucket_bytes[k % 3], k >= 3);
        const size_t state = reducer_state_bytes(r);
        CHECK(state <= sizeof t.state, "%zu bytes", state);
        for (uint32_t step = 0; step < N_STEPS; step++) {
            const int rounds = run(r, step);
            const int n_messages = k % 3 == 0 ? N_LAYERS : n_classes;
            CHECK(k % 3 == 1 || rounds == rounds_each * n_messages,
                  "%s by %s, messages of %zu, overlap %d: %d rounds, not %d of %d messages", name,
                  algo, bucket_bytes[k % 3], k >= 3, rounds, rounds_each, n_messages);
            if (k == 0)
                memcpy(t.want[step], t.got, sizeof t.got);
            for (int l = 0; l < N_LAYERS; l++)
                CHECK(memcmp(t.got[l], t.want[step][l], t.layers[l].n * sizeof(float)) == 0,
                      "%s by %s, messages of %zu, overlap %d: step %u, layer %d has other bits",
                      name, algo, bucket_bytes[k % 3], k >= 3, step, l);
        }
        CHECK(reducer_state_get(r, t.state) == 0, "get");
        if (k == 0)
            memcpy(t.first_state, t.state, state);
        /* if every rank adds all, the state does not depend on ranges */
        CHECK(strcmp(algo, "gather") != 0 || memcmp(t.state, t.first_state, state) == 0,
              "%s, messages of %zu: what is kept lies elsewhere", name, bucket_bytes[k % 3]);
        reducer_close(r);
    }
}

int main(void)
{
    if (comm_open(60, &t.c) < 0)
        return 1;
    t.n_ranks = comm_n_ranks(t.c);
    t.rank = comm_rank(t.c);
    make_layers();
    static const struct {
        struct codec_spec spec;
        int n_classes;
    } codecs[] = {
        {{.format = "e5m2", .scale = "aps", .round = "stochastic"}, 2},
        {{.format = "e4m3", .scale = "none", .sum = "nearest"}, 2},
        {{.format = "fp32", .scale = "none"}, 2},
        {{.codec = "qsgd:4"}, 2},
        {{.codec = "onebit:64"}, 2},
        {{.codec = "onebit:column"}, 3},
        {{.codec = "ternary"}, 2},
    };
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        check_codec(&codecs[i].spec, "gather", codecs[i].n_classes, 1);
        check_codec(&codecs[i].spec, "direct", codecs[i].n_classes, 2);
    }
    comm_close(t.c);
    DONE();
}
