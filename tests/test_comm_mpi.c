/* test_comm_mpi.c : collectives, messages and counters of comm/, and how a job is opened. */
/* RANKS: 1 2 3 4 6 8 */
#include "capture.h"
#include "check.h"
#include "comm/algo_step.h"
#include "comm/comm_mpi.h"
#include <errno.h>
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
    float y[1000];
    for (size_t i = 0; i < n; i++) {
        x[i] = (int8_t)(byte_of(c->rank, 0, i) - 128);
        y[i] = (float)x[i] * 0x1p-140f;
    }
    CHECK(comm_max_i8(c, x, n) == 0 && comm_max_f32(c, y, n) == 0, "max");
    for (size_t i = 0; i < n; i++) {
        int max = -128;
        for (int r = 0; r < c->n_ranks; r++) {
            int8_t v = (int8_t)(byte_of(r, 0, i) - 128);
            max = v > max ? v : max;
        }
        CHECK(x[i] == max && y[i] == (float)max * 0x1p-140f, "element %zu: %d, not %d", i, x[i],
              max);
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

static void test_gather_pass(struct comm *c, size_t bytes)
{
    static uint8_t mine[500], all[MOST * 500];
    for (size_t i = 0; i < bytes; i++)
        mine[i] = byte_of(c->rank, 0, i);
    CHECK(comm_gather(c, mine, bytes, c->rank == 0 ? all : NULL) == 0, "gather");
    for (int r = 0; r < c->n_ranks && c->rank == 0; r++)
        for (size_t i = 0; i < bytes; i++)
            CHECK(all[(size_t)r * bytes + i] == byte_of(r, 0, i), "byte %zu of rank %d", i, r);
    memset(mine, 0, sizeof mine);
    for (int r = 1; r < c->n_ranks; r++) /* and back */
        if (c->rank == 0 || c->rank == r)
            CHECK(comm_pass(c, 0, r, c->rank ? mine : all + (size_t)r * bytes, bytes) == 0, "pass");
    for (size_t i = 0; i < bytes && c->rank > 0; i++)
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
    float y[10] = {0};
    struct comm_count a = comm_counted(c), b;
    (void)(comm_bcast(c, buf, 100, 0), comm_max_i8(c, e, 10), comm_max_f32(c, y, 10),
           comm_sum_f64(c, x, 10), comm_barrier(c));
    b = comm_counted(c);
    uint64_t want = c->n_ranks == 1 ? 0 : (c->rank == 0 ? 100 : 0) + 10 + 40 + 80;
    CHECK(b.sent_bytes - a.sent_bytes == want, "%llu bytes",
          (unsigned long long)(b.sent_bytes - a.sent_bytes));
    CHECK(b.rounds == a.rounds, "collectives are no rounds");
    nap(c->rank == 0 ? 0.3 : 0);
    (void)comm_barrier(c);
    CHECK(c->rank == 0 || comm_counted(c).wait_s - b.wait_s > 0.1, "waited %g s",
          comm_counted(c).wait_s - b.wait_s);
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
    CHECK(comm_rank(c) >= 0 && comm_rank(c) < comm_n_ranks(c) && comm_n_ranks(c) <= MOST, "rank %d",
          comm_rank(c));
    const size_t chunk = c->chunk_bytes;
    for (int small = 0; small < 2; small++) {
        c->chunk_bytes = small ? 64 : chunk;
        for (size_t n = 0; n <= 500; n = 3 * n + 1)
            test_bcast(c, n), test_max(c, n), test_gather_pass(c, n);
    }
    c->chunk_bytes = chunk;
    test_bcast(c, 2000);
    for (size_t n = 0; n <= 3000; n = 3 * n + 1)
        test_sum(c, n);
    test_messages(c);
    test_counts(c);
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
