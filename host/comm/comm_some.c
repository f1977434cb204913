/* comm_some.c : waiting for some messages while others stay under way: lots of messages, each done
 * at its own time. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <assert.h>
#include <sched.h>
#include <time.h>

int comm_lots_begin(struct comm *c, size_t n_places)
{
    assert(c->n_req == 0);
    while (c->room < n_places) {
        c->n_req = c->room; /* so that the table grows */
        if (!comm_request(c)) {
            c->n_req = 0;
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < n_places; i++)
        c->req[i] = MPI_REQUEST_NULL;
    c->n_req = n_places;
    return 0;
}

size_t comm_lot_places(const struct comm *c, size_t bytes)
{
    return (bytes + c->chunk_bytes - 1) / c->chunk_bytes;
}

/* One message, in as many chunks as MPI needs, posted by `post`. */
static int add_chunks(struct comm *c, struct comm_lot *lot, int tag, int peer, char *buf,
                      size_t bytes, bool sends)
{
    for (size_t left = bytes, n; left > 0; left -= n, buf += n) {
        n = left < c->chunk_bytes ? left : c->chunk_bytes;
        assert(lot->used < lot->n_places && lot->at + lot->used < c->n_req);
        MPI_Request *req = &c->req[lot->at + lot->used++];
        TRY(comm_mpi_check(sends ? MPI_Isend(buf, (int)n, MPI_BYTE, peer, tag, c->mpi, req)
                                 : MPI_Irecv(buf, (int)n, MPI_BYTE, peer, tag, c->mpi, req),
                           sends ? "send" : "receive"));
    }
    return 0;
}

int comm_lot_send(struct comm *c, struct comm_lot *lot, int tag, int to, const void *buf,
                  size_t bytes)
{
    c->count.sent_bytes += bytes;
    return add_chunks(c, lot, tag, to, (char *)(uintptr_t)buf, bytes, true); /* MPI only reads it */
}

int comm_lot_recv(struct comm *c, struct comm_lot *lot, int tag, int from, void *buf, size_t bytes)
{
    return add_chunks(c, lot, tag, from, buf, bytes, false);
}

bool comm_lot_done(const struct comm *c, const struct comm_lot *lot)
{
    for (size_t i = 0; i < lot->used; i++)
        if (c->req[lot->at + i] != MPI_REQUEST_NULL)
            return false;
    return true;
}

/* Takes what has come. Returns how many messages that were, or -EIO. */
static int take(struct comm *c)
{
    for (int n = 0;; n++) {
        int done = 0, which = MPI_UNDEFINED;
        TRY(comm_mpi_check(MPI_Testany((int)c->n_req, c->req, &which, &done, MPI_STATUS_IGNORE),
                           "exchange messages"));
        if (!done || which == MPI_UNDEFINED)
            return n;
    }
}

/* Between two polls: at once for a few microseconds, then after the others on this core, then
 * asleep for a moment, in which the system's buffers go on sending. */
static void pause_between_polls(double waited_s)
{
    if (waited_s < 10e-6)
        return;
    if (waited_s < 200e-6)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* What has come, while nothing has failed. A failure ends all messages, so that their buffers are
 * the caller's again. */
static int take_or_end(struct comm *c)
{
    const int n = take(c);
    if (n < 0)
        (void)comm_wait(c);
    return n;
}

int comm_some(struct comm *c, bool wait)
{
    int n = take_or_end(c);
    if (n != 0 || !wait)
        return n;
    struct comm_watch watch = comm_watch(c);
    for (; n == 0; n = take_or_end(c)) {
        comm_look(c, &watch);
        pause_between_polls(watch.waited_s);
    }
    c->count.wait_s += clock_s() - watch.start_s;
    return n;
}
