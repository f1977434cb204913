/* comm_mpi_some.c : the wait for any of MPI's messages. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <sched.h>
#include <time.h>

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
        comm_look(c, &watch);
        pause_between_polls(watch.waited_s);
    }
    c->count.wait_s += clock_s() - watch.start_s;
    return n;
}
