/* test_comm_mpi.c : collectives, messages and counters of comm/ over MPI, and opening a job. */
/* RANKS: 1 2 3 8 LONG: 4 6 */
#include "base/clock.h"
#include "capture.h"
#include "comm/mpi/comm_mpi.h"
#include "comm_check.h"
#include <errno.h>
#include <time.h>

static void nap(double s)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)},
        NULL);
}

static void test_waits(struct comm *c)
{
    nap(c->rank == 0 ? 0.3 : 0);
    const struct comm_count b = comm_counted(c);
    const double start_s = clock_s();
    (void)comm_barrier(c);
    const double took_s = clock_s() - start_s, waited_s = comm_counted(c).wait_s - b.wait_s;
    /* a rank that comes late itself proves nothing */
    CHECK(waited_s <= took_s && (took_s < 0.1 || waited_s > took_s / 2), "waited %g of %g s",
          waited_s, took_s);
}

static void test_parts(void)
{
    const struct algo_range whole = {.at = 40, .n = 8 * 10};
    for (int p = 1; p <= 13; p++) {
        size_t next = whole.at, longest = 0, shortest = SIZE_MAX;
        for (int i = 0; i < p; i++) {
            struct algo_range r = algo_part(whole, 8, p, i);
            CHECK(r.at == next && r.n % 8 == 0, "part %d of %d at %zu", i, p, r.at);
            CHECK(r.n <= (i ? shortest : r.n), "part %d of %d is longer than one before", i, p);
            next += r.n;
            longest = r.n > longest ? r.n : longest;
            shortest = r.n < shortest ? r.n : shortest;
        }
        CHECK(next == whole.at + whole.n && longest - shortest <= 8, "%d parts", p);
    }
}

int main(void)
{
    struct comm *c = NULL;
    struct capture cap;
    MPI_Init(NULL, NULL);
    capture_begin(&cap);
    int rc = comm_open(0, &c);
    capture_end(&cap);
    CHECK(rc == -EINVAL && !c, "no deadline: %d", rc);
    if (comm_open(60, &c) < 0)
        return 1;
    CHECK(capture_lines(cap.text) == (c->rank == 0), "one line on one rank, not \"%s\"", cap.text);
    CHECK(comm_rank(c) >= 0 && comm_rank(c) < comm_n_ranks(c) && comm_n_ranks(c) <= COMM_CHECK_MAX,
          "rank %d", comm_rank(c));
    check_comm(c);
    test_waits(c);
    test_parts();
    comm_close(c);
    comm_close(NULL);
    CHECK(comm_open(60, &c) == 0, "a second job in one process");
    comm_close(c);
    MPI_Finalize();
    capture_begin(&cap);
    rc = comm_open(60, &c);
    capture_end(&cap);
    CHECK(rc == -EINVAL && capture_lines(cap.text) == 1, "after MPI_Finalize: %d", rc);
    DONE();
}
