/* test_way_mpi.c : a way that fails in the middle of steps, on some ranks or on all, leaves the bits of one that never does. */
/* RANKS: 1 2 3 5 */
#include "check.h"
#include "comm/comm_mpi.h"
#include "comm/reducer.h"
#include "comm/way.h"
#include "hls/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAYERS = 7, N_MOST = 1200, N_STEPS = 60, SEED = 815, BUCKET_BYTES = 700 };
static const size_t sizes[N_LAYERS] = {N_MOST, 1, 77, 640, 9, 1000, 50};

/* What befalls a stage of a step: exponents are stage 0, the k-th narrow bucket is stage 1 + k. */
enum mishap { NONE, LOST, DEAD }; /* LOST: some ranks do not get the result; DEAD: nobody does */

/* A card that is MPI in truth, on a communicator of its own. */
struct fake {
    MPI_Comm mpi;
    uint32_t step, stage;
    bool over;  /* some rank has given up in this step */
    int closed; /* steps for which it stays closed */
    int gave_up, sums, max;
};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[N_LAYERS][N_MOST], by_way[N_LAYERS][N_MOST], by_mpi[N_LAYERS][N_MOST];
    struct reducer_layer layers[N_LAYERS];
    uint8_t all[1 << 16];
} t;

static uint32_t dice(uint32_t step, uint32_t stage, uint32_t what)
{
    return philox_u32(philox_key(SEED, step, stage, what, 1), 0) >> 8;
}

static enum mishap mishap(uint32_t step, uint32_t stage)
{
    return dice(step, stage, 0) % 9 == 0 ? LOST : dice(step, stage, 1) % 17 == 0 ? DEAD : NONE;
}

static int give_up(struct fake *f)
{
    CHECK(comm_give_up(t.c) == 0, "give up");
    f->gave_up++;
    f->over = true;
    return WAY_GAVE_UP;
}

/* Can this stage begin? After a mishap of an earlier one, ranks that noticed nothing wait until they are told. */
static bool begins(struct fake *f)
{
    const enum mishap now = mishap(f->step, f->stage);
    if (!f->over && !(now == DEAD && t.rank == 0))
        return now != DEAD;
    return false;
}

static int wait_for_word(struct fake *f)
{
    while (t.n_ranks > 1 && (t.rank > 0 || f->over) && !comm_given_up(t.c))
        ;
    return give_up(f);
}

/* The stage's sum is there; does this rank get it? */
static bool gets(struct fake *f)
{
    if (mishap(f->step, f->stage) != LOST)
        return true;
    f->over = true;
    return dice(f->step, f->stage, 2 + (uint32_t)t.rank) % 2 == 0;
}

/* Rank 0 alone does not get it if chance would give it to all: somebody must miss it. */
static bool gets_or_0(struct fake *f)
{
    bool all = true;
    for (uint32_t r = 0; r < (uint32_t)t.n_ranks; r++)
        all = all && dice(f->step, f->stage, 2 + r) % 2 == 0;
    const bool lost = mishap(f->step, f->stage) == LOST;
    return gets(f) && !(lost && all && t.rank == 0);
}

static int fake_begin(void *way)
{
    struct fake *f = way;
    f->stage = 0;
    f->over = false;
    return f->closed > 0 ? f->closed--, 0 : 1;
}

static int fake_max(void *way, uint32_t tag, int8_t *x, size_t n)
{
    struct fake *f = way;
    (void)tag;
    if (!begins(f))
        return wait_for_word(f);
    int8_t result[N_LAYERS];
    MPI_Allreduce(x, result, (int)n, MPI_INT8_T, MPI_MAX, f->mpi);
    const bool got = gets_or_0(f);
    f->stage++;
    f->max++;
    if (!got)
        return give_up(f);
    memcpy(x, result, n);
    return 0;
}

static int fake_sum(void *way, const struct way_sum *s)
{
    struct fake *f = way;
    const struct fold fold = codec_fold(s->codec);
    const size_t bytes = fold.ops->in_bytes(&fold, s->n);
    const uint8_t *parts[64];
    const size_t first = s->n / 2 / 8 * 8; /* in two parts, the later one first */
    if (!begins(f)) {
        s->flow.need(s->flow.arg, 0, s->n);
        return wait_for_word(f);
    }
    s->flow.need(s->flow.arg, first, s->n - first);
    if (first)
        s->flow.need(s->flow.arg, 0, first);
    uint32_t tags[2] = {s->tag, ~s->tag};
    MPI_Allreduce(MPI_IN_PLACE, tags, 2, MPI_UINT32_T, MPI_MAX, f->mpi);
    CHECK(tags[0] == s->tag && tags[1] == ~s->tag, "ranks sum different things");
    MPI_Allgather(s->codes, (int)bytes, MPI_BYTE, t.all, (int)bytes, MPI_BYTE, f->mpi);
    const bool got = gets_or_0(f);
    f->stage++;
    f->sums++;
    if (!got)
        return give_up(f);
    for (int r = 0; r < t.n_ranks; r++)
        parts[r] = t.all + (size_t)r * bytes;
    fold.ops->sum(&fold, 0, parts, t.n_ranks, s->n, true, s->result);
    if (first)
        s->flow.have(s->flow.arg, 0, first);
    s->flow.have(s->flow.arg, first, s->n - first);
    return 0;
}

static int fake_end(void *way, bool failed)
{
    struct fake *f = way;
    if (failed)
        f->closed = (int)(dice(f->step, 99, 0) % 3);
    return 0;
}

static struct way_count fake_counted(const void *way)
{
    (void)way;
    return (struct way_count){0};
}

static const struct way_ops fake_ops = {fake_begin, fake_max, fake_sum, fake_end, fake_counted};

static void make_grads(uint32_t step)
{
    for (uint32_t l = 0; l < N_LAYERS; l++)
        for (uint32_t i = 0; i < N_MOST; i++) {
            const uint32_t word = philox_u32(philox_key(SEED, step, l, (uint32_t)t.rank, 2), i);
            t.grads[l][i] = ldexpf((float)word / 4294967296.0f - 0.5f, (int)(step * l % 7));
        }
    if (dice(step, 98, 0) % 8 == 0 && dice(step, 98, 1) % (uint32_t)t.n_ranks == (uint32_t)t.rank)
        t.grads[2][5] = NAN;
}

static struct reducer *open_reducer(const struct codec_words *words, struct codec *codec)
{
    const struct algo *algo;
    int group;
    struct reducer *r = NULL;
    if (codec_parse(words, codec) < 0 || algo_find("auto", t.n_ranks, &algo, &group) < 0 ||
        algo_settle(algo, group, t.n_ranks, codec) < 0 ||
        reducer_open(t.c, codec, algo, group, BUCKET_BYTES, t.layers, N_LAYERS, &r) < 0)
        exit(1);
    return r;
}

static struct reducer_step run(struct reducer *r, uint64_t step, float grads[N_LAYERS][N_MOST])
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

static void check_steps(const struct codec_words *words)
{
    struct codec codec, plain_codec;
    struct reducer *way = open_reducer(words, &codec), *plain = open_reducer(words, &plain_codec);
    struct fake fake = {0};
    int by_way = 0, redone = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &fake.mpi);
    reducer_set_way(way, &fake_ops, &fake);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        make_grads(step);
        fake.step = step;
        reducer_force_fp32(way, step % 13 == 5);
        reducer_force_fp32(plain, step % 13 == 5);
        const struct reducer_step a = run(way, step, t.by_way), b = run(plain, step, t.by_mpi);
        CHECK(a.skipped == b.skipped && !b.by_way, "step %u", step);
        for (int l = 0; l < N_LAYERS; l++)
            CHECK(memcmp(t.by_way[l], t.by_mpi[l], sizes[l] * sizeof(float)) == 0, "%s %s: step %u layer %d differs",
                  words->format, words->scale, step, l);
        by_way += a.by_way;
        redone += a.n_redone;
    }
    CHECK(by_way > 5 && redone > 5 && fake.gave_up > 3 && fake.sums > 20 && fake.max > 10,
          "%d steps by the way, %d buckets redone, %d times given up: this tests too little", by_way, redone,
          fake.gave_up);
    MPI_Comm_free(&fake.mpi);
    reducer_close(way);
    reducer_close(plain);
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
        t.layers[l] = (struct reducer_layer){.name = "layer", .n = sizes[l], .fp32 = l == 6};
    check_steps(&(struct codec_words){.format = "e4m3", .scale = "aps"});
    check_steps(&(struct codec_words){.format = "e5m2", .round = "stochastic"});
    check_steps(&(struct codec_words){.format = "e3m0", .scale = "aps-tight"});
    comm_close(t.c);
    DONE();
}
