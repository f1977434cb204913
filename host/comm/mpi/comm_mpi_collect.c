/* comm_mpi_collect.c : implements collectives, notices of abandoned card paths, and the liveness
 * check. */
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"
#include "comm/comm.h"
#include "base/clock.h"
#include "base/deadline.h"
#include <string.h>
#include <time.h>

/* `call` uses the request `req`. */
#define COLLECT(c, what, call)                  \
    do {                                        \
        MPI_Request *req = comm_mpi_request(c); \
        if (!req)                               \
            return -ENOMEM;                     \
        TRY(comm_mpi_ok((c), (call), (what)));  \
        (c)->n_req++;                           \
        TRY(comm_mpi_wait(c));                  \
    } while (0)

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

int comm_mpi_barrier(struct comm *c)
{
    COLLECT(c, "synchronise all ranks", mpilib->Ibarrier(comm_mpi(c)->mpi, req));
    return 0;
}

int comm_mpi_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = at_most(left, c->chunk_bytes);
        COLLECT(c, "broadcast",
                mpilib->Ibcast(at, (int)n, mpilib->byte, root, comm_mpi(c)->mpi, req));
    }
    return 0;
}

/* MPI may add in any order, so every rank adds all addends itself. */
static int sum_f64(struct comm *c, double *x, size_t n, const char *what)
{
    const struct comm_mpi *m = comm_mpi(c);
    const size_t block = COMM_BLOCK / sizeof *x;
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, block);
        COLLECT(c, what,
                mpilib->Iallgather(x + i, (int)k, mpilib->fp64, m->all, (int)k, mpilib->fp64,
                                   m->mpi, req));
        memcpy(x + i, m->all, k * sizeof *x);
        for (size_t r = 1; r < (size_t)c->n_ranks; r++)
            comm_combine(COMM_SUM_F64, k, x + i, m->all + r * k);
    }
    return 0;
}

int comm_mpi_all_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
    const int n = (int)bytes;
    COLLECT(c, "gather codes",
            mpilib->Iallgather(mine, n, mpilib->byte, all, n, mpilib->byte, comm_mpi(c)->mpi, req));
    return 0;
}

int comm_mpi_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    const struct {
        MPI_Datatype type;
        MPI_Op op;
    } by[COMM_REDUCES] = {[COMM_MAX_I8] = {mpilib->int8, mpilib->max},
                          [COMM_MAX_F32] = {mpilib->fp32, mpilib->max},
                          [COMM_MIN_U64] = {mpilib->uint64, mpilib->min},
                          [COMM_OR_U64] = {mpilib->uint64, mpilib->bor}};
    const size_t size = comm_reduce_bytes(how);
    const size_t most = c->chunk_bytes < size ? 1 : c->chunk_bytes / size;
    if (how == COMM_SUM_F64)
        return sum_f64(c, x, n, what);
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, most);
        COLLECT(c, what,
                mpilib->Iallreduce(MPI_IN_PLACE, (char *)x + i * size, (int)k, by[how].type,
                                   by[how].op, comm_mpi(c)->mpi, req));
    }
    return 0;
}

int comm_mpi_abandon(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    for (int r = 0; r < c->n_ranks; r++)
        if (r != c->rank)
            TRY(comm_mpi_start_send(c, COMM_TAG_ABANDON, r, NULL, 0, &m->notes[r]));
    return 0;
}

bool comm_mpi_abandoned(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    int there = 0, rc;
    MPI_Status status;
    while ((rc = mpilib->Iprobe(MPI_ANY_SOURCE, COMM_TAG_ABANDON, m->mpi, &there, &status)) ==
               MPI_SUCCESS &&
           there) {
        mpilib->Recv(NULL, 0, mpilib->byte, status.MPI_SOURCE, COMM_TAG_ABANDON, m->mpi,
                     MPI_STATUS_IGNORE);
        m->abandoned[status.MPI_SOURCE] = true;
    }
    /* Open MPI 5.0's MPI_Iprobe() does not report deaths. */
    const bool lost = rc != MPI_SUCCESS || (c->ops->fail && mpilib->Comm_n_failed(m->mpi) > 0);
    if (lost && comm_fail(c, -ECONNRESET))
        return true;
    for (int r = 0; r < c->n_ranks; r++)
        if (m->abandoned[r])
            return true;
    return false;
}

/* Notices not seen yet must not reach the next step. */
int comm_mpi_forget(struct comm *c, const uint64_t *abandoned)
{
    struct comm_mpi *m = comm_mpi(c);
    for (int r = 0; r < c->n_ranks; r++) {
        const bool sent = abandoned[r / 64] >> r % 64 & 1, seen = m->abandoned[r];
        m->abandoned[r] = false;
        if (m->notes[r] != mpilib->request_null) {
            TRY(comm_place(c));
            m->kept[c->n_req] = c->ops->fail;
            m->req[c->n_req++] = m->notes[r];
            m->notes[r] = mpilib->request_null;
        }
        if (!sent || seen || r == c->rank)
            continue;
        MPI_Request *req = comm_mpi_request(c);
        if (!req)
            return -ENOMEM;
        TRY(comm_mpi_ok(c, mpilib->Irecv(NULL, 0, mpilib->byte, r, COMM_TAG_ABANDON, m->mpi, req),
                        "receive"));
        c->n_req++;
    }
    return comm_mpi_wait(c);
}

bool comm_cuda_aware(void)
{
    return mpilib && mpilib->Query_cuda_support() == 1;
}

/* In a ring only one rank waits for the missing one. So the first rank whose deadline passes sends
 * an empty message to all others, as does every waiting rank that receives one. A rank that sends
 * none within COMM_LIVENESS_S is missing. The lowest other rank prints the missing ranks and ends
 * the job. */

/* time for the lowest rank to end the job */
static const double LAST_WORD_S = 10.0;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool comm_mpi_liveness_poll(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    int there = 0;
    MPI_Status status;
    if (mpilib->Iprobe(MPI_ANY_SOURCE, COMM_TAG_LIVENESS, m->mpi, &there, &status) != MPI_SUCCESS ||
        !there)
        return false;
    mpilib->Recv(NULL, 0, mpilib->byte, status.MPI_SOURCE, COMM_TAG_LIVENESS, m->mpi,
                 MPI_STATUS_IGNORE);
    m->heard[status.MPI_SOURCE] = true;
    return true;
}

static int n_heard(const struct comm_mpi *m)
{
    int n = 0;
    for (int r = 0; r < m->comm.n_ranks; r++)
        n += m->heard[r];
    return n;
}

int comm_mpi_liveness_check(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    /* Drop this rank's held lines: the missing rank is the cause. */
    err_release(false);
    m->heard[c->rank] = true;
    for (int r = 0; r < c->n_ranks; r++) {
        MPI_Request req;
        if (r != c->rank &&
            mpilib->Isend(NULL, 0, mpilib->byte, r, COMM_TAG_LIVENESS, m->mpi, &req) == MPI_SUCCESS)
            mpilib->Request_free(&req);
    }
    for (struct deadline d = deadline_in(clock_s(), COMM_LIVENESS_S);
         !deadline_passed(&d, clock_s()) && n_heard(m) < c->n_ranks;)
        if (!comm_mpi_liveness_poll(c))
            nap();
    bool lowest = true;
    for (int r = 0; r < c->rank; r++)
        lowest = lowest && !m->heard[r];
    if (lowest)
        comm_liveness_report(c, m->heard, -ETIMEDOUT);
    for (struct deadline d = deadline_in(clock_s(), LAST_WORD_S);
         !lowest && !deadline_passed(&d, clock_s());)
        nap();
    comm_abort(c, -ETIMEDOUT);
}
