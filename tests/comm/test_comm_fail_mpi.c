/* test_comm_fail_mpi.c : tests that all ranks agree on an error and print one line:
 * different data, failing ranks, MPI errors. */
/* RANKS: 1 2 4 6 LONG: 3 8 */
/* For test_deadline.sh: with `silent HOW` the last rank never answers; with `stopped HOW` the
 * others are stopped. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "comm/mpi/comm_mpi.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { MAX_RANKS = 8 };

static void nap(double s)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)},
        NULL);
}

static unsigned mask_step(const struct comm *c)
{
    return c->n_ranks > 4 ? 7 : 1;
}

static void check_equal_once(struct comm *c, unsigned others, bool longer, size_t bytes)
{
    static uint8_t buf[20001];
    struct capture cap;
    memset(buf, 5, sizeof buf);
    const bool odd = others >> c->rank & 1;
    if (odd && !longer)
        buf[bytes - 1] = 6;
    capture_begin(&cap);
    int rc = comm_check_equal(c, buf, odd && longer ? bytes + 1 : bytes, "the thing");
    capture_end(&cap);
    unsigned wrong = others & 1 ? ~others : others;
    wrong &= (1u << c->n_ranks) - 1;
    int first = 0;
    while (wrong && !(wrong >> first & 1))
        first++;
    char want[200] = "";
    if (wrong && c->rank == 0)
        snprintf(
            want, sizeof want,
            "narrowcast: the thing differs between ranks: rank %d and rank 0 have different ones\n",
            first);
    CHECK(rc == (wrong ? -EPROTO : 0), "others %x: %d", others, rc);
    CHECK(strcmp(cap.text, want) == 0, "others %x: said \"%s\", not \"%s\"", others, cap.text,
          want);
}

static void test_check_equal(struct comm *c)
{
    for (unsigned others = 0; others < 1u << c->n_ranks; others += mask_step(c)) {
        check_equal_once(c, others, false, 1);
        check_equal_once(c, others, false, 20000);
        check_equal_once(c, others, true, 20000);
    }
}

static void agree_once(struct comm *c, unsigned failing)
{
    struct capture cap;
    int lowest = 0;
    while (lowest < c->n_ranks && !(failing >> lowest & 1))
        lowest++;
    const bool any = lowest < c->n_ranks;
    capture_begin(&cap);
    err_hold();
    int rc = failing >> c->rank & 1 ? ERR(-10 - c->rank, "rank %d", c->rank) : 3;
    if (rc == 3)
        err_warn("of rank %d", c->rank);
    rc = comm_agree(c, rc);
    capture_end(&cap);
    char want[100] = "";
    if (any && c->rank == lowest)
        snprintf(want, sizeof want, "narrowcast: rank %d\n", lowest);
    if (!any && c->rank == 0)
        snprintf(want, sizeof want, "narrowcast: warning: of rank 0\n");
    CHECK(rc == (any ? -10 - lowest : 0), "failing %x: %d", failing, rc);
    CHECK(strcmp(cap.text, want) == 0, "failing %x: said \"%s\", not \"%s\"", failing, cap.text,
          want);
}

static void test_mpi_error(struct comm *c)
{
    struct capture cap;
    capture_begin(&cap);
    int rc = comm_send(c, c->n_ranks, "x", 1);
    capture_end(&cap);
    CHECK(rc == -EIO && capture_lines(cap.text) == 1 &&
              strncmp(cap.text, "narrowcast: cannot send: ", 25) == 0,
          "%d \"%s\"", rc, cap.text);
    CHECK(comm_barrier(c) == 0, "the job goes on");
}

static void test_mpi_error_in_wait(struct comm *c)
{
    char long_one[64] = "", short_one[8];
    struct capture cap;
    int rc = 0;
    capture_begin(&cap);
    if (c->rank == 0)
        rc = comm_send(c, 1, long_one, sizeof long_one);
    if (c->rank == 1)
        rc = comm_recv(c, 0, short_one, sizeof short_one);
    if (rc == 0)
        rc = comm_wait(c);
    capture_end(&cap);
    CHECK(rc == (c->rank == 1 ? -EIO : 0), "%d", rc);
    const char *start = "narrowcast: cannot exchange messages: ", *why = cap.text + strlen(start);
    CHECK(c->rank != 1 || (strncmp(cap.text, start, strlen(start)) == 0 &&
                           (strncmp(why, "MPI_ERR_TRUNCATE", 16) == 0 ||
                            strncmp(why, "Message truncated", 17) == 0)), /* MPICH */
          "\"%s\"", cap.text);
}

/* After an error of comm_some() MPI writes into no buffer. */
static void test_mpi_error_in_some(struct comm *c)
{
    char from[64] = "x", to[2][8] = {"", ""};
    struct comm_batch batches[2] = {{.n_places = 1}, {.at = 1, .n_places = 1}};
    struct capture cap;
    int rc = comm_batches_begin(c, 2);
    capture_begin(&cap);
    for (int i = 0; i < 2 && rc == 0 && c->rank < 2; i++)
        rc = c->rank == 0
                 ? comm_batch_send(c, &batches[i], COMM_TAG_DATA, 1, from, i == 0 ? sizeof from : 1)
                 : comm_batch_recv(c, &batches[i], COMM_TAG_DATA, 0, to[i], sizeof to[i]);
    while (rc >= 0 && c->rank == 1 &&
           !(comm_batch_done(c, &batches[0]) && comm_batch_done(c, &batches[1])))
        rc = comm_some(c, true);
    capture_end(&cap);
    CHECK(rc == (c->rank == 1 ? -EIO : 0), "%d", rc);
    CHECK(c->rank != 1 || (comm_batch_done(c, &batches[1]) && to[1][0] == 'x'),
          "a receive is still under way");
    CHECK(comm_wait(c) == 0, "the job goes on");
}
static int test_all(void)
{
    struct comm *c = NULL;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH asks this one in waits */
    if (comm_open(60, &c) < 0)
        return 1;
    CHECK(c->n_ranks <= MAX_RANKS, "%d ranks", c->n_ranks);
    test_check_equal(c);
    for (unsigned failing = 0; failing < 1u << c->n_ranks; failing += mask_step(c))
        agree_once(c, failing);
    test_mpi_error(c);
    if (c->n_ranks > 1)
        test_mpi_error_in_wait(c), test_mpi_error_in_some(c);
    comm_close(c);
    MPI_Finalize();
    DONE();
}

/* The last rank (with `two` also the one before) sleeps; the others wait as `how` says. */
static int silent(const char *how)
{
    struct comm *c;
    char buf[8] = "";
    if (comm_open(1.5, &c) < 0)
        return 1;
    const int n = c->n_ranks, first_silent = strcmp(how, "two") == 0 ? n - 2 : n - 1;
    (void)comm_barrier(c);
    if (strcmp(how, "mismatch") == 0) { /* no rank sleeps, but they wait for different things */
        if (c->rank > 0)
            (void)comm_recv(c, (c->rank + 1) % n, buf, 1);
        (void)(c->rank > 0 ? comm_wait(c) : comm_barrier(c));
    } else if (c->rank >= first_silent) {
        nap(60);
    } else if (strcmp(how, "ring") == 0) {
        (void)(comm_recv(c, (c->rank + n - 1) % n, buf, 1), comm_wait(c));
    } else if (strcmp(how, "held") == 0) { /* an error is held while ranks agree */
        err_hold();
        (void)comm_agree(c, ERR(-EINVAL, "held line"));
    } else if (strcmp(how, "machines") == 0) {
        (void)comm_rank_on_node(c);
    } else {
        nap(c->rank == 0 ? 1 : 0); /* deadlines need not expire together */
        (void)comm_barrier(c);
    }
    return 0;
}

/* The job goes on after the waiting ranks are stopped for longer than the deadline. */
static int stopped(const char *how)
{
    enum { DEADLINE_S = 4, STOPPED_S = 5 };
    struct comm *c;
    pid_t mine = getpid(), pids[MAX_RANKS];
    uint64_t bit = 1;
    if (comm_open(DEADLINE_S, &c) < 0 || comm_gather(c, &mine, sizeof mine, pids) < 0 ||
        comm_bcast(c, pids, sizeof pids, 0) < 0)
        return 1;
    const int last = c->n_ranks - 1;
    bit <<= c->rank;
    if (c->rank == last) {
        nap(0.5);
        for (int r = 0; r < last; r++)
            kill(pids[r], SIGSTOP);
        nap(STOPPED_S);
        for (int r = 0; r < last; r++)
            kill(pids[r], SIGCONT);
    }
    if (strcmp(how, "vote") == 0) {
        CHECK(comm_vote(c, &bit, 1) == 0 && bit == (2ull << last) - 1, "the vote says %llx",
              (unsigned long long)bit);
    } else {
        char buf[1] = "";
        struct comm_batch batches[MAX_RANKS];
        CHECK(comm_batches_begin(c, MAX_RANKS) == 0, "lots");
        for (int r = 0; r < last; r++) {
            batches[r] = (struct comm_batch){.at = (size_t)r, .n_places = 1};
            if (c->rank == last)
                CHECK(comm_batch_send(c, &batches[r], COMM_TAG_DATA, r, "x", 1) == 0, "send");
            else if (c->rank == r)
                CHECK(comm_batch_recv(c, &batches[r], COMM_TAG_DATA, last, buf, 1) == 0 &&
                          comm_some(c, true) == 1 && *buf == 'x',
                      "rank %d has '%c'", r, *buf);
        }
        CHECK(comm_wait(c) == 0, "the end of it");
    }
    comm_close(c);
    DONE();
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "stopped") == 0)
        return stopped(argv[2]);
    if (argc > 2 && strcmp(argv[1], "silent") == 0)
        return silent(argv[2]);
    return test_all();
}
