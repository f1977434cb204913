/* test_nc_blocks_mpi.c : blocks (nc_options.blocks) over MPI give the same bits on any number of
 * processes. One block per process gives those of a job without blocks. */
/* RANKS: 1 3 4 LONG: 2 */
#include "nc_blocks.h"
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>

static int rank, n_ranks;
static char line[512];

static void take_line(void *arg, int level, const char *text)
{
    (void)arg, (void)level;
    snprintf(line, sizeof line, "%s", text);
}

static struct nc *open_on(MPI_Comm comm, struct nc_options o)
{
    struct nc *nc = NULL;
    o.log = take_line;
    CHECK(nc_open_on(&comm, &o, layers, N_LAYERS, &nc) == 0, "open: %s", nc_last_error(NULL));
    if (!nc)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return nc;
}

static void test_same(int blocks, struct nc_options o)
{
    static float whole[BLOCKS_MAX * N_ALL], parts[BLOCKS_MAX * N_ALL];
    struct nc_report report = {0};
    o.blocks = blocks;
    struct nc *one = open_on(MPI_COMM_SELF, o), *all = open_on(MPI_COMM_WORLD, o);
    CHECK(nc_first_block(one) == 0 && nc_n_blocks(one) == blocks, "%d blocks", nc_n_blocks(one));
    CHECK(nc_first_block(all) == blocks * rank / n_ranks, "from block %d", nc_first_block(all));
    CHECK(nc_n_blocks(all) == blocks * (rank + 1) / n_ranks - nc_first_block(all), "%d blocks",
          nc_n_blocks(all));
    CHECK(nc_rank(all) == rank && nc_n_ranks(all) == n_ranks, "rank %d", nc_rank(all));
    for (uint64_t step = 0; step < 3; step++) {
        blocks_step(one, step, step == 1, whole, NULL);
        blocks_step(all, step, step == 2, parts, &report);
        blocks_same(all, whole, parts, o.codec ? o.codec : o.format);
    }
    CHECK(report.fp32_bytes == 4ull * N_ALL * (unsigned)nc_n_blocks(all), "%d bytes of fp32",
          (int)report.fp32_bytes);
    CHECK((report.sent_bytes > 0) == (n_ranks > 1), "%d bytes sent", (int)report.sent_bytes);
    /* The gathered states of all processes equal the state of one, and load there. */
    const size_t mine = nc_state_bytes(all), size = nc_state_bytes(one);
    char *state = malloc(size), *own = malloc(size);
    int counts[4], at[4], n = (int)mine, start = 0;
    CHECK(nc_state_save(all, own) == 0, "save");
    MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < n_ranks; r++)
        at[r] = start, start += counts[r];
    CHECK((size_t)start == size, "%d bytes of state in all processes, %zu in one", start, size);
    MPI_Allgatherv(own, n, MPI_BYTE, state, counts, at, MPI_BYTE, MPI_COMM_WORLD);
    CHECK(nc_state_save(one, own) == 0 && memcmp(own, state, size) == 0, "another state");
    nc_close(one);
    one = open_on(MPI_COMM_SELF, o);
    CHECK(nc_state_load(one, state, size - 1) == -EPROTO, "a state too short was loaded");
    CHECK(nc_state_load(one, state, size) == 0 && nc_step(one) == 3, "load: %s", line);
    blocks_step(one, 3, 0, whole, NULL);
    blocks_step(all, 3, 0, parts, NULL);
    blocks_same(all, whole, parts, "after a load");
    if (nc_n_blocks(all) != blocks) {
        CHECK(nc_state_load(all, state, size) == -EPROTO, "all blocks' state on one process");
        CHECK(rank > 0 || strstr(line, "blocks of this process have"), "said \"%s\"", line);
    }
    free(state);
    free(own);
    nc_close(one);
    nc_close(all);
}

static void test_plain(void)
{
    static float plain[N_ALL], x[N_ALL];
    void *list[N_LAYERS];
    struct nc_options o = {0};
    nc_options_init(&o, sizeof o);
    o.format = "e4m3", o.scale = "aps";
    struct nc *nc = open_on(MPI_COMM_WORLD, o);
    o.blocks = n_ranks;
    struct nc *blocks = open_on(MPI_COMM_WORLD, o);
    CHECK(nc_n_blocks(nc) == 1 && nc_first_block(nc) == rank, "blocks without the option");
    CHECK(nc_n_blocks(blocks) == 1 && nc_first_block(blocks) == rank, "one block per process");
    fill_grads(rank, 0, plain);
    memcpy(x, plain, sizeof x);
    point(plain, sizeof *plain, list);
    CHECK(nc_allreduce(nc, list, NULL) == 0, "without blocks");
    point(x, sizeof *x, list);
    CHECK(nc_allreduce(blocks, list, NULL) == 0, "with blocks");
    CHECK(memcmp(x, plain, sizeof x) == 0, "one block per process: other bits");
    float word = rank == n_ranks - 1 ? 7 : 0;
    CHECK(nc_broadcast(blocks, &word, sizeof word, n_ranks - 1) == 0 && word == 7, "broadcast");
    x[5] = rank == 0 ? INFINITY : 0;
    CHECK(nc_allreduce(blocks, list, NULL) == 1 && (rank > 0 || isinf(x[5])), "inf on a rank");
    nc_close(nc);
    nc_close(blocks);
}

static void refused(struct nc_options o, const char *words)
{
    struct nc *nc = (struct nc *)&o;
    MPI_Comm world = MPI_COMM_WORLD;
    line[0] = 0;
    o.log = take_line;
    const int rc = nc_open_on(&world, &o, layers, N_LAYERS, &nc);
    CHECK(rc < 0 && !nc, "%s: %d", words, rc);
    CHECK(rank > 0 || strstr(line, words), "said \"%s\", not %s", line, words);
    CHECK(rank > 0 || !strcmp(nc_last_error(NULL), line), "last error \"%s\"", nc_last_error(NULL));
}

static void test_refused(void)
{
    struct nc_options o = nc_options_default();
    o.blocks = -1;
    refused(o, "need at least");
    o.blocks = 4097;
    refused(o, "and at most 4096, or 0");
    o.blocks = n_ranks + 2;
    o.algo = "native";
    refused(o, "with virtual ranks");
    o.algo = "group-scatter:2";
    o.node_sum = "xrt";
    refused(o, "--node-sum xrt does not work with --blocks");
    o.algo = o.node_sum = NULL;
    o.format = "e9m9";
    refused(o, "e9m9");
    o.format = NULL;
    if (n_ranks > 1) {
        o.blocks = n_ranks - 1;
        refused(o, "need at least");
        o.blocks = n_ranks + rank;
        refused(o, "the number of blocks differs between ranks");
        o.blocks = 0;
        o.type = rank == n_ranks - 1 ? "bf16" : "fp32";
        refused(o, "the type of gradients differs between ranks");
    }
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    static const char *const codecs[] = {"onebit", "qsgd:4", "ternary", "relgrad:of=gradient"};
    static const char *const formats[] = {"e5m2", "e4m3", "e3m0", "fp32"};
    static const char *const algos[] = {"auto", "direct", "gather-sum", "group-scatter:2"};
    for (size_t i = 0; i < 4; i++) {
        struct nc_options o = nc_options_default();
        o.bucket_bytes = 500;
        o.codec = codecs[i];
        test_same(5, o);
        o.codec = NULL;
        o.format = formats[i];
        o.scale = i < 3 ? "aps" : NULL;
        o.algo = algos[i];
        o.round = i == 1 ? "stochastic" : NULL;
        test_same(i == 3 ? 4 : 6, o);
    }
    struct nc_options o = nc_options_default();
    o.codec = "nvfp4", o.bucket_bytes = 500;
    test_same(5, o);
    o.codec = NULL, o.format = "e4m3", o.scale = "aps";
    test_same(BLOCKS_MAX, o); /* 2 and 4 processes add their blocks first */
    test_plain();
    test_refused();
    MPI_Finalize();
    return check_bad != 0;
}
