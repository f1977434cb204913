/* comm_mpi_some.c : the wait for any of MPI's messages. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"

/* Takes what has come. Returns how many messages that were, or -EIO. */
static int take(struct comm_mpi *m)
{
    for (int n = 0;; n++) {
        int done = 0, which = MPI_UNDEFINED;
        TRY(comm_mpi_check(
            MPI_Testany((int)m->comm.n_req, m->req, &which, &done, MPI_STATUS_IGNORE),
            "exchange messages"));
        if (!done || which == MPI_UNDEFINED)
            return n;
    }
}

/* What has come, while nothing has failed. A failure ends all messages, so that their buffers are
 * the caller's again. */
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
        (void)comm_look(c, &watch); /* MPI's does not return when it fails */
        comm_rest_some(watch.waited_s);
    }
    c->count.wait_s += clock_s() - watch.start_s;
    return n;
}
