/* fake_card_path.h : imitates the card path over MPI and fails in mid-step on random ranks. All
 * ranks draw from one seed. */
#ifndef FAKE_CARD_PATH_H
#define FAKE_CARD_PATH_H
#include "check.h"
#include "comm/mpi/comm_mpi.h"
#include "reduce/card_path.h"
#include "hls/arith/philox.h"
#include <string.h>

enum { FAKE_MAX_EXPONENTS = 4096, FAKE_MAX_RANKS = 64 };

/* Outcome of a stage (a max or sum of a bucket). LOST: some ranks miss the result. DEAD: all do.
 * Some ranks, never rank 0, may also get a wrong sum. */
enum fake_mishap { FAKE_FINE, FAKE_LOST, FAKE_DEAD };

struct fake_card_path {
    struct comm *c;
    MPI_Comm mpi;
    uint32_t seed, step, stage;
    bool over;
    int closed; /* steps until it opens again */
    int abandoned, sums, max, forged;
    uint64_t digest;
    uint8_t all[1 << 16];
};

static uint32_t fake_dice(const struct fake_card_path *f, uint32_t stage, uint32_t what)
{
    return philox_u32(philox_key(f->seed, f->step, stage, what, 1), 0) >> 8;
}

static enum fake_mishap fake_mishap(const struct fake_card_path *f)
{
    return fake_dice(f, f->stage, 0) % 9 == 0    ? FAKE_LOST
           : fake_dice(f, f->stage, 1) % 17 == 0 ? FAKE_DEAD
                                                 : FAKE_FINE;
}

static int fake_abandon(struct fake_card_path *f)
{
    CHECK(comm_abandon(f->c) == 0, "give up");
    f->abandoned++;
    f->over = true;
    return CARD_PATH_ABANDONED;
}

/* After a failure, ranks that have not noticed it wait for the notice. */
static bool fake_begins(const struct fake_card_path *f)
{
    const enum fake_mishap now = fake_mishap(f);
    if (!f->over && !(now == FAKE_DEAD && comm_rank(f->c) == 0))
        return now != FAKE_DEAD;
    return false;
}

static int fake_wait_for_word(struct fake_card_path *f)
{
    while (comm_n_ranks(f->c) > 1 && (comm_rank(f->c) > 0 || f->over) && !comm_abandoned(f->c))
        ;
    return fake_abandon(f);
}

/* If the draw gives all ranks the result, rank 0 misses it. */
static bool fake_gets(struct fake_card_path *f)
{
    bool all = true;
    if (fake_mishap(f) != FAKE_LOST)
        return true;
    for (uint32_t r = 0; r < (uint32_t)comm_n_ranks(f->c); r++)
        all = all && fake_dice(f, f->stage, 2 + r) % 2 == 0;
    f->over = true;
    return fake_dice(f, f->stage, 2 + (uint32_t)comm_rank(f->c)) % 2 == 0 &&
           !(all && comm_rank(f->c) == 0);
}

static int fake_begin(void *card_path)
{
    struct fake_card_path *f = card_path;
    f->stage = 0;
    f->over = false;
    f->digest = 7;
    return f->closed > 0 ? f->closed--, 0 : 1;
}

static int fake_max(void *card_path, uint32_t tag, int8_t *x, size_t n)
{
    struct fake_card_path *f = card_path;
    if (!fake_begins(f))
        return fake_wait_for_word(f);
    int8_t result[FAKE_MAX_EXPONENTS];
    uint32_t tags[2] = {tag, ~tag};
    MPI_Allreduce(MPI_IN_PLACE, tags, 2, MPI_UINT32_T, MPI_MAX, f->mpi);
    CHECK(tags[0] == tag && tags[1] == ~tag, "ranks look for the largest of different things");
    MPI_Allreduce(x, result, (int)n, MPI_INT8_T, MPI_MAX, f->mpi);
    const bool got = fake_gets(f);
    f->stage++;
    f->max++;
    if (!got)
        return fake_abandon(f);
    memcpy(x, result, n);
    return 0;
}

static void fake_forge(struct fake_card_path *f, uint8_t *result)
{
    const uint32_t rank = (uint32_t)comm_rank(f->c), what = 1000;
    if (rank == 0 || fake_dice(f, f->stage, what) % 4 || fake_dice(f, f->stage, what + rank) % 2)
        return;
    result[0] ^= 1;
    f->digest += 1 + rank;
    f->forged++;
}

static int fake_sum(void *card_path, const struct card_path_sum *s)
{
    struct fake_card_path *f = card_path;
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = s->codec});
    const size_t bytes = op.ops->in_bytes(&op, s->n);
    const uint8_t *parts[FAKE_MAX_RANKS];
    const size_t first = s->n / 2 / 8 * 8; /* two parts, the later first */
    if (!fake_begins(f)) {
        s->flow.need(s->flow.arg, 0, s->n);
        return fake_wait_for_word(f);
    }
    s->flow.need(s->flow.arg, first, s->n - first);
    if (first)
        s->flow.need(s->flow.arg, 0, first);
    uint32_t tags[2] = {s->tag, ~s->tag};
    MPI_Allreduce(MPI_IN_PLACE, tags, 2, MPI_UINT32_T, MPI_MAX, f->mpi);
    CHECK(tags[0] == s->tag && tags[1] == ~s->tag, "ranks sum different things");
    MPI_Allgather(s->codes, (int)bytes, MPI_BYTE, f->all, (int)bytes, MPI_BYTE, f->mpi);
    const bool got = fake_gets(f);
    f->stage++;
    f->sums++;
    if (!got)
        return fake_abandon(f);
    for (int r = 0; r < comm_n_ranks(f->c); r++)
        parts[r] = f->all + (size_t)r * bytes;
    op.ops->sum(&op, 0, parts, comm_n_ranks(f->c), s->n, true, s->result);
    fake_forge(f, s->result);
    if (first)
        s->flow.have(s->flow.arg, 0, first);
    s->flow.have(s->flow.arg, first, s->n - first);
    return 0;
}

static uint64_t fake_digest(const void *card_path)
{
    return ((const struct fake_card_path *)card_path)->digest;
}

static int fake_end(void *card_path, bool failed)
{
    struct fake_card_path *f = card_path;
    if (failed)
        f->closed = (int)(fake_dice(f, 99, 0) % 3);
    return 0;
}

static struct card_path_count fake_counted(const void *card_path)
{
    (void)card_path;
    return (struct card_path_count){0};
}

static const struct card_path_ops fake_ops = {
    .begin = fake_begin,
    .max = fake_max,
    .sum = fake_sum,
    .digest = fake_digest,
    .end = fake_end,
    .counted = fake_counted,
};

#endif
