/* test_comm_mpi.c : collectives, messages, agreement and counters of comm/. */
/* RANKS: 1 2 3 4 6 8 */
/* With the arguments `silent HOW` it is a job in which the last rank never answers, with `stopped
 * HOW` one whose other ranks are stopped: for test_deadline.sh. */
#include "base/clock.h"
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "comm/algo_step.h"
#include "comm/comm_mpi.h"
#include <signal.h>
#include <string.h>
#include <time.h>

enum { MOST = 8 }; /* ranks */

/* Byte i of what rank `from` tells rank `to`. */
static uint8_t byte_of(int from, int to, size_t i)
{
    return (uint8_t)(i * 7 + i / 251 + (size_t)from * 31 + (size_t)to * 17);
}

static void nap(double s)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)},
        NULL);
}

static void test_bcast(struct comm *c, size_t bytes)
{
    uint8_t buf[2000];
    for (int root = 0; root < c->n_ranks; root++) {
        for (size_t i = 0; i < bytes; i++)
            buf[i] = c->rank == root ? byte_of(root, 0, i) : 0;
        CHECK(comm_bcast(c, buf, bytes, root) == 0, "root %d", root);
        for (size_t i = 0; i < bytes; i++)
            CHECK(buf[i] == byte_of(root, 0, i), "byte %zu of %zu from %d", i, bytes, root);
    }
}

static void test_max(struct comm *c, size_t n)
{
    int8_t x[1000];
    for (size_t i = 0; i < n; i++)
        x[i] = (int8_t)(byte_of(c->rank, 0, i) - 128);
    CHECK(comm_max_i8(c, x, n) == 0, "max");
    for (size_t i = 0; i < n; i++) {
        int max = -128;
        for (int r = 0; r < c->n_ranks; r++) {
            int8_t v = (int8_t)(byte_of(r, 0, i) - 128);
            max = v > max ? v : max;
        }
        CHECK(x[i] == max, "element %zu: %d, not %d", i, x[i], max);
    }
}

/* Terms whose sum depends on the order, in one element or another: only rank order gives these
 * bits. */
static double term(int rank, size_t i)
{
    return 1.0 / (double)(rank + 3) + (double)i * 0.7 / (double)(rank + 1);
}

static void test_sum(struct comm *c, size_t n)
{
    static double x[3000];
    for (size_t i = 0; i < n; i++)
        x[i] = term(c->rank, i);
    CHECK(comm_sum_f64(c, x, n) == 0, "sum");
    for (size_t i = 0; i < n; i++) {
        double want = term(0, i);
        for (int r = 1; r < c->n_ranks; r++)
            want += term(r, i);
        CHECK(memcmp(&want, &x[i], sizeof want) == 0, "element %zu of %zu: %.17g, not %.17g", i, n,
              x[i], want);
    }
}

static void test_gather_scatter(struct comm *c, size_t bytes)
{
    static uint8_t mine[500], all[MOST * 500];
    for (size_t i = 0; i < bytes; i++)
        mine[i] = byte_of(c->rank, 0, i);
    CHECK(comm_gather(c, mine, bytes, c->rank == 0 ? all : NULL) == 0, "gather");
    for (int r = 0; r < c->n_ranks && c->rank == 0; r++)
        for (size_t i = 0; i < bytes; i++)
            CHECK(all[(size_t)r * bytes + i] == byte_of(r, 0, i), "byte %zu of rank %d", i, r);
    memset(mine, 0, sizeof mine);
    CHECK(comm_scatter(c, c->rank == 0 ? all : NULL, bytes, mine) == 0, "scatter");
    for (size_t i = 0; i < bytes; i++)
        CHECK(mine[i] == byte_of(c->rank, 0, i), "byte %zu", i);
}

/* Everybody to everybody, in chunks so small that the table of requests has to grow. */
static void test_messages(struct comm *c)
{
    enum { BYTES = 20011 };
    static uint8_t out[MOST][BYTES], in[MOST][BYTES];
    const struct comm_count before = comm_counted(c);
    const size_t chunk = c->chunk_bytes;
    c->chunk_bytes = 100;
    for (int r = 0; r < c->n_ranks; r++) {
        for (size_t i = 0; i < BYTES; i++)
            out[r][i] = byte_of(c->rank, r, i);
        if (r == c->rank)
            continue;
        CHECK(comm_recv(c, r, in[r], BYTES) == 0 && comm_send(c, r, out[r], BYTES) == 0, "rank %d",
              r);
        CHECK(comm_recv(c, r, NULL, 0) == 0 && comm_send(c, r, NULL, 0) == 0, "nothing to rank %d",
              r);
    }
    CHECK(comm_round(c) == 0, "wait");
    c->chunk_bytes = chunk;
    for (int r = 0; r < c->n_ranks; r++)
        for (size_t i = 0; i < BYTES && r != c->rank; i++)
            CHECK(in[r][i] == byte_of(r, c->rank, i), "byte %zu from %d", i, r);
    CHECK(comm_counted(c).rounds == before.rounds + 1, "one round");
    CHECK(comm_counted(c).sent_bytes == before.sent_bytes + (uint64_t)(c->n_ranks - 1) * BYTES,
          "bytes");
}

static void test_counts(struct comm *c)
{
    char buf[100] = "";
    int8_t e[10] = {0};
    double x[10] = {0};
    struct comm_count a = comm_counted(c), b;
    (void)(comm_bcast(c, buf, 100, 0), comm_max_i8(c, e, 10), comm_sum_f64(c, x, 10),
           comm_barrier(c));
    b = comm_counted(c);
    uint64_t want = c->n_ranks == 1 ? 0 : (c->rank == 0 ? 100 : 0) + 10 + 80;
    CHECK(b.sent_bytes - a.sent_bytes == want, "%llu bytes",
          (unsigned long long)(b.sent_bytes - a.sent_bytes));
    CHECK(b.rounds == a.rounds, "collectives are no rounds");
    nap(c->rank == 0 ? 0.3 : 0);
    (void)comm_barrier(c);
    CHECK(c->rank == 0 || comm_counted(c).wait_s - b.wait_s > 0.1, "waited %g s",
          comm_counted(c).wait_s - b.wait_s);
}

/* From one set of ranks to the next: every set of up to 4 ranks, some of more. */
static unsigned mask_step(const struct comm *c)
{
    return c->n_ranks > 4 ? 7 : 1;
}

/* One call of comm_check_equal in which the ranks of a mask hold something else (or something
 * longer). */
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
    unsigned wrong = others & 1 ? ~others : others; /* those that differ from rank 0 */
    wrong &= (1u << c->n_ranks) - 1;
    int first = 0;
    while (wrong && !(wrong >> first & 1))
        first++;
    char want[200] = "";
    if (wrong && c->rank == 0)
        snprintf(
            want, sizeof want,
            "narrowcast: the thing differs between ranks: rank %d does not have what rank 0 has\n",
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

/* Ranks of a mask fail, each with a line and a code of its own. */
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

/* A message longer than its receive: an error that only the wait finds. */
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
    CHECK(c->rank != 1 ||
              strncmp(cap.text, "narrowcast: cannot exchange messages: MPI_ERR_TRUNCATE", 54) == 0,
          "\"%s\"", cap.text);
}

/* The same while another message is under way: when comm_some() has failed, MPI writes into no
 * buffer any more. */
static void test_mpi_error_in_some(struct comm *c)
{
    char from[64] = "x", to[2][8] = {"", ""};
    struct comm_lot lots[2] = {{.n_places = 1}, {.at = 1, .n_places = 1}};
    struct capture cap;
    int rc = comm_lots_begin(c, 2);
    capture_begin(&cap);
    /* the first one is too long for its buffer */
    for (int i = 0; i < 2 && rc == 0 && c->rank < 2; i++)
        rc = c->rank == 0
                 ? comm_lot_send(c, &lots[i], COMM_TAG_DATA, 1, from, i == 0 ? sizeof from : 1)
                 : comm_lot_recv(c, &lots[i], COMM_TAG_DATA, 0, to[i], sizeof to[i]);
    while (rc >= 0 && c->rank == 1 && !(comm_lot_done(c, &lots[0]) && comm_lot_done(c, &lots[1])))
        rc = comm_some(c, true);
    capture_end(&cap);
    CHECK(rc == (c->rank == 1 ? -EIO : 0), "%d", rc);
    CHECK(c->rank != 1 || (comm_lot_done(c, &lots[1]) && to[1][0] == 'x'),
          "a receive is still under way");
    CHECK(comm_wait(c) == 0, "the job goes on");
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

static int test_all(void)
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
    CHECK(comm_rank(c) >= 0 && comm_rank(c) < comm_n_ranks(c) && comm_n_ranks(c) <= MOST, "rank %d",
          comm_rank(c));
    const size_t chunk = c->chunk_bytes;
    for (int small = 0; small < 2; small++) {
        c->chunk_bytes = small ? 64 : chunk;
        for (size_t n = 0; n <= 500; n = 3 * n + 1)
            test_bcast(c, n), test_max(c, n), test_gather_scatter(c, n);
    }
    c->chunk_bytes = chunk;
    test_bcast(c, 2000);
    for (size_t n = 0; n <= 3000; n = 3 * n + 1)
        test_sum(c, n);
    test_messages(c);
    test_counts(c);
    test_check_equal(c);
    for (unsigned failing = 0; failing < 1u << c->n_ranks; failing += mask_step(c))
        agree_once(c, failing);
    test_mpi_error(c);
    if (c->n_ranks > 1)
        test_mpi_error_in_wait(c), test_mpi_error_in_some(c);
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

/* The last rank (with `two`, the one before as well) sleeps; the others wait for it in the way that
 * `how` says. */
static int silent(const char *how)
{
    struct comm *c;
    char buf[8] = "";
    if (comm_open(1.5, &c) < 0)
        return 1;
    const int n = c->n_ranks, first_silent = strcmp(how, "two") == 0 ? n - 2 : n - 1;
    (void)comm_barrier(c);
    if (strcmp(how, "mismatch") == 0) { /* nobody sleeps, but ranks wait for different things */
        if (c->rank > 0)
            (void)comm_recv(c, (c->rank + 1) % n, buf, 1);
        (void)(c->rank > 0 ? comm_wait(c) : comm_barrier(c));
    } else if (c->rank >= first_silent) {
        nap(60);
    } else if (strcmp(how, "ring") == 0) { /* every rank waits for its neighbour */
        (void)(comm_recv(c, (c->rank + n - 1) % n, buf, 1), comm_wait(c));
    } else if (strcmp(how, "held") == 0) { /* an error is held back while ranks agree */
        err_hold();
        (void)comm_agree(c, ERR(-EINVAL, "held line"));
    } else {
        nap(c->rank == 0 ? 1 : 0); /* deadlines need not pass together */
        (void)comm_barrier(c);
    }
    return 0; /* not reached: the deadline ends the job */
}

/* All ranks but the last are stopped while they wait for it, for longer than the deadline: the job
 * goes on. */
static int stopped(const char *how)
{
    enum { DEADLINE_S = 4, STOPPED_S = 5 };
    struct comm *c;
    pid_t mine = getpid(), pids[MOST];
    uint64_t bit = 1;
    if (comm_open(DEADLINE_S, &c) < 0 || comm_gather(c, &mine, sizeof mine, pids) < 0 ||
        comm_bcast(c, pids, sizeof pids, 0) < 0)
        return 1;
    const int last = c->n_ranks - 1;
    bit <<= c->rank;
    if (c->rank == last) {
        nap(0.5); /* so that they wait */
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
        struct comm_lot lots[MOST];
        CHECK(comm_lots_begin(c, MOST) == 0, "lots");
        for (int r = 0; r < last; r++) {
            lots[r] = (struct comm_lot){.at = (size_t)r, .n_places = 1};
            if (c->rank == last)
                CHECK(comm_lot_send(c, &lots[r], COMM_TAG_DATA, r, "x", 1) == 0, "send");
            else if (c->rank == r)
                CHECK(comm_lot_recv(c, &lots[r], COMM_TAG_DATA, last, buf, 1) == 0 &&
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
