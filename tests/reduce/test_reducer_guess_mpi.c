/* test_reducer_guess_mpi.c : guessing shifts from the previous step changes no bit. */
/* RANKS: 1 2 4 LONG: 3 */
#include "check.h"
#include "open_reducer.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <string.h>

enum { N_LAYERS = 6, N_MAX = 1200, N_STEPS = 12, SEED = 4711 };
static const size_t sizes[N_LAYERS] = {N_MAX, 1, 77, 640, 9, 1000};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[N_LAYERS][N_MAX], old[N_LAYERS][N_MAX], fresh[N_LAYERS][N_MAX];
    struct reducer_layer layers[N_LAYERS];
} t;

/* Layer l changes its magnitude every l + 1 steps, on one rank. */
static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++) {
        const uint32_t phase = step / (l + 1);
        const double size =
            phase % 5 == 4 ? 0 : ldexp(1, t.rank == 0 ? -(int)(phase * 7 % 11) : -12);
        for (size_t i = 0; i < N_MAX; i++) {
            const uint32_t word = philox_u32(philox_key(SEED, step, l, (uint32_t)t.rank, 2), i);
            t.grads[l][i] = (float)(size * ((double)word / 4294967296.0 - 0.5));
        }
        /* the layer's largest: its exponent is that of `size` */
        t.grads[l][0] = (float)size;
    }
}

static struct reducer *open_reducer(const struct codec_spec *spec, const char *algo_word,
                                    struct codec *codec)
{
    const struct reducer_words words = {.codec = *spec, .algo = algo_word, .bucket_bytes = 1000};
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

/* fresh_algo: for the reducer that cannot guess. Returns the number of guessed layers. */
static int check_steps(const struct codec_spec *spec, const char *algo, const char *fresh_algo)
{
    struct codec codec;
    struct reducer *old = open_reducer(spec, algo, &codec);
    const bool scaled = codec_guess(&codec) == CODEC_NO_GUESS;
    int guessed = 0;
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        reducer_force_fp32(old, step == 5); /* its codes overwrite the others' */
        if (step == 7) {
            const float was = t.grads[3][1];
            t.grads[3][1] = INFINITY;
            CHECK(run(old, step, t.old).skipped, "%s %s", spec->format, spec->scale);
            t.grads[3][1] = was;
        }
        struct reducer *fresh = open_reducer(spec, fresh_algo, &codec);
        reducer_force_fp32(fresh, step == 5);
        const struct reducer_step a = run(old, step, t.old), b = run(fresh, step, t.fresh);
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(t.old[l], t.fresh[l], sizes[l] * sizeof(float)) == 0,
                  "%s %s %s: step %d layer %d differs", spec->format, spec->scale, algo, (int)step,
                  l);
        CHECK(b.n_guessed == (scaled || step == 5 ? 0 : N_LAYERS), "a new reducer guessed %d",
              b.n_guessed);
        CHECK(scaled || step == 5 || a.n_guessed == N_LAYERS, "a known shift was not used");
        guessed += a.n_guessed;
        reducer_close(fresh);
    }
    reducer_close(old);
    return guessed;
}

/* ---- steps in one message (reducer_short.c) ---- */

static int doublings(void)
{
    int n = 0;
    while (1 << n < t.n_ranks)
        n++;
    return n;
}

static struct comm_count step_counted(struct reducer *r, struct reducer *direct, uint64_t step)
{
    (void)run(direct, step, t.fresh);
    const struct comm_count before = comm_counted(t.c);
    const struct reducer_step report = run(r, step, t.old);
    const struct comm_count after = comm_counted(t.c);
    CHECK(report.sent_bytes == after.sent_bytes - before.sent_bytes, "step %d", (int)step);
    for (int l = 0; l < N_LAYERS; l++)
        CHECK(memcmp(t.old[l], t.fresh[l], sizes[l] * sizeof(float)) == 0,
              "step %d layer %d differs from direct's", (int)step, l);
    return (struct comm_count){.sent_bytes = report.sent_bytes,
                               .rounds = after.rounds - before.rounds};
}

static void halve(double by)
{
    for (int l = 0; l < N_LAYERS; l++)
        for (size_t i = 0; i < N_MAX; i++)
            t.grads[l][i] *= (float)by;
}

static uint64_t lines(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static uint64_t padded(int l)
{
    return (sizes[l] + 7) / 8 * 8;
}

static void check_short(const char *format, const char *round, bool has_words)
{
    const struct codec_spec spec = {.format = format, .scale = "aps", .round = round};
    struct codec codec;
    struct reducer *r = open_reducer(&spec, "gather-sum", &codec),
                   *direct = open_reducer(&spec, "direct", &codec);
    uint64_t code_bytes = 0, word_bytes = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        code_bytes += padded(l);
        word_bytes += 2 * sizes[l];
    }
    const uint64_t message = 64 + lines(code_bytes), of_words = 64 + lines(word_bytes);
    const uint64_t rounds = (uint64_t)doublings(), others = (uint64_t)t.n_ranks - 1;
    make_grads(0);
    struct comm_count is = step_counted(r, direct, 0);
    CHECK(has_words ? is.sent_bytes == others * of_words && is.rounds == rounds
                    : is.sent_bytes < others * message,
          "the first step has no guess: %d bytes", (int)is.sent_bytes);
    for (uint64_t step = 1; step < 12; step++) {
        if (step == 4)
            for (size_t i = 0; i < N_MAX; i++)
                t.grads[3][i] *= 0.5F;
        if (step == 9)
            halve(0.5); /* a second wrong guess for layer 3, which then travels as words */
        is = step_counted(r, direct, step);
        const uint64_t again = step == 4 ? lines(padded(3)) : step == 9 ? lines(code_bytes) : 0;
        const uint64_t more =
            step > 9 ? lines(code_bytes - padded(3) + 2 * sizes[3]) - lines(code_bytes) : 0;
        if (has_words || step <= 9)
            CHECK(is.rounds == (again ? 2 : 1) * rounds &&
                      is.sent_bytes == others * (message + again + more),
                  "step %d: %d rounds, %d bytes", (int)step, (int)is.rounds, (int)is.sent_bytes);
    }
    t.grads[2][5] = NAN;
    CHECK(run(r, 12, t.old).skipped && run(direct, 12, t.fresh).skipped, "nan");
    t.grads[2][5] = 0;
    (void)step_counted(r, direct, 13);
    /* With wrong guesses every time, no rank sends codes twice. */
    for (uint64_t step = 14; step < 30; step++) {
        halve(step % 2 ? 0.25 : 4);
        is = step_counted(r, direct, step);
        if (step > 17)
            CHECK(has_words ? is.rounds == rounds && is.sent_bytes == others * of_words
                            : is.sent_bytes <= others * (message + 64),
                  "step %d: %d bytes where guesses are wrong", (int)step, (int)is.sent_bytes);
    }
    for (uint64_t step = 30; step < 40; step++)
        (void)step_counted(r, direct, step);
    is = step_counted(r, direct, 40);
    CHECK(is.rounds == rounds && is.sent_bytes == others * message, "it never came back");
    reducer_close(direct);
    reducer_close(r);
}

/* Words of subnormals have fewer bits: their codes go in a second message. */
static void check_tiny(void)
{
    const struct codec_spec spec = {.format = "e5m2", .scale = "aps"};
    struct codec codec;
    for (int down = 60; down < 150; down++) {
        struct reducer *r = open_reducer(&spec, "gather-sum", &codec),
                       *direct = open_reducer(&spec, "direct", &codec);
        make_grads(1);
        halve(ldexp(1, -down));
        (void)step_counted(r, direct, (uint64_t)down);
        reducer_close(direct);
        reducer_close(r);
    }
}

int main(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (int l = 0; l < N_LAYERS; l++)
        t.layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l]};
    static const char *const scales[] = {"aps", "aps-tight", "none", "const:8"};
    static const char *const formats[] = {"e5m2", "e4m3", "e3m0", "e2m3"};
    static const char *const rounds[] = {"nearest", "stochastic", "zero", "stochastic"};
    for (int i = 0; i < 16; i++) {
        const struct codec_spec spec = {
            .format = formats[i / 4], .scale = scales[i % 4], .round = rounds[i / 4]};
        const int guessed = check_steps(&spec, "auto", "auto");
        CHECK(check_steps(&spec, "gather-sum", "auto") == guessed,
              "others are guessed in one message");
        /* most layers keep their shift for some steps, none keeps it for all */
        const int most = N_STEPS * N_LAYERS;
        CHECK(i % 4 >= 2 || (guessed > most / 4 && guessed < most * 9 / 10),
              "%s %s: %d guesses of %d were right", spec.format, spec.scale, guessed, most);
    }
    t.layers[5].fp32 = t.layers[2].fp32 = true;
    const char *ring = t.n_ranks > 1 ? "ring" : "self";
    check_steps(&(struct codec_spec){.format = "e5m2", .sum = "trunc"}, ring, ring);
    t.layers[5].fp32 = t.layers[2].fp32 = false;
    check_steps(&(struct codec_spec){.format = "e5m2", .scale = "aps", .sum = "kahan"},
                "gather-sum", "direct");
    if (t.n_ranks > 1)
        check_short("e4m3", "nearest", true), check_short("e3m4", "zero", true),
            check_short("e4m3", "stochastic", false), check_tiny();
    comm_close(t.c);
    DONE();
}
