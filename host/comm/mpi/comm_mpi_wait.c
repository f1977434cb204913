/* comm_mpi_wait.c : sends messages over MPI and waits for them. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool comm_mpi_make_room(struct comm *c, size_t places)
{
    struct comm_mpi *m = comm_mpi(c);
    MPI_Request *req = realloc(m->req, places * sizeof *req);
    if (req)
        m->req = req;
    MPI_Status *status = realloc(m->status, places * sizeof *status);
    if (status)
        m->status = status;
    int *ended = realloc(m->ended, places * sizeof *ended);
    if (ended)
        m->ended = ended;
    bool *kept = realloc(m->kept, places * sizeof *kept);
    if (kept) {
        m->kept = kept;
        memset(kept + c->room, 0, (places - c->room) * sizeof *kept);
    }
    return req && status && ended && kept;
}

void comm_mpi_clear(struct comm *c, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++)
        comm_mpi(c)->req[i] = mpilib->request_null;
}

MPI_Request *comm_mpi_request(struct comm *c)
{
    return comm_place(c) < 0 ? NULL : comm_mpi(c)->req + c->n_req;
}

/* Open MPI 5.0 ends the job if a message fails after its request was freed. After a failure
 * MPI_Testsome() frees requests of messages that are still in flight, unless they are
 * persistent. */
int comm_mpi_start_send(struct comm *c, int tag, int to, const void *buf, size_t bytes,
                        MPI_Request *req)
{
    const struct comm_mpi *m = comm_mpi(c);
    MPI_Request keeps;
    if (!c->ops->fail)
        return comm_mpi_ok(c, mpilib->Isend(buf, (int)bytes, mpilib->byte, to, tag, m->mpi, req),
                           "send");
    TRY(comm_mpi_ok(c, mpilib->Send_init(buf, (int)bytes, mpilib->byte, to, tag, m->mpi, &keeps),
                    "send"));
    TRY(comm_mpi_ok(c, mpilib->Start(&keeps), "send"));
    *req = keeps;
    return 0;
}

/* A request that failed is never freed. */
static void settle(struct comm_mpi *m, size_t place, bool fine)
{
    if (!m->kept[place])
        return;
    if (fine)
        mpilib->Request_free(&m->req[place]);
    m->req[place] = mpilib->request_null;
    m->kept[place] = false;
}

int comm_mpi_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes)
{
    struct comm_mpi *m = comm_mpi(c);
    TRY(comm_mpi_start_send(c, tag, to, buf, bytes, &m->req[place]));
    m->kept[place] = c->ops->fail;
    return 0;
}

int comm_mpi_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes)
{
    struct comm_mpi *m = comm_mpi(c);
    return comm_mpi_ok(
        c, mpilib->Irecv(buf, (int)bytes, mpilib->byte, from, tag, m->mpi, &m->req[place]),
        "receive");
}

bool comm_mpi_done(const struct comm *c, size_t at, size_t n)
{
    const MPI_Request *req = ((const struct comm_mpi *)c)->req + at;
    for (size_t i = 0; i < n; i++)
        if (req[i] != mpilib->request_null)
            return false;
    return true;
}

static int failed_request(struct comm_mpi *m, int mpi_rc, size_t n)
{
    for (size_t i = 0; mpi_rc == MPI_ERR_IN_STATUS && i < n; i++) {
        int why = m->status[i].MPI_ERROR;
        if (why != MPI_SUCCESS && why != MPI_ERR_PENDING)
            mpi_rc = why;
    }
    return comm_mpi_ok(&m->comm, mpi_rc, "exchange messages");
}

/* True once MPI has released all buffers, those of failed messages included. *rc: the first
 * failure. */
static bool all_done(struct comm_mpi *m, int *rc)
{
    int done = 0;
    const int mpi_rc = mpilib->Testall((int)m->comm.n_req, m->req, &done, m->status);
    if (mpi_rc == MPI_SUCCESS && !done)
        return false;
    for (size_t i = 0; i < m->comm.n_req; i++)
        settle(m, i, mpi_rc == MPI_SUCCESS || m->status[i].MPI_ERROR == MPI_SUCCESS);
    if (mpi_rc == MPI_SUCCESS)
        return true;
    if (*rc == 0)
        *rc = failed_request(m, mpi_rc, m->comm.n_req);
    return comm_mpi_done(&m->comm, 0, m->comm.n_req);
}

int comm_mpi_wait(struct comm *c)
{
    struct comm_watch watch = comm_watch(c);
    int rc = 0;
    for (unsigned n_polls = 0; !all_done(comm_mpi(c), &rc); n_polls++) {
        (void)comm_look(c, &watch); /* returns on failure only if elastic */
        comm_rest(n_polls, watch.waited_s);
    }
    c->n_req = 0;
    c->count.wait_s += clock_s() - watch.start_s;
    return rc;
}

/* Returns the number of messages that have ended, or -EIO. */
static int take(struct comm_mpi *m)
{
    int n = 0;
    const int rc = mpilib->Testsome((int)m->comm.n_req, m->req, &n, m->ended, m->status);
    n = n == MPI_UNDEFINED ? 0 : n;
    for (int i = 0; i < n; i++)
        settle(m, (size_t)m->ended[i], rc == MPI_SUCCESS || m->status[i].MPI_ERROR == MPI_SUCCESS);
    return rc == MPI_SUCCESS ? n : failed_request(m, rc, (size_t)n);
}

/* After a failure all messages end, so that the caller owns their buffers again. */
static int take_or_end(struct comm *c)
{
    const int n = take(comm_mpi(c));
    if (n < 0)
        (void)comm_mpi_wait(c);
    return n;
}

int comm_mpi_some(struct comm *c, bool wait)
{
    int n = take_or_end(c);
    if (n != 0 || !wait)
        return n;
    struct comm_watch watch = comm_watch(c);
    for (; n == 0; n = take_or_end(c)) {
        (void)comm_look(c, &watch); /* returns on failure only if elastic */
        comm_rest_some(watch.waited_s);
    }
    c->count.wait_s += clock_s() - watch.start_s;
    return n;
}

int comm_mpi_check(int mpi_rc, const char *what)
{
    if (mpi_rc == MPI_SUCCESS)
        return 0;
    char why[MPI_MAX_ERROR_STRING] = "no reason given";
    int length = 0;
    mpilib->Error_string(mpi_rc, why, &length);
    return ERR(-EIO, "cannot %s: %s", what, why);
}

int comm_mpi_ok(struct comm *c, int mpi_rc, const char *what)
{
    if (mpi_rc == MPI_SUCCESS || !comm_fail(c, -ECONNRESET))
        return comm_mpi_check(mpi_rc, what);
    return comm_failed(c);
}
