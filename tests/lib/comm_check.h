/* comm_check.h : checks collectives, messages, votes and counters of comm/ on ranks of any kind. */
#ifndef COMM_CHECK_H
#define COMM_CHECK_H
#include "check.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include "comm/comm.h"
#include <stdlib.h>
#include <string.h>

enum { COMM_CHECK_MAX = 8 };

static inline uint8_t byte_of(int from, int to, size_t i)
{
    return (uint8_t)(i * 7 + i / 251 + (size_t)from * 31 + (size_t)to * 17);
}

static inline void test_bcast(struct comm *c, size_t bytes)
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

static inline void test_max(struct comm *c, size_t n)
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

/* Only additions in rank order give the expected bits. */
static inline double term(int rank, size_t i)
{
    return 1.0 / (double)(rank + 3) + (double)i * 0.7 / (double)(rank + 1);
}

static inline void test_sum(struct comm *c, size_t n)
{
    double x[3000];
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

static inline void test_gather_pass(struct comm *c, size_t bytes)
{
    uint8_t mine[500], all[COMM_CHECK_MAX * 500];
    for (size_t i = 0; i < bytes; i++)
        mine[i] = byte_of(c->rank, 0, i);
    CHECK(comm_gather(c, mine, bytes, c->rank == 0 ? all : NULL) == 0, "gather");
    for (int r = 0; r < c->n_ranks && c->rank == 0; r++)
        for (size_t i = 0; i < bytes; i++)
            CHECK(all[(size_t)r * bytes + i] == byte_of(r, 0, i), "byte %zu of rank %d", i, r);
    memset(mine, 0, sizeof mine);
    for (int r = 1; r < c->n_ranks; r++)
        if (c->rank == 0 || c->rank == r)
            CHECK(comm_pass(c, 0, r, c->rank ? mine : all + (size_t)r * bytes, bytes) == 0, "pass");
    for (size_t i = 0; i < bytes && c->rank > 0; i++)
        CHECK(mine[i] == byte_of(c->rank, 0, i), "byte %zu", i);
}

static inline void test_all_gather(struct comm *c, size_t bytes)
{
    uint8_t mine[500] = {0}, all[COMM_CHECK_MAX * 500];
    const uint8_t *parts[COMM_CHECK_MAX];
    const struct comm_count before = comm_counted(c);
    uint64_t rounds = 0;
    for (size_t i = 0; i < bytes; i++)
        mine[i] = byte_of(c->rank, 3, i);
    CHECK(comm_all_gather(c, mine, bytes, all, parts) == 0, "all-gather");
    for (int r = 0; r < c->n_ranks; r++)
        for (size_t i = 0; i < bytes; i++)
            CHECK(parts[r][i] == byte_of(r, 3, i), "byte %zu of rank %d", i, r);
    for (int have = 1; have < c->n_ranks; have *= 2)
        rounds++;
    const struct comm_count after = comm_counted(c);
    CHECK(after.rounds - before.rounds == rounds &&
              after.sent_bytes - before.sent_bytes == (uint64_t)(c->n_ranks - 1) * bytes,
          "%d rounds", (int)(after.rounds - before.rounds));
}

/* The chunks are so small that the request table must grow. */
static inline void test_messages(struct comm *c)
{
    enum { BYTES = 20011 };
    const int p = c->n_ranks;
    uint8_t *out = malloc((size_t)p * BYTES), *in = malloc((size_t)p * BYTES);
    const struct comm_count before = comm_counted(c);
    const size_t chunk = c->chunk_bytes;
    c->chunk_bytes = 100;
    for (int r = 0; r < p; r++) {
        uint8_t *to = out + (size_t)r * BYTES;
        for (size_t i = 0; i < BYTES; i++)
            to[i] = byte_of(c->rank, r, i);
        if (r == c->rank)
            continue;
        CHECK(comm_recv(c, r, in + (size_t)r * BYTES, BYTES) == 0 &&
                  comm_send(c, r, to, BYTES) == 0,
              "rank %d", r);
        CHECK(comm_recv(c, r, NULL, 0) == 0 && comm_send(c, r, NULL, 0) == 0, "nothing to rank %d",
              r);
    }
    CHECK(comm_round(c) == 0, "wait");
    c->chunk_bytes = chunk;
    for (int r = 0; r < p; r++)
        for (size_t i = 0; i < BYTES && r != c->rank; i++)
            CHECK(in[(size_t)r * BYTES + i] == byte_of(r, c->rank, i), "byte %zu from %d", i, r);
    CHECK(comm_counted(c).rounds == before.rounds + 1, "one round");
    CHECK(comm_counted(c).sent_bytes == before.sent_bytes + (uint64_t)(p - 1) * BYTES, "bytes");
    free(out), free(in);
}

/* A collective must wait for messages in flight. */
static inline void test_under_way(struct comm *c)
{
    if (c->n_ranks == 1)
        return;
    const int right = (c->rank + 1) % c->n_ranks, left = (c->rank + c->n_ranks - 1) % c->n_ranks;
    for (int kind = 0; kind < 2; kind++) {
        int8_t from = -1, max = (int8_t)c->rank, mine = max;
        CHECK(comm_recv(c, left, &from, 1) == 0 && comm_send(c, right, &mine, 1) == 0, "post");
        CHECK((kind ? comm_max_i8(c, &max, 1) : comm_barrier(c)) == 0, "collective");
        CHECK(from == left && c->n_req == 0, "rank %d has %d of rank %d", c->rank, from, left);
    }
}

static inline void test_counts(struct comm *c)
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
}

static inline bool gives_up(int rank, int step)
{
    return step % 3 != 2 && (rank + step) % 3 == 0;
}

/* Some ranks abandon the card path in some steps; their notice must not reach the next step. */
static inline void test_votes(struct comm *c)
{
    for (int step = 0; step < 9; step++) {
        bool others = false;
        uint64_t bits[3] = {(uint64_t)1 << c->rank, 0, step == c->rank}, want = 0;
        for (int r = 0; r < c->n_ranks; r++)
            others = others || (r != c->rank && gives_up(r, step)), want |= (uint64_t)1 << r;
        if (gives_up(c->rank, step))
            CHECK(comm_abandon(c) == 0, "step %d", step);
        while (others && !comm_abandoned(c))
            ;
        CHECK(comm_vote(c, bits, 3) == 0, "step %d", step);
        CHECK(bits[0] == want && bits[1] == 0 && bits[2] == (step < c->n_ranks), "step %d", step);
        CHECK(comm_barrier(c) == 0 && !comm_abandoned(c) && comm_barrier(c) == 0,
              "step %d: not forgotten", step);
    }
}

static inline void test_nodes(struct comm *c)
{
    int32_t lowest[COMM_CHECK_MAX];
    int process = 0;
    for (int r = 0; r < comm_lowest_here(c, c->rank); r++)
        process += comm_lowest_here(c, r) == r;
    CHECK(comm_rank_on_node(c) == process && comm_nodes(c, lowest) == 0, "rank %d", c->rank);
    for (int r = 0; r < c->n_ranks; r++)
        CHECK(lowest[r] == 0, "rank %d: %d", r, lowest[r]);
}

static inline void check_comm(struct comm *c)
{
    const size_t chunk = c->chunk_bytes;
    for (int small = 0; small < 2; small++) {
        c->chunk_bytes = small ? 64 : chunk;
        for (size_t n = 0; n <= 500; n = 3 * n + 1)
            test_bcast(c, n), test_max(c, n), test_gather_pass(c, n), test_all_gather(c, n);
    }
    c->chunk_bytes = chunk;
    test_bcast(c, 2000);
    for (size_t n = 0; n <= 3000; n = 3 * n + 1)
        test_sum(c, n);
    test_messages(c);
    test_under_way(c);
    test_counts(c);
    test_votes(c);
    test_nodes(c);
}

#endif
