/* comm.c : implements one rank of a job. */
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "comm/comm.h"
#include "base/text.h"
#include "comm/protocol.h"
#include <assert.h>
#include <narrowcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int comm_init(struct comm *c)
{
    const size_t n = (size_t)c->n_ranks, room = 4 * n + 16;
    c->chunk_bytes = COMM_CHUNK_BYTES;
    c->scratch = buf_alloc(COMM_BLOCK);
    c->host_scratch = buf_alloc(n * COMM_HOST_SCRATCH);
    if (c->scratch && c->host_scratch && c->ops->make_room(c, room)) {
        c->room = room;
        return 0;
    }
    comm_fini(c);
    return ERR(-ENOMEM, "cannot open a job of %d ranks: out of memory", c->n_ranks);
}

void comm_fini(struct comm *c)
{
    free(c->scratch);
    free(c->host_scratch);
    c->scratch = c->host_scratch = NULL;
}

int comm_rank(const struct comm *c)
{
    return c->rank;
}
int comm_n_ranks(const struct comm *c)
{
    return c->n_ranks;
}
bool comm_threads(const struct comm *c)
{
    return c->threads;
}
size_t comm_message_bytes(const struct comm *c)
{
    return c->message_bytes;
}
bool comm_is_virtual(const struct comm *c)
{
    return c->ops->is_virtual;
}
bool comm_is_mpi(const struct comm *c)
{
    return c->ops->is_mpi;
}
int comm_lowest_here(const struct comm *c, int rank)
{
    return c->ops->lowest_here ? c->ops->lowest_here(c, rank) : rank;
}
int comm_n_processes(const struct comm *c)
{
    int n = 0;
    for (int r = 0; r < c->n_ranks; r++)
        n += comm_lowest_here(c, r) == r;
    return n;
}
int comm_n_here(const struct comm *c)
{
    int n = 0;
    for (int r = 0; r < c->n_ranks; r++)
        n += comm_lowest_here(c, r) == comm_lowest_here(c, c->rank);
    return n;
}
struct comm_count comm_counted(const struct comm *c)
{
    return c->count;
}

/* The minimum of | no line : rank : -code | names the lowest rank that failed, with its code, among
 * those that hold an error's line. Ranks can fail without one: emulated ranks share a data set, and
 * only the rank that read it knows why it failed. */
int comm_agree(struct comm *c, int rc)
{
    const uint64_t fine = UINT64_MAX, silent = 1ull << 63;
    uint64_t word =
        rc < 0 ? (err_has_reason() ? 0 : silent) | (uint64_t)c->rank << 32 | (uint32_t)-rc : fine;
    TRY(c->ops->reduce(c, COMM_MIN_U64, &word, 1, "agree with all ranks"));
    if (word == fine) {
        err_release(c->rank == 0);
        return 0;
    }
    const int agreed = -(int)(uint32_t)word;
    const bool speaks = c->rank == (int)(word >> 32 & INT32_MAX);
    if (speaks && word & silent && !err_had_error())
        (void)ERR(agreed, "failed: %s", strerror(-agreed));
    err_release(speaks);
    return agreed;
}

bool comm_fail(struct comm *c, int code)
{
    if (c->ops->fail)
        c->ops->fail(c, code);
    return c->ops->fail;
}

int comm_failure_code(int code)
{
    static const int usable[] = {-EINVAL, -EBUSY, -EPERM};
    for (size_t i = 0; i < sizeof usable / sizeof *usable; i++)
        if (code == usable[i])
            return 0;
    return code < 0 && code > -4096 ? code : 0;
}

int comm_failed(const struct comm *c)
{
    return c->ops->failed ? c->ops->failed(c) : 0;
}

void comm_leave(struct comm *c)
{
    if (!c)
        return;
    assert(c->ops->leave); /* virtual ranks are closed by their opener */
    c->ops->leave(c);
}

void comm_exit(struct comm *c, int code)
{
    (void)c;
    fflush(NULL);
    _exit(code < 0 && code > -128 ? -code : 1);
}

void comm_abort(struct comm *c, int code)
{
    err_release(true);
    c->ops->end(c, code);
}

static int list_missing(const struct comm *c, const bool *heard, char *text, size_t size)
{
    struct text list = text_in(text, size);
    int n = 0;
    for (int r = 0; r < c->n_ranks; r++)
        if (!heard[r] && ++n <= 16)
            text_add(&list, "%s%d", n > 1 ? ", " : "", r);
    if (n > 16)
        text_add(&list, ", ...");
    return n;
}

void comm_liveness_report(const struct comm *c, const bool *heard, int code)
{
    char list[192] = "";
    const int missing = list_missing(c, heard, list, sizeof list);
    const char *s = missing > 1 ? "s" : "", *are = missing > 1 ? "are" : "is";
    if (code != -ETIMEDOUT && missing > 0)
        (void)ERR(code, "rank%s %s of %d %s gone%s: %s", s, list, c->n_ranks, are,
                  code == -EPROTO ? " or in another call" : "", strerror(-code));
    else if (code != -ETIMEDOUT)
        (void)ERR(code, "messages failed although all %d ranks answer: %s", c->n_ranks,
                  strerror(-code));
    else if (missing > 0)
        (void)ERR(code, "rank%s %s of %d did not answer for %g s", s, list, c->n_ranks,
                  c->deadline_s);
    else
        (void)ERR(code,
                  "waited %g s for each other although all %d ranks answer: they run different "
                  "steps, or the deadline is too short",
                  c->deadline_s, c->n_ranks);
}

/* A job's first messages: rank 0 sends its record to all ranks; then comm_agree(). They must stay
 * the same in all versions. */

struct record {
    char magic[8];
    uint32_t protocol;
    char version[20]; /* zero-terminated */
};
_Static_assert(sizeof(struct record) == 32, "no gaps");
_Static_assert(sizeof NC_VERSION <= sizeof((struct record *)0)->version, "has room");

static const struct record own = {.magic = "ncjoins", .protocol = PROTOCOL, .version = NC_VERSION};

static int compare(const struct comm *c, struct record *r)
{
    if (memcmp(r, &own, sizeof own) == 0)
        return 0;
    r->version[sizeof r->version - 1] = 0;
    return ERR(-EPROTO,
               "cannot join the job: rank %d has narrowcast %s (protocol %u), and rank 0 has %s "
               "(protocol %u): need the same library on all ranks",
               c->rank, own.version, own.protocol, r->version, r->protocol);
}

int comm_check_version(struct comm *c)
{
    struct record first = own;
    TRY(c->ops->bcast(c, &first, sizeof first, 0));
    err_hold();
    return comm_agree(c, compare(c, &first));
}

int comm_abandon(struct comm *c)
{
    c->abandoned = true;
    return c->ops->abandon(c);
}

bool comm_abandoned(struct comm *c)
{
    if (c->ops->poll(c) && c->ops->missing(c) < 0)
        return true;
    return c->ops->abandoned(c);
}

const char *comm_rank_word(const struct comm *c)
{
    return c->n_near > 0 ? "block" : "rank";
}

void comm_yield(struct comm *c)
{
    if (c->ops->is_virtual)
        (void)c->ops->poll(c);
}

int comm_missing(struct comm *c)
{
    return c->ops->missing(c);
}

static size_t mask_words(const struct comm *c)
{
    return ((size_t)c->n_ranks + 63) / 64;
}

size_t comm_vote_words(const struct comm *c)
{
    return COMM_BLOCK / sizeof(uint64_t) - mask_words(c);
}

int comm_vote(struct comm *c, uint64_t *bits, size_t n)
{
    uint64_t *all = c->scratch, *mask = all + n;
    const size_t words = n + mask_words(c);
    assert(n <= comm_vote_words(c));
    memcpy(all, bits, n * sizeof *bits);
    memset(mask, 0, mask_words(c) * sizeof *mask);
    if (c->abandoned)
        mask[c->rank / 64] |= (uint64_t)1 << c->rank % 64;
    TRY(c->ops->reduce(c, COMM_OR_U64, all, words, "vote"));
    memcpy(bits, all, n * sizeof *bits);
    c->abandoned = false;
    return c->ops->forget(c, mask);
}
