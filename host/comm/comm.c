/* comm.c : one rank of a job: what it knows of itself, and agreeing whether a step went well. */
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int comm_init(struct comm *c)
{
    const size_t n = (size_t)c->n_ranks, room = 4 * n + 16;
    c->chunk_bytes = (size_t)1 << 30;
    c->scratch = buf_alloc(COMM_BLOCK);
    c->book = buf_alloc(n * COMM_BOOK);
    if (c->scratch && c->book && c->ops->make_room(c, room)) {
        c->room = room;
        return 0;
    }
    comm_fini(c);
    return ERR(-ENOMEM, "cannot open a job of %d ranks: out of memory", c->n_ranks);
}

void comm_fini(struct comm *c)
{
    free(c->scratch);
    free(c->book);
    c->scratch = c->book = NULL;
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
bool comm_is_virtual(const struct comm *c)
{
    return c->ops->is_virtual;
}
bool comm_is_mpi(const struct comm *c)
{
    return c->ops->is_mpi;
}
struct comm_count comm_counted(const struct comm *c)
{
    return c->count;
}

/* One word a rank, | rank : -code |, and the smallest wins: the lowest rank that failed brings its
 * code along. */
int comm_agree(struct comm *c, int rc)
{
    const uint64_t fine = UINT64_MAX;
    uint64_t word = rc < 0 ? (uint64_t)c->rank << 32 | (uint32_t)-rc : fine;
    TRY(c->ops->reduce(c, COMM_MIN_U64, &word, 1, "agree with all ranks"));
    const int speaker = word == fine ? 0 : (int)(word >> 32);
    err_release(c->rank == speaker);
    return word == fine ? 0 : -(int)(uint32_t)word;
}

bool comm_give_in(struct comm *c, int code)
{
    if (c->ops->give_in)
        c->ops->give_in(c, code);
    return c->ops->give_in;
}

int comm_failed(const struct comm *c)
{
    return c->ops->failed ? c->ops->failed(c) : 0;
}

void comm_leave(struct comm *c)
{
    if (!c)
        return;
    assert(c->ops->leave); /* virtual ranks are closed by who opened them */
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
