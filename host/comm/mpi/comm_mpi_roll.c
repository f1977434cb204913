/* comm_mpi_roll.c : who is missing: the roll call that ends a job when a wait has passed its deadline.
 *
 * The rank one waits for need not be the one that is gone: in a ring all ranks wait for a
 * neighbour, and one of them for the dead one. So the first rank whose deadline passes sends an
 * empty message to all others; every rank that waits hears it and does the same; who sends none
 * within COMM_ROLL_S is missing. The lowest rank that answered says so, once, and ends the job. */
#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"
#include <time.h>

/* how long the others leave the word to the lowest rank, which ends the job */
static const double LAST_WORD_S = 10.0;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool comm_mpi_roll_heard(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, COMM_TAG_ROLL, m->mpi, &there, &status) != MPI_SUCCESS || !there)
        return false;
    MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, COMM_TAG_ROLL, m->mpi, MPI_STATUS_IGNORE);
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

int comm_mpi_roll_call(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    err_release(false); /* the missing rank is the news, not what this one meant to say */
    m->heard[c->rank] = true;
    for (int r = 0; r < c->n_ranks; r++) {
        MPI_Request req;
        if (r != c->rank &&
            MPI_Isend(NULL, 0, MPI_BYTE, r, COMM_TAG_ROLL, m->mpi, &req) == MPI_SUCCESS)
            MPI_Request_free(&req);
    }
    for (struct deadline d = deadline_in(clock_s(), COMM_ROLL_S);
         !deadline_passed(&d, clock_s()) && n_heard(m) < c->n_ranks;)
        if (!comm_mpi_roll_heard(c))
            nap();
    bool lowest = true;
    for (int r = 0; r < c->rank; r++)
        lowest = lowest && !m->heard[r];
    if (lowest)
        comm_roll_say(c, m->heard, -ETIMEDOUT);
    for (struct deadline d = deadline_in(clock_s(), LAST_WORD_S);
         !lowest && !deadline_passed(&d, clock_s());)
        nap();
    comm_abort(c, -ETIMEDOUT);
}
