/* comm_wait.c : messages of any length, and the one wait that all of comm/ goes through. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <sched.h>
#include <stdlib.h>
#include <time.h>

MPI_Request *comm_request(struct comm *c)
{
    if (c->n_req == c->room) { /* only for messages of many chunks, and then once */
        size_t room = 2 * c->room;
        MPI_Request *req = realloc(c->req, room * sizeof *req);
        if (req)
            c->req = req;
        MPI_Status *status = realloc(c->status, room * sizeof *status);
        if (status)
            c->status = status;
        if (!req || !status) {
            (void)ERR(-ENOMEM, "cannot have more than %zu messages under way: out of memory",
                      c->room);
            return NULL;
        }
        c->room = room;
    }
    return c->req + c->n_req;
}

static size_t chunk_of(const struct comm *c, size_t left)
{
    return left < c->chunk_bytes ? left : c->chunk_bytes;
}

int comm_send(struct comm *c, int to, const void *buf, size_t bytes)
{
    const char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = chunk_of(c, left);
        MPI_Request *req = comm_request(c);
        if (!req)
            return -ENOMEM;
        TRY(comm_mpi_check(MPI_Isend(at, (int)n, MPI_BYTE, to, COMM_TAG_DATA, c->mpi, req),
                           "send"));
        c->n_req++;
    }
    c->count.sent_bytes += bytes;
    return 0;
}

int comm_recv(struct comm *c, int from, void *buf, size_t bytes)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = chunk_of(c, left);
        MPI_Request *req = comm_request(c);
        if (!req)
            return -ENOMEM;
        TRY(comm_mpi_check(MPI_Irecv(at, (int)n, MPI_BYTE, from, COMM_TAG_DATA, c->mpi, req),
                           "receive"));
        c->n_req++;
    }
    return 0;
}

struct comm_watch comm_watch(const struct comm *c)
{
    const double now = clock_s();
    return (struct comm_watch){.start_s = now, .deadline = deadline_in(now, c->deadline_s)};
}

void comm_look(struct comm *c, struct comm_watch *w)
{
    const double now = clock_s();
    w->waited_s = now - w->start_s;
    if (deadline_passed(&w->deadline, now) || comm_roll_heard(c))
        comm_roll_call(c);
}

/* Between two polls: at once for a few microseconds, then after the others on this core, then
 * asleep for a moment; for longer when it takes longer: hundreds of ranks may share a core with the
 * one that all wait for. */
static void pause_between_polls(unsigned n_polls, double waited_s)
{
    if (n_polls < 50)
        return;
    if (waited_s < 0.02)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = waited_s < 0.2 ? 50000 : 500000}, NULL);
}

/* Why MPI_Testall failed: the first message that did. */
static int failed_request(const struct comm *c, int mpi_rc)
{
    for (size_t i = 0; mpi_rc == MPI_ERR_IN_STATUS && i < c->n_req; i++) {
        int why = c->status[i].MPI_ERROR;
        if (why != MPI_SUCCESS && why != MPI_ERR_PENDING)
            mpi_rc = why;
    }
    return comm_mpi_check(mpi_rc, "exchange messages");
}

/* Has MPI let go of all buffers, of messages that failed as of others? The first failure in *rc. */
static bool all_done(struct comm *c, int *rc)
{
    int done = 0;
    const int mpi_rc = MPI_Testall((int)c->n_req, c->req, &done, c->status);
    if (mpi_rc == MPI_SUCCESS)
        return done;
    if (*rc == 0)
        *rc = failed_request(c, mpi_rc);
    for (size_t i = 0; i < c->n_req; i++)
        if (c->req[i] != MPI_REQUEST_NULL)
            return false;
    return true;
}

int comm_wait(struct comm *c)
{
    struct comm_watch watch = comm_watch(c);
    int rc = 0;
    for (unsigned n_polls = 0; !all_done(c, &rc); n_polls++) {
        comm_look(c, &watch);
        pause_between_polls(n_polls, watch.waited_s);
    }
    c->n_req = 0;
    c->count.wait_s += clock_s() - watch.start_s;
    return rc;
}

int comm_round(struct comm *c)
{
    c->count.rounds++;
    return comm_wait(c);
}
