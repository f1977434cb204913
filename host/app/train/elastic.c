/* elastic.c : keeps the states of the last two steps in memory, and restores one of them after ranks
 * died or joined.
 *
 *     process 0          process 1          process 2
 *     weights            weights            weights          the same on all
 *     blocks 0 1 2       blocks 3 4 5       blocks 6 7       own states (moments, residuals)
 *     blocks 6 7         blocks 0 1 2       blocks 3 4 5     copies for the process before
 *
 * A process begins a step only when all have ended the one before (train_loop.c, meet()). The last
 * states of any two processes are therefore at most one step apart, and all have the older one. */
#include "app/train/elastic.h"
#include "app/train/checkpoint.h"
#include "app/train/checkpoint_section.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OWN, COPIES, KINDS };
enum { TRIES = 3 }; /* attempts from the same step by the same processes */

static const uint64_t NEW = UINT64_MAX; /* `last` of a process that has just joined */

struct slot {
    uint64_t steps_1; /* steps done, plus 1; 0: nothing is kept */
    int first[KINDS], n[KINDS];
    uint8_t *common, *blocks[KINDS]; /* states of all blocks together, and of each */
    int n_begun, n_done;             /* blocks that have entered and left elastic_keep() */
};

/* what a process can give */
struct offer {
    uint64_t last;
    struct {
        uint64_t steps_1;
        int32_t first[KINDS], n[KINDS];
    } slot[2];
};

struct elastic {
    const struct train_options *o;
    struct comm *comm;
    char **args; /* of new processes */
    bool joins;
    double lost_s; /* when a loss was noticed, or 0 */
    uint64_t from; /* steps_1 of this attempt */
    int tries;
    bool saved; /* this run has written --save */

    struct checkpoint_plan plan;
    char text[CHECKPOINT_TEXT_MAX], path[128];
    size_t common_bytes, block_bytes;
    struct slot slots[2];
    int good; /* slot that the next state must not replace */
};

static volatile sig_atomic_t asked;

static void ask(int number)
{
    (void)number;
    asked = 1;
}

void elastic_listen(void)
{
    struct sigaction act = {.sa_handler = ask, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR2, &act, NULL);
}

bool elastic_asked(void)
{
    return asked;
}

struct elastic *elastic_open(const struct train_options *o, struct comm *comm, bool joins, int argc,
                             char **argv)
{
    static char command[] = "train";
    struct elastic *e = buf_alloc(sizeof *e);
    if (!e || !(e->args = buf_alloc(((size_t)argc + 2) * sizeof *e->args)))
        return free(e), NULL;
    e->args[0] = command;
    memcpy(e->args + 1, argv, (size_t)argc * sizeof *argv);
    e->o = o;
    e->comm = comm;
    e->joins = joins;
    return e;
}

static void drop_file(struct elastic *e)
{
    if (e->path[0] && comm_rank(e->comm) == 0)
        (void)unlink(e->path);
    e->path[0] = 0;
}

static void slot_free(struct slot *s)
{
    free(s->common);
    for (int k = 0; k < KINDS; k++)
        free(s->blocks[k]);
    *s = (struct slot){0};
}

void elastic_close(struct elastic *e)
{
    if (!e)
        return;
    drop_file(e);
    slot_free(&e->slots[0]);
    slot_free(&e->slots[1]);
    free(e->args);
    free(e);
}

/* ---- keeping a state ---- */

/* Copies the sections that a block has (per_rank), or those that all have in common. */
static int copy_sections(struct train *t, bool per_rank, uint8_t *to)
{
    for (int i = 0; i < checkpoint_n_sections; i++) {
        const struct checkpoint_section *s = &checkpoint_sections[i];
        const size_t bytes = s->bytes(t);
        if (s->per_rank != per_rank || !bytes)
            continue;
        for (int piece = 0; piece < checkpoint_pieces(t, s); piece++, to += bytes)
            TRY(s->get(t, piece, to));
    }
    return 0;
}

static size_t sections_bytes(const struct train *t, bool per_rank)
{
    size_t bytes = 0;
    for (int i = 0; i < checkpoint_n_sections; i++)
        if (checkpoint_sections[i].per_rank == per_rank)
            bytes += checkpoint_sections[i].bytes(t) *
                     (size_t)checkpoint_pieces(t, &checkpoint_sections[i]);
    return bytes;
}

static void find_blocks(struct slot *s, const struct comm *c)
{
    const int all = comm_n_ranks(c), lowest = comm_lowest_here(c, comm_rank(c));
    s->first[OWN] = lowest;
    s->n[OWN] = comm_n_here(c);
    s->first[COPIES] = comm_lowest_here(c, (lowest + all - 1) % all);
    s->n[COPIES] = s->n[OWN] == all ? 0 : (lowest ? lowest : all) - s->first[COPIES];
}

/* The first block of a process to call opens the slot. */
static int slot_open(struct elastic *e, struct slot *s, const struct train *t)
{
    const struct slot was = *s;
    const size_t block_bytes = e->block_bytes;
    checkpoint_plan(t, &e->plan, e->text);
    e->common_bytes = sections_bytes(t, false);
    e->block_bytes = sections_bytes(t, true);
    s->steps_1 = 0;
    find_blocks(s, t->comm);
    if (was.common && block_bytes == e->block_bytes && was.n[OWN] == s->n[OWN] &&
        was.n[COPIES] == s->n[COPIES])
        return 0;
    const int n_begun = s->n_begun;
    slot_free(s);
    find_blocks(s, t->comm);
    s->n_begun = n_begun;
    s->common = buf_alloc(e->common_bytes);
    for (int k = 0; k < KINDS; k++)
        s->blocks[k] = buf_alloc((size_t)s->n[k] * e->block_bytes);
    return s->common && s->blocks[OWN] && s->blocks[COPIES] ? 0 : -ENOMEM;
}

int elastic_keep(struct train *t)
{
    struct elastic *e = t->elastic;
    if (!e)
        return 0;
    struct slot *s = &e->slots[1 - e->good];
    if (s->n_begun++ == 0 && slot_open(e, s, t) < 0)
        comm_abort(e->comm, -ENOMEM);
    uint8_t *mine = s->blocks[OWN] + (size_t)(t->rank - s->first[OWN]) * e->block_bytes;
    if (!t->owner)
        TRY(copy_sections(t, false, s->common));
    TRY(copy_sections(t, true, mine));
    if (s->n[COPIES] > 0) /* the lowest block of a process takes the copies */
        TRY(comm_pass_on(t->comm, (s->first[OWN] + s->n[OWN]) % t->n_ranks, mine, e->block_bytes,
                         s->first[COPIES], t->owner ? 0 : s->n[COPIES], s->blocks[COPIES]));
    if (++s->n_done < s->n[OWN])
        return 0;
    s->n_begun = s->n_done = 0;
    s->steps_1 = t->state.step + 1;
    e->good = 1 - e->good;
    if (e->lost_s > 0 && comm_rank(e->comm) == 0)
        err_note("%d processes go on from step %llu, %.1f s after the change",
                 comm_n_ranks(e->comm), (unsigned long long)t->state.step, clock_s() - e->lost_s);
    e->lost_s = 0;
    drop_file(e);
    return 0;
}

/* ---- restoring it ---- */

static struct offer offer_of(const struct elastic *e)
{
    struct offer mine = {.last = e->joins ? NEW : 0};
    for (int i = 0; i < 2; i++) {
        const struct slot *s = &e->slots[i];
        if (s->steps_1 > mine.last)
            mine.last = s->steps_1;
        mine.slot[i].steps_1 = s->steps_1;
        for (int k = 0; k < KINDS; k++)
            mine.slot[i].first[k] = s->first[k], mine.slot[i].n[k] = s->n[k];
    }
    return mine;
}

/* Returns the slot's copy of a block, as 2 * slot + kind, or -1. */
static int find_block(const struct offer *o, uint64_t steps_1, int block)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < KINDS && o->slot[i].steps_1 == steps_1; k++)
            if (block >= o->slot[i].first[k] && block < o->slot[i].first[k] + o->slot[i].n[k])
                return 2 * i + k;
    return -1;
}

/* Returns the lowest process that has the block, or -1. */
static int find_holder(const uint8_t *const *offers, int n, uint64_t steps_1, int block, int *where)
{
    for (int p = 0; p < n; p++) {
        struct offer o;
        memcpy(&o, offers[p], sizeof o);
        if ((*where = find_block(&o, steps_1, block)) >= 0)
            return p;
    }
    return -1;
}

/* Process 0 gets the states of all blocks. all: [n_blocks][block_bytes], only there. */
static int collect(struct elastic *e, const uint8_t *const *offers, uint8_t *all)
{
    const int me = comm_rank(e->comm);
    for (int b = 0; b < (int)e->o->blocks; b++) {
        int where;
        const int p = find_holder(offers, comm_n_ranks(e->comm), e->from, b, &where);
        const struct slot *s = &e->slots[where / 2];
        uint8_t *to = all + (size_t)b * e->block_bytes;
        if (p == me) {
            const int k = where % 2;
            const uint8_t *mine = s->blocks[k] + (size_t)(b - s->first[k]) * e->block_bytes;
            if (me == 0)
                memcpy(to, mine, e->block_bytes);
            else
                TRY(comm_pass(e->comm, me, 0, (void *)mine, e->block_bytes));
        } else if (me == 0) {
            TRY(comm_pass(e->comm, p, 0, to, e->block_bytes));
        }
    }
    return 0;
}

/* The sections of a block follow each other in its state, in the file block follows block. */
static int write_sections(const struct elastic *e, struct checkpoint_out *out,
                          const uint8_t *common, const uint8_t *all)
{
    size_t common_at = 0, block_at = 0;
    for (uint32_t i = 0, k = 0; i < e->plan.n_entries; i++, k++) {
        const size_t bytes = e->plan.entries[i].bytes;
        while (strncmp(checkpoint_sections[k].name, e->plan.entries[i].name,
                       sizeof e->plan.entries[i].name))
            k++;
        const bool per_rank = checkpoint_sections[k].per_rank;
        for (size_t b = 0; b < e->plan.entries[i].n_parts; b++)
            TRY(checkpoint_out_put(
                out, per_rank ? all + b * e->block_bytes + block_at : common + common_at, bytes));
        *(per_rank ? &block_at : &common_at) += bytes;
    }
    return 0;
}

static int write_file(const struct elastic *e, const char *path, const uint8_t *all)
{
    struct checkpoint_out out = {.crc = 0};
    const struct slot *s = &e->slots[e->good];
    int rc = checkpoint_out_open(&out, path, &e->plan);
    if (rc == 0)
        rc = write_sections(e, &out, s->common, all);
    if (rc == 0)
        rc = checkpoint_out_commit(&out);
    checkpoint_out_discard(&out);
    return rc;
}

static int name_file(struct elastic *e)
{
    const char *folder = getenv("TMPDIR");
    snprintf(e->path, sizeof e->path, "%s/narrowcast-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(e->path);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? ERR(-errno, "cannot write '%s': %s", e->path, strerror(errno)) : 0;
}

/* Writes the state e->from to a file of process 0, whose name all learn. */
static int restore(struct elastic *e, const uint8_t *const *offers)
{
    const bool first = comm_rank(e->comm) == 0;
    uint8_t *all = NULL;
    if (first && !(all = buf_alloc((size_t)e->o->blocks * e->block_bytes)))
        comm_abort(e->comm, -ENOMEM);
    int rc = collect(e, offers, all);
    if (rc == 0 && first)
        rc = name_file(e);
    if (rc == 0 && first)
        rc = write_file(e, e->path, all);
    free(all);
    TRY(comm_agree(e->comm, rc));
    err_hold();
    return comm_bcast(e->comm, e->path, sizeof e->path, 0);
}

/* Sets e->from to the last state that all processes have, or 0. */
static void choose(struct elastic *e, const uint8_t *const *offers)
{
    const uint64_t was = e->from;
    const int n = comm_n_ranks(e->comm);
    e->from = NEW;
    for (int p = 0; p < n; p++) {
        struct offer o;
        memcpy(&o, offers[p], sizeof o);
        if (o.last < e->from)
            e->from = o.last;
    }
    e->from = e->from == NEW ? 0 : e->from;
    for (int b = 0, where; b < (int)e->o->blocks && e->from > 0; b++)
        if (find_holder(offers, n, e->from, b, &where) < 0)
            e->from = 0; /* its owner and the next process died together */
    e->tries = e->from == was ? e->tries + 1 : 0;
    for (int i = 0; i < 2; i++)
        if (e->from > 0 && e->slots[i].steps_1 == e->from)
            e->good = i;
    for (int i = 0; i < 2; i++)
        e->slots[i].n_begun = e->slots[i].n_done = 0;
}

/* From the last checkpoint of this run, or from its start. */
static int start_anew(const struct elastic *e, struct train_options *run)
{
    if (e->saved)
        run->resume = e->o->save;
    if (e->lost_s > 0 && comm_rank(e->comm) == 0)
        err_note("the state in memory is lost: going on from %s%s",
                 run->resume ? "checkpoint " : "the start", run->resume ? run->resume : "");
    return 0;
}

int elastic_begin(struct elastic *e, struct train_options *run)
{
    const int n = comm_n_ranks(e->comm);
    const struct offer mine = offer_of(e);
    struct offer *all = buf_alloc((size_t)n * sizeof *all);
    const uint8_t **offers = buf_alloc((size_t)n * sizeof *offers);
    *run = *e->o;
    drop_file(e);
    if (!all || !offers)
        comm_abort(e->comm, -ENOMEM);
    int rc = comm_all_gather(e->comm, &mine, sizeof mine, all, offers);
    if (rc == 0)
        choose(e, offers);
    if (rc == 0 && e->tries > TRIES)
        rc = ERR(-EIO, "%d attempts from step %llu failed although no process died", TRIES,
                 (unsigned long long)e->from - 1);
    else if (rc == 0 && e->from == 0)
        rc = start_anew(e, run);
    else if (rc == 0)
        rc = restore(e, offers);
    if (rc == 0 && e->path[0])
        run->resume = e->path;
    free(offers);
    free(all);
    return rc;
}

void elastic_saved(struct train *t)
{
    if (t->elastic)
        t->elastic->saved = true;
}

/* ---- the end of an attempt ---- */

static void say_lost(const struct elastic *e, const int *was, int n_before)
{
    char list[128];
    struct text text = text_in(list, sizeof list);
    int n_lost = 0;
    for (int r = 0, i = 0; r < n_before; r++) {
        if (i < comm_n_ranks(e->comm) && was[i] == r)
            i++;
        else
            text_add(&text, "%s%d", n_lost++ ? ", " : "", r);
    }
    if (comm_rank(e->comm) == 0 && n_lost > 0)
        err_note("process%s %s of %d %s lost", n_lost > 1 ? "es" : "", list, n_before,
                 n_lost > 1 ? "are" : "is");
}

static int renew(struct elastic *e)
{
    const int n = comm_n_ranks(e->comm);
    int *was = buf_alloc((size_t)n * sizeof *was);
    if (!was)
        comm_abort(e->comm, -ENOMEM);
    e->lost_s = clock_s();
    const int rc = comm_renew(e->comm, was);
    if (rc == 0)
        say_lost(e, was, n);
    free(was);
    TRY(rc);
    e->tries = comm_n_ranks(e->comm) < n ? 0 : e->tries;
    if (comm_n_ranks(e->comm) >= e->o->elastic)
        return 0;
    return ERR(-ECONNRESET, "%d process%s left, and --elastic asks for %lld%s",
               comm_n_ranks(e->comm), comm_n_ranks(e->comm) > 1 ? "es are" : " is",
               (long long)e->o->elastic, e->saved ? ": --resume the checkpoint" : "");
}

static int grow(struct elastic *e)
{
    const int n = comm_n_ranks(e->comm);
    asked = 0;
    if (n >= e->o->blocks) {
        if (comm_rank(e->comm) == 0)
            err_note("cannot take in a process: there are %d for %lld blocks", n,
                     (long long)e->o->blocks);
        return 0;
    }
    e->lost_s = clock_s();
    (void)comm_grow(e->comm, e->args);
    return comm_failed(e->comm) ? renew(e) : 0;
}

bool elastic_end(struct elastic *e, int *rc)
{
    const bool fine = comm_all_fine(e->comm, true);
    e->joins = false;
    if (fine && *rc != ELASTIC_GROWS)
        return false;
    err_release(false);
    err_hold();
    *rc = fine ? grow(e) : renew(e);
    return *rc == 0;
}
