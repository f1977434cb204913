/* test_card_path_mpi.c : a transport that fails in mid-step changes no bit. */
/* RANKS: 1 2 5 LONG: 3 */
#include "capture.h"
#include "check.h"
#include "open_reducer.h"
#include "fake_card_path.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum { N_LAYERS = 7, N_MAX = 1200, N_STEPS = 60, SEED = 815, BUCKET_BYTES = 700 };
static const size_t sizes[N_LAYERS] = {N_MAX, 1, 77, 640, 9, 1000, 50};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[N_LAYERS][N_MAX], by_card_path[N_LAYERS][N_MAX], by_mpi[N_LAYERS][N_MAX];
    struct reducer_layer layers[N_LAYERS];
} t;

static uint32_t dice(uint32_t step, uint32_t stage, uint32_t what)
{
    return philox_u32(philox_key(SEED, step, stage, what, 1), 0) >> 8;
}

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MAX; i++) {
            const uint32_t word = philox_u32(philox_key(SEED, step, l, (uint32_t)t.rank, 2), i);
            t.grads[l][i] = ldexpf((float)word / 4294967296.0f - 0.5f, (int)(step * l % 7));
        }
    if (dice(step, 98, 0) % 8 == 0 && dice(step, 98, 1) % (uint32_t)t.n_ranks == (uint32_t)t.rank)
        t.grads[2][5] = NAN;
}

static struct reducer *open_reducer(const struct codec_spec *spec, struct codec *codec)
{
    const bool ternary = spec->codec && !strcmp(spec->codec, "ternary");
    const struct reducer_words words = {
        .codec = *spec, .algo = "auto", .bucket_bytes = ternary ? BUCKET_BYTES / 4 : BUCKET_BYTES};
    return open_reducer_of(t.c, &words, t.layers, N_LAYERS, codec);
}

static struct reducer_step run(struct reducer *r, uint64_t step, float grads[N_LAYERS][N_MAX])
{
    float *at[N_LAYERS];
    struct reducer_step report = {0};
    for (int l = 0; l < N_LAYERS; l++) {
        memcpy(grads[l], t.grads[l], sizeof t.grads[l]);
        at[l] = grads[l];
    }
    CHECK(reducer_run(r, step, at, &report) == 0, "step %d", (int)step);
    return report;
}

static void check_steps(const struct codec_spec *spec)
{
    struct codec codec, plain_codec;
    char text[CODEC_TEXT_BYTES];
    struct reducer *card_path = open_reducer(spec, &codec),
                   *plain = open_reducer(spec, &plain_codec);
    static struct fake_card_path fake;
    fake = (struct fake_card_path){.c = t.c, .seed = SEED};
    int by_card_path = 0, redone = 0;
    struct vec_cast cast;
    CHECK(!codec_cast(&codec, &cast) ||
              (reducer_count_lost(card_path) == 0 && reducer_count_lost(plain) == 0),
          "memory");
    MPI_Comm_dup(MPI_COMM_WORLD, &fake.mpi);
    CHECK(reducer_set_card_path(card_path, &fake_ops, &fake) == 0, "few buckets");
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        fake.step = step;
        reducer_force_fp32(card_path, step % 13 == 5);
        reducer_force_fp32(plain, step % 13 == 5);
        const struct reducer_step a = run(card_path, step, t.by_card_path),
                                  b = run(plain, step, t.by_mpi);
        CHECK(a.skipped == b.skipped && !b.by_card_path, "step %u", step);
        CHECK(memcmp(&a.lost, &b.lost, sizeof a.lost) == 0,
              "%s: step %u loses other numbers of elements", codec_describe(&codec, text), step);
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(t.by_card_path[l], t.by_mpi[l], sizes[l] * sizeof(float)) == 0,
                  "%s: step %u layer %d differs", codec_describe(&codec, text), step, l);
        by_card_path += a.by_card_path;
        redone += a.n_redone;
    }
    int forged;
    MPI_Allreduce(&fake.forged, &forged, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(by_card_path > 5 && redone > 5 && fake.abandoned > 3 && fake.sums > 20 && fake.max > 10 &&
              (t.n_ranks == 1 || forged > 1),
          "%d steps by the way, %d buckets redone, %d times given up, %d wrong sums: this tests "
          "too little",
          by_card_path, redone, fake.abandoned, forged);
    MPI_Comm_free(&fake.mpi);
    reducer_close(card_path);
    reducer_close(plain);
}

/* A vote on more buckets has no room for their bits. */
static void check_most_buckets(void)
{
    enum { MAX_BUCKETS = 32671 };
    static struct reducer_layer layers[MAX_BUCKETS + 1];
    const struct reducer_words words = {
        .codec = {.format = "e4m3", .scale = "aps"}, .algo = "auto", .bucket_bytes = 1};
    for (int l = 0; l <= MAX_BUCKETS; l++)
        layers[l] = (struct reducer_layer){.name = "layer", .n = 1};
    for (int more = 0; more <= 1; more++) {
        struct codec codec;
        struct capture cap;
        struct reducer *r = open_reducer_of(t.c, &words, layers, MAX_BUCKETS + more, &codec);
        capture_begin(&cap);
        const int rc = reducer_set_card_path(r, &fake_ops, NULL);
        capture_end(&cap);
        const bool refused = rc == -EINVAL && strstr(cap.text, "send 32672 buckets of gradients "
                                                               "through cards: need at most 32671");
        CHECK(more ? refused : rc == 0, "%d more: %d \"%s\"", more, rc, cap.text);
        reducer_close(r);
    }
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (int l = 0; l < N_LAYERS; l++)
        t.layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l], .fp32 = l == 6};
    check_most_buckets();
    check_steps(&(struct codec_spec){.format = "e4m3", .scale = "aps"});
    check_steps(&(struct codec_spec){.format = "e5m2", .round = "stochastic"});
    check_steps(&(struct codec_spec){.format = "e3m0", .scale = "aps-tight"});
    check_steps(&(struct codec_spec){.format = "e4m3", .scale = "aps:32", .out_format = "e4m3"});
    check_steps(&(struct codec_spec){.codec = "ternary"});
    check_steps(&(struct codec_spec){.format = "e4m3", .scale = "quantile:every=4"});
    check_steps(&(struct codec_spec){.codec = "relgrad:of=gradient,every=1", .sum = "exact"});
    comm_close(t.c);
    DONE();
}
