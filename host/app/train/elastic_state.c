/* elastic_state.c : keeps the states of the last two steps in memory, and restores one of them
 * after processes died or joined.
 *
 *     process 0          process 1          process 2
 *     weights            weights            weights          the same on all
 *     blocks 0 1 2       blocks 3 4 5       blocks 6 7       own states (moments, residuals)
 *     blocks 6 7         blocks 0 1 2       blocks 3 4 5     copies for the process before, or
 *                                                            for one of another machine
 *
 * A process begins a step only when all have ended the one before (train_loop.c, meet()). The last
 * states of any two processes are therefore at most one step apart, and all have the older one. */
#include "app/train/checkpoint_section.h"
#include "app/train/elastic.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void elastic_drop_file(struct elastic *e)
{
    if (e->file.path[0] && comm_rank(e->comm) == 0)
        (void)unlink(e->file.path);
    e->file.path[0] = 0;
}

void elastic_slot_free(struct elastic_slot *s)
{
    free(s->common);
    for (int k = 0; k < ELASTIC_KINDS; k++)
        free(s->blocks[k]);
    *s = (struct elastic_slot){0};
}

static const uint64_t ELASTIC_NEW = UINT64_MAX; /* `last` of a process that has just joined */

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

/* Returns the lowest block of the process `by` places after that of the block `lowest`. */
static int process_after(const struct comm *c, int lowest, int by)
{
    const int all = comm_n_ranks(c);
    for (int r = lowest; by > 0; by--, lowest = r %= all)
        while (r < all && comm_lowest_here(c, r) == lowest)
            r++;
    return lowest;
}

static void find_blocks(struct elastic_slot *s, const struct comm *c, int apart)
{
    const int all = comm_n_ranks(c), n = comm_n_processes(c);
    s->first[ELASTIC_OWN] = comm_lowest_here(c, comm_rank(c));
    s->n[ELASTIC_OWN] = comm_n_here(c);
    s->to = process_after(c, s->first[ELASTIC_OWN], apart);
    s->first[ELASTIC_COPIES] = process_after(c, s->first[ELASTIC_OWN], n - apart);
    s->n[ELASTIC_COPIES] =
        n == 1 ? 0
               : (process_after(c, s->first[ELASTIC_COPIES], 1) - s->first[ELASTIC_COPIES] + all) %
                     all;
}

/* The first block of a process to call opens the slot. */
static int slot_open(struct elastic *e, struct elastic_slot *s, const struct train *t)
{
    const struct elastic_slot was = *s;
    const size_t block_bytes = e->block_bytes;
    free(e->plan.layers);
    TRY(checkpoint_plan(t, &e->plan, e->text));
    e->common_bytes = sections_bytes(t, false);
    e->block_bytes = sections_bytes(t, true);
    s->steps_1 = 0;
    find_blocks(s, t->comm, e->apart);
    if (was.common && block_bytes == e->block_bytes && was.n[ELASTIC_OWN] == s->n[ELASTIC_OWN] &&
        was.n[ELASTIC_COPIES] == s->n[ELASTIC_COPIES])
        return 0;
    const int n_begun = s->n_begun;
    elastic_slot_free(s);
    find_blocks(s, t->comm, e->apart);
    s->n_begun = n_begun;
    s->common = buf_alloc(e->common_bytes);
    for (int k = 0; k < ELASTIC_KINDS; k++)
        s->blocks[k] = buf_alloc((size_t)s->n[k] * e->block_bytes);
    return s->common && s->blocks[ELASTIC_OWN] && s->blocks[ELASTIC_COPIES] ? 0 : -ENOMEM;
}

int elastic_keep(struct train *t)
{
    struct elastic *e = t->elastic;
    if (!e)
        return 0;
    struct elastic_slot *s = &e->slots[1 - e->good];
    if (s->n_begun++ == 0 && slot_open(e, s, t) < 0)
        comm_abort(e->comm, -ENOMEM);
    uint8_t *mine =
        s->blocks[ELASTIC_OWN] + (size_t)(t->rank - s->first[ELASTIC_OWN]) * e->block_bytes;
    if (!t->owner)
        TRY(copy_sections(t, false, s->common));
    TRY(copy_sections(t, true, mine));
    if (s->n[ELASTIC_COPIES] > 0)
        TRY(comm_pass_on(t->comm, s->to, mine, e->block_bytes, s->first[ELASTIC_COPIES],
                         t->owner ? 0 : s->n[ELASTIC_COPIES], s->blocks[ELASTIC_COPIES]));
    if (++s->n_done < s->n[ELASTIC_OWN])
        return 0;
    s->n_begun = s->n_done = 0;
    s->steps_1 = t->state.step + 1;
    s->tested = (struct elastic_tested){t->tested, t->report.last};
    e->joins = false;
    e->good = 1 - e->good;
    if (e->lost_s > 0 && comm_rank(e->comm) == 0)
        err_note("%d %s on from step %llu, %.1f s after the change", comm_n_ranks(e->comm),
                 comm_n_ranks(e->comm) > 1 ? "processes go" : "process goes",
                 (unsigned long long)t->state.step, clock_s() - e->lost_s);
    e->lost_s = 0;
    elastic_drop_file(e);
    return 0;
}

/* ---- restoring it ---- */

struct elastic_offer elastic_offer(const struct elastic *e)
{
    struct elastic_offer mine = {
        .last = e->joins ? ELASTIC_NEW : 0, .from = e->from, .tries = e->tries, .ended = e->ended};
    for (int i = 0; i < 2; i++) {
        const struct elastic_slot *s = &e->slots[i];
        if (s->steps_1 > mine.last)
            mine.last = s->steps_1;
        mine.slot[i].steps_1 = s->steps_1;
        for (int k = 0; k < ELASTIC_KINDS; k++)
            mine.slot[i].first[k] = s->first[k], mine.slot[i].n[k] = s->n[k];
    }
    return mine;
}

/* Returns the slot's copy of a block, as 2 * slot + kind, or -1. */
static int find_block(const struct elastic_offer *o, uint64_t steps_1, int block)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < ELASTIC_KINDS && o->slot[i].steps_1 == steps_1; k++)
            if (block >= o->slot[i].first[k] && block < o->slot[i].first[k] + o->slot[i].n[k])
                return 2 * i + k;
    return -1;
}

/* Returns the lowest process that has the block, or -1. */
static int find_holder(const uint8_t *const *offers, int n, uint64_t steps_1, int block, int *where)
{
    for (int p = 0; p < n; p++) {
        struct elastic_offer o;
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
        const struct elastic_slot *s = &e->slots[where / 2];
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
    const struct elastic_slot *s = &e->slots[e->good];
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
    snprintf(e->file.path, sizeof e->file.path, "%s/narrowcast-XXXXXX",
             folder && *folder ? folder : "/tmp");
    const int fd = mkstemp(e->file.path);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? ERR(-errno, "cannot write '%s': %s", e->file.path, strerror(errno)) : 0;
}

int elastic_restore(struct elastic *e, const uint8_t *const *offers)
{
    const bool first = comm_rank(e->comm) == 0;
    uint8_t *all = NULL;
    if (first && !(all = buf_alloc((size_t)e->o->blocks * e->block_bytes)))
        comm_abort(e->comm, -ENOMEM);
    int rc = collect(e, offers, all);
    if (rc == 0 && first)
        rc = name_file(e);
    if (rc == 0 && first)
        rc = write_file(e, e->file.path, all);
    free(all);
    TRY(comm_agree(e->comm, rc));
    err_hold();
    e->file.tested = e->slots[e->good].tested;
    return comm_bcast(e->comm, &e->file, sizeof e->file, 0);
}

const struct report_epoch *elastic_tested(const struct elastic *e)
{
    return e && e->file.path[0] && e->file.tested.is ? &e->file.tested.last : NULL;
}

/* Process 0 needs what all blocks have in common, and each block's state from anyone. Some are
 * missing if a process and that with its copies died in the same step. */
static bool is_complete(const struct elastic *e, const uint8_t *const *offers)
{
    struct elastic_offer first;
    memcpy(&first, offers[0], sizeof first);
    bool all = first.slot[0].steps_1 == e->from || first.slot[1].steps_1 == e->from;
    for (int b = 0, where; b < (int)e->o->blocks; b++)
        all = all && find_holder(offers, comm_n_ranks(e->comm), e->from, b, &where) >= 0;
    return all;
}

void elastic_choose(struct elastic *e, const uint8_t *const *offers)
{
    const int n = comm_n_ranks(e->comm);
    struct elastic_offer first;
    memcpy(&first, offers[0], sizeof first);
    e->from = ELASTIC_NEW;
    for (int p = 0; p < n; p++) {
        struct elastic_offer o;
        memcpy(&o, offers[p], sizeof o);
        if (o.last < e->from)
            e->from = o.last;
        e->ended |= o.ended != 0;
    }
    e->from = e->from == ELASTIC_NEW ? 0 : e->from;
    if (e->from > 0 && !is_complete(e, offers))
        e->from = 0;
    e->tries = e->from == first.from ? first.tries + 1 : 0;
    for (int i = 0; i < 2; i++)
        if (e->from > 0 && e->slots[i].steps_1 == e->from)
            e->good = i;
    for (int i = 0; i < 2; i++) {
        e->slots[i].n_begun = e->slots[i].n_done = 0;
        if (e->from == 0)
            e->slots[i].steps_1 = 0;
    }
}
