/* test_collnet.c : all-reduces by libnccl-net-narrowcast.so, as each version of NCCL calls it,
 * have nc_allreduce()'s bits. */
#include "collnet_ranks.h"
#include "over_ranks.h"
#include "hls/arith/philox.h"
#include "vec/vec.h"
#include <math.h>

static const uint64_t seed = 1923;

static const struct work {
    int type;
    size_t n;
    bool infinite; /* the last rank has an inf */
} works[] = {{NCCL_FP32, 4096, false},  {NCCL_FP32, 1, false},     {NCCL_E4M3FN, 1003, false},
             {NCCL_FP32, 70001, false}, {NCCL_E5M2, 30000, false}, {NCCL_FP16, 999, false},
             {NCCL_FP32, 70001, true},  {NCCL_BF16, 2048, false},  {NCCL_FP32, 13, false},
             {NCCL_E4M3FN, 8, false}};
enum { WORKS = sizeof works / sizeof *works, MAX_N = 70001 };

static uint8_t (*want)[WORKS][MAX_N * 4];

static size_t bytes_of(int type)
{
    return type == NCCL_FP32 ? 4 : type == NCCL_FP16 || type == NCCL_BF16 ? 2 : 1;
}

static struct vec_cast cast_of(int type)
{
    const struct mf_fmt fmt = type == NCCL_FP16     ? (struct mf_fmt){5, 10, 0}
                              : type == NCCL_BF16   ? (struct mf_fmt){8, 7, 0}
                              : type == NCCL_E4M3FN ? (struct mf_fmt){4, 3, 1}
                                                    : (struct mf_fmt){5, 2, 0};
    return (struct vec_cast){.fmt = fmt, .round = MF_NEAREST, .overflow = MF_SATURATE};
}

/* exact: receives the same input in fp32. */
static void fill(int k, int rank, int n_ranks, void *x, float *exact)
{
    const struct work *w = &works[k];
    const uint64_t key = philox_key(seed, (uint32_t)k, 0, (uint32_t)rank, 0);
    static float values[MAX_N];
    for (size_t i = 0; i < w->n; i++)
        values[i] = ldexpf((float)(int32_t)philox_u32(key, i), -31 - (int)(philox_u32(key, i) % 9));
    if (w->infinite && rank == n_ranks - 1)
        values[w->n / 2] = INFINITY;
    memcpy(exact, values, w->n * sizeof *values);
    if (w->type == NCCL_FP32) {
        memcpy(x, values, w->n * sizeof *values);
        return;
    }
    const struct vec_cast cast = cast_of(w->type);
    vec_best()->encode(&cast, values, w->n, 0, 0, x);
    vec_best()->decode(cast.fmt, x, w->n, 0, 1, exact);
}

/* Adds without a card, or in fp32 if there is inf. */
static int reference(const struct nc_transport *t, void *ctx)
{
    static float x[MAX_N];
    static uint8_t codes[MAX_N * 4];
    (void)ctx;
    for (int k = 0; k < WORKS; k++) {
        const struct work *w = &works[k];
        const struct nc_layer layer = {.name = "x", .n = w->n};
        const bool halves = w->type == NCCL_FP16 || w->type == NCCL_BF16;
        struct nc_options o = nc_options_default();
        struct nc *nc = NULL;
        void *list[] = {halves ? (void *)codes : (void *)x};
        o.op = "sum", o.quantise = "all", o.algo = "direct", o.deadline_s = 60;
        o.format = w->type == NCCL_E4M3FN ? "e4m3fn" : "e5m2";
        o.type = w->type == NCCL_FP16 ? "fp16" : w->type == NCCL_BF16 ? "bf16" : "fp32";
        fill(k, t->rank, t->n_ranks, codes, x);
        CHECK(nc_open_over(t, &o, &layer, 1, &nc) == 0, "open: %s", nc_last_error(NULL));
        const int rc = nc_allreduce(nc, list, NULL);
        CHECK(rc == w->infinite, "work %d: %d", k, rc);
        nc_close(nc);
        if (w->infinite) { /* in rank order, as the algorithm adds */
            static float one[MAX_N];
            memset(x, 0, sizeof x);
            for (int r = 0; r < t->n_ranks; r++) {
                fill(k, r, t->n_ranks, codes, one);
                for (size_t i = 0; i < w->n; i++)
                    x[i] = r ? x[i] + one[i] : one[i];
            }
        }
        if (t->rank)
            continue;
        if (w->type == NCCL_E4M3FN || w->type == NCCL_E5M2) {
            const struct vec_cast cast = cast_of(w->type);
            vec_best()->encode(&cast, x, w->n, 0, 0, want[t->n_ranks][k]);
        } else {
            memcpy(want[t->n_ranks][k], list[0], w->n * bytes_of(w->type));
        }
    }
    return 0;
}

static void check_support(const struct drive *d)
{
    for (int type = 0; type < NCCL_TYPES; type++)
        for (int op = 0; op < 4; op++) {
            int yes = -1;
            const bool wanted =
                op == NCCL_SUM && (type == NCCL_FP32 || type == NCCL_FP16 || type >= NCCL_BF16);
            CHECK(DRIVE_SAME(d, DRIVE_COLL, takes(type, op, &yes)) == NCCL_SUCCESS && yes == wanted,
                  "type %d, op %d: %d", type, op, yes);
        }
}

static void check_begun(const struct drive *d)
{
    int coll = 0, net = 0;
    size_t most = 0;
    CHECK(drive_devices(d, &coll, &net) == NCCL_SUCCESS && coll == 1 && net == 1, "%d, %d devices",
          coll, net);
    CHECK(drive_properties(d, &most) == NCCL_SUCCESS && most > 0, "properties");
    check_support(d);
}

static void check_memory(const struct drive *d, void *comm, void *x)
{
    void *mr = NULL;
    CHECK(DRIVE_SAME(d, DRIVE_COLL, reg(comm, x, 100, NCCL_HOST, &mr)) == NCCL_SUCCESS, "host");
    CHECK(DRIVE_SAME(d, DRIVE_COLL, dereg(comm, mr)) == NCCL_SUCCESS, "dereg");
    CHECK(DRIVE_SAME(d, DRIVE_COLL, reg(comm, x, 100, NCCL_CUDA, &mr)) != NCCL_SUCCESS, "cuda");
    CHECK(DRIVE_SAME(d, DRIVE_COLL, reg_dma_buf(comm, x, 100, NCCL_CUDA, 0, 3, &mr)) !=
              NCCL_SUCCESS,
          "a file of a GPU's memory");
}

/* Runs all works[] out of order, then the first again in place. */
static void sums(struct drive *d)
{
    static uint8_t send[WORKS][MAX_N * 4], recv[WORKS][MAX_N * 4];
    static float exact[MAX_N];
    void *comm = NULL, *requests[WORKS], *flushed = &comm;
    char all_by_card[80]; /* all except the one with inf */
    int bytes = 0;
    CHECK(ranks_connect(d, &comm) == NCCL_SUCCESS && comm, "connect: %s",
          ranks_shared->said[ranks_own]);
    if (!comm)
        return;
    check_begun(d);
    check_memory(d, comm, send[0]);
    for (int k = 0; k < WORKS; k++) {
        fill(k, ranks_own, ranks_n, send[k], exact);
        CHECK(drive_allreduce(d, comm, send[k], recv[k], works[k].n, works[k].type, send[k],
                              &requests[k]) == NCCL_SUCCESS &&
                  requests[k],
              "work %d is refused", k);
    }
    for (int k = WORKS - 1; k >= 0; k--) {
        const size_t all = works[k].n * bytes_of(works[k].type);
        CHECK(ranks_wait(d, requests[k], &bytes) == NCCL_SUCCESS && (size_t)bytes == all,
              "work %d: %d bytes; %s", k, bytes, ranks_shared->said[ranks_own]);
        CHECK(!memcmp(recv[k], want[ranks_n][k], all), "work %d: other bits", k);
        CHECK(DRIVE_SAME(d, DRIVE_COLL, flush(comm, recv[k], (int)all, NULL, &flushed)) ==
                      NCCL_SUCCESS &&
                  !flushed,
              "flush");
    }
    CHECK(drive_allreduce(d, comm, send[0], send[0], works[0].n, NCCL_FP32, NULL, &requests[0]) ==
                  NCCL_SUCCESS &&
              ranks_wait(d, requests[0], NULL) == NCCL_SUCCESS &&
              !memcmp(send[0], want[ranks_n][0], works[0].n * 4),
          "in place");
    CHECK(DRIVE_SAME(d, DRIVE_COLL, close(comm)) == NCCL_SUCCESS, "close");
    CHECK(drive_finalize(d) == NCCL_SUCCESS, "finalize");
    snprintf(all_by_card, sizeof all_by_card, "after %d all-reduces, %d of them by cards\n",
             WORKS + 1, WORKS);
    CHECK(strstr(ranks_shared->info[ranks_own], all_by_card), "%s", ranks_shared->info[ranks_own]);
    CHECK(!ranks_shared->said[ranks_own][0], "said: %s", ranks_shared->said[ranks_own]);
}

/* A request beyond the limit becomes NULL, and NCCL asks again. */
static void many(struct drive *d)
{
    enum { ALL = 100, N = 5000 };
    static float x[ALL][N];
    void *comm = NULL, *requests[ALL];
    int refused = 0, ended = 0;
    CHECK(ranks_connect(d, &comm) == NCCL_SUCCESS && comm, "connect");
    for (int k = 0; k < ALL && comm; k++) {
        for (int i = 0; i < N; i++)
            x[k][i] = (float)(k % 8);
        while (drive_allreduce(d, comm, x[k], x[k], N, NCCL_FP32, NULL, &requests[k]) ==
                   NCCL_SUCCESS &&
               !requests[k]) {
            refused++;
            CHECK(ranks_wait(d, requests[ended++], NULL) == NCCL_SUCCESS, "request %d", ended);
        }
    }
    CHECK(refused > 0, "never full");
    for (; ended < ALL && comm; ended++)
        CHECK(ranks_wait(d, requests[ended], NULL) == NCCL_SUCCESS, "request %d", ended);
    for (int k = 0; k < ALL; k++)
        CHECK(x[k][0] == (float)(k % 8 * ranks_n) && x[k][N - 1] == x[k][0], "%d: %g", k,
              (double)x[k][0]);
    DRIVE_SAME(d, DRIVE_COLL, close(comm));
}

int main(void)
{
    want = mmap(NULL, (RANKS_MAX + 1) * sizeof *want, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (want == MAP_FAILED || !ranks_begin())
        return 1;
    printf("seed %llu\n", (unsigned long long)seed);
    setenv("NARROWCAST_FORMAT", "e5m2", 1);
    for (int p = 2; p <= 4; p++)
        CHECK(over_run(p, reference, NULL) == 0, "the reference of %d ranks", p);
    if (ranks_start_card()) {
        for (int v = DRIVE_FIRST; v <= DRIVE_LAST; v++)
            CHECK(ranks_run(2, v, sums) == 0, "version %d", v);
        CHECK(ranks_run(3, 6, sums) == 0 && ranks_run(4, 12, sums) == 0, "3 and 4 ranks");
        CHECK(ranks_run(2, 12, many) == 0, "many");
    }
    ranks_stop_card();
    DONE();
}
