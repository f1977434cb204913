/* comm_mpi_roll.c : who is missing: the roll call that ends a job when a wait has passed its deadline.
 *
 * The rank one waits for need not be the one that is gone: in a ring all ranks wait for a
 * neighbour, and one of them for the dead one. So the first rank whose deadline passes sends an
 * empty message to all others; every rank that waits hears it and does the same; who sends none
 * within ROLL_S is missing. The lowest rank that answered says so, once, and ends the job. */
#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/text.h"
#include "comm/comm_mpi.h"
#include <stdio.h>
#include <time.h>

static const double ROLL_S = 2.0; /* how long a rank that waits may take to answer */
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

/* "1, 4, 7", or the first few of many. */
static void list_missing(const struct comm_mpi *m, char *text, size_t size)
{
    struct text list = text_in(text, size);
    for (int r = 0, n = 0; r < m->comm.n_ranks && n <= 16; r++) {
        if (m->heard[r])
            continue;
        if (++n > 16)
            text_add(&list, ", ...");
        else
            text_add(&list, "%s%d", n > 1 ? ", " : "", r);
    }
}

static void say_who_is_missing(const struct comm_mpi *m)
{
    const struct comm *c = &m->comm;
    const int missing = c->n_ranks - n_heard(m);
    char list[192] = "";
    list_missing(m, list, sizeof list);
    if (missing == 0)
        (void)ERR(-ETIMEDOUT,
                  "waited %g s for each other though all %d ranks answer: they take different "
                  "steps, or the "
                  "deadline is too short",
                  c->deadline_s, c->n_ranks);
    else
        (void)ERR(-ETIMEDOUT, "rank%s %s of %d did not answer for %g s", missing > 1 ? "s" : "",
                  list, c->n_ranks, c->deadline_s);
}

void comm_mpi_roll_call(struct comm *c)
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
    for (struct deadline d = deadline_in(clock_s(), ROLL_S);
         !deadline_passed(&d, clock_s()) && n_heard(m) < c->n_ranks;)
        if (!comm_mpi_roll_heard(c))
            nap();
    bool lowest = true;
    for (int r = 0; r < c->rank; r++)
        lowest = lowest && !m->heard[r];
    if (lowest)
        say_who_is_missing(m);
    for (struct deadline d = deadline_in(clock_s(), LAST_WORD_S);
         !lowest && !deadline_passed(&d, clock_s());)
        nap();
    comm_abort(c, -ETIMEDOUT);
}
