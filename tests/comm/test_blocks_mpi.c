/* test_blocks_mpi.c : virtual ranks in several processes pass the tests of comm/ and of
 * algorithms. */
/* RANKS: 1 2 3 4 */
#include "algo_check.h"
#include "capture.h"
#include "comm/virtual/comm_virtual.h"
#include "comm_check.h"

static struct comm *processes;

static void check_place(struct comm *c)
{
    const int n = processes->n_ranks;
    int n_here = 0, process = 0;
    while (c->n_ranks * (process + 1) / n <= c->rank)
        process++;
    for (int r = 0; r < c->n_ranks; r++)
        n_here += comm_lowest_here(c, r) == comm_lowest_here(c, c->rank);
    CHECK(process == processes->rank, "rank %d of %d in %d of %d", c->rank, c->n_ranks,
          processes->rank, n);
    CHECK(comm_lowest_here(c, c->rank) == c->n_ranks * process / n, "rank %d: lowest %d", c->rank,
          comm_lowest_here(c, c->rank));
    CHECK(comm_n_here(c) == n_here && comm_n_processes(c) == n, "%d, %d", comm_n_here(c),
          comm_n_processes(c));
}

static int as_real(struct comm *c, void *ctx)
{
    (void)ctx;
    check_place(c);
    check_comm(c);
    return 0;
}

static void check_ranks(int n_ranks, bool algos)
{
    struct comm_virtual *v;
    struct algo_world world;
    if (comm_virtual_open(n_ranks, processes, &v) < 0)
        exit(1);
    CHECK(comm_virtual_run(v, as_real, NULL) == 0, "%d ranks", n_ranks);
    world_open(&world, true, n_ranks, 5000);
    CHECK(!algos || comm_virtual_run(v, check_algorithms, &world) == 0, "%d ranks", n_ranks);
    world_close(&world);
    const uint64_t sent = comm_counted(processes).sent_bytes;
    CHECK(sent > 0 || processes->n_ranks == 1, "nothing travels");
    comm_virtual_close(v);
    CHECK(comm_barrier(processes) == 0, "the processes go on");
}

static int flood(struct comm *c, void *ctx)
{
    enum { N = 300 };
    static uint16_t in[COMM_CHECK_MAX][COMM_CHECK_MAX][N], out[COMM_CHECK_MAX][N];
    (void)ctx;
    for (int i = 0; i < N; i++)
        out[c->rank][i] = (uint16_t)(c->rank * N + i);
    for (int i = 0; i < N; i++)
        for (int r = 0; r < c->n_ranks; r++)
            if (r != c->rank) {
                CHECK(comm_recv(c, r, &in[c->rank][r][i], 2) == 0, "receive");
                CHECK(comm_send(c, r, &out[c->rank][i], 2) == 0, "send");
            }
    CHECK(comm_wait(c) == 0, "wait");
    for (int i = 0; i < N; i++)
        for (int r = 0; r < c->n_ranks; r++)
            CHECK(r == c->rank || in[c->rank][r][i] == (uint16_t)(r * N + i), "%d of %d", i, r);
    return 0;
}

static uint8_t content(int round, int from, int to, int tag, size_t i)
{
    return (uint8_t)(13 * round + 31 * from + 7 * to + 101 * tag + (int)i);
}

/* Sends two tags, short and long, and receives them in the other order. Odd ranks post receives
 * late, so messages come early. */
static int two_tags(struct comm *c, void *ctx)
{
    enum { LONG = 9000 };
    static const int tags[] = {COMM_TAG_DATA, COMM_TAG_SUM};
    static uint8_t out[COMM_CHECK_MAX][COMM_CHECK_MAX][2][LONG],
        in[COMM_CHECK_MAX][COMM_CHECK_MAX][2][LONG];
    struct comm_batch batch = {0};
    const int me = c->rank;
    (void)ctx;
    for (int round = 0; round < 8; round++) {
        const size_t bytes[] = {round % 2 ? LONG : 1, round % 3 ? 17 : LONG};
        const size_t places = 4 * (size_t)c->n_ranks;
        memset(in[me], 0xee, sizeof in[me]);
        CHECK(comm_batches_begin(c, places) == 0, "begin");
        batch = (struct comm_batch){.n_places = places};
        for (int r = 0; r < c->n_ranks; r++)
            for (int t = 0; t < 2 && r != me; t++) {
                for (size_t i = 0; i < bytes[t]; i++)
                    out[me][r][t][i] = content(round, me, r, tags[t], i);
                CHECK(comm_batch_send(c, &batch, tags[t], r, out[me][r][t], bytes[t]) == 0, "send");
            }
        for (int i = 0; i < 20 * (me % 2); i++)
            comm_yield(c);
        for (int r = 0; r < c->n_ranks; r++)
            for (int t = 1; t >= 0 && r != me; t--)
                CHECK(comm_batch_recv(c, &batch, tags[t], r, in[me][r][t], bytes[t]) == 0, "recv");
        CHECK(comm_wait(c) == 0, "wait");
        for (int r = 0; r < c->n_ranks; r++)
            for (int t = 0; t < 2 && r != me; t++)
                for (size_t i = 0; i < bytes[t]; i++)
                    if (in[me][r][t][i] != content(round, r, me, tags[t], i)) {
                        CHECK(false, "round %d, %d to %d, tag %d, byte %d", round, r, me, tags[t],
                              (int)i);
                        break;
                    }
    }
    return 0;
}

static void test_orders(void)
{
    struct comm_virtual *v;
    if (comm_virtual_open(6, processes, &v) < 0)
        exit(1);
    CHECK(comm_virtual_run(v, flood, NULL) == 0, "flood");
    CHECK(comm_virtual_run(v, two_tags, NULL) == 0, "two tags");
    comm_virtual_close(v);
}

static void test_too_few(void)
{
    struct comm_virtual *v = NULL;
    struct capture cap;
    capture_begin(&cap);
    const int rc = comm_virtual_open(processes->n_ranks - 1, processes, &v);
    capture_end(&cap);
    CHECK(rc == -EINVAL && !v && strstr(cap.text, "need at least"), "%d \"%s\"", rc, cap.text);
}

int main(void)
{
    if (comm_open(60, &processes) < 0)
        return 1;
    const int p = processes->n_ranks;
    for (int n = p; n <= COMM_CHECK_MAX; n++)
        check_ranks(n, n <= p + 1 || n == 2 * p || n == 7);
    test_orders();
    test_too_few();
    comm_close(processes);
    DONE();
}
