/* test_nc_any_order_mpi.c : sums of e3m23 with an exponent for each 32 elements do not depend on
 * the order of the ranks, and their means are closer to the true ones than those of a ring in
 * fp32. */
/* RANKS: 4 6 */
#include <narrowcast.h>
#include "check.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <mpi.h>
#include <string.h>

enum { SEED = 23, N = 5003, ORDERS = 100, MAX_RANKS = 6 };
static const struct nc_layer layer = {.name = "all", .n = N};
static float of_rank[MAX_RANKS][N];
static int rank, n_ranks;

static void swap(int *a, int *b)
{
    const int t = *a;
    *a = *b;
    *b = t;
}

/* order: which rank's gradients each rank has */
static void shuffle(int order[MAX_RANKS], uint32_t draw)
{
    for (int i = 0; i < n_ranks; i++)
        order[i] = i;
    for (int i = n_ranks - 1; i > 0; i--)
        swap(&order[i],
             &order[philox_u32(SEED, draw * MAX_RANKS + (uint32_t)i) % (uint32_t)(i + 1)]);
}

static struct nc *open_as(const char *format, const char *scale, const char *algo)
{
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    o.format = format, o.scale = scale, o.algo = algo;
    CHECK(nc_open(&o, &layer, 1, &nc) == 0, "%s %s: %s", format, algo, nc_last_error(NULL));
    return nc;
}

/* Sums of 8 and more binades, as those of a network's layer. */
static void fill(void)
{
    for (int r = 0; r < n_ranks; r++)
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t w = philox_u32(SEED + 1 + (uint64_t)r, 2 * i),
                           v = philox_u32(SEED + 1 + (uint64_t)r, 2 * i + 1);
            of_rank[r][i] = ldexpf((float)(int32_t)w, -40 - (int)(v % 5) - (int)(i / 32 % 20));
        }
}

static double error_of(const float *mean)
{
    double error = 0, all = 0;
    for (int i = 0; i < N; i++) {
        double sum = 0; /* exact: 24 bits, few binades apart */
        for (int r = 0; r < n_ranks; r++)
            sum += (double)of_rank[r][i];
        error += pow((double)mean[i] - sum / n_ranks, 2);
        all += pow(sum / n_ranks, 2);
    }
    return sqrt(error / all);
}

int main(void)
{
    static float x[N], first[N];
    static const char *const algos[] = {"direct", "gather-sum", "group-scatter:2"};
    void *list[] = {x};
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    fill();
    for (uint32_t k = 0; k < 3; k++) {
        struct nc *nc = open_as("e3m23", "aps-tight:32", algos[k]);
        for (uint32_t draw = 0; nc && draw < ORDERS; draw++) {
            int order[MAX_RANKS];
            shuffle(order, draw);
            memcpy(x, of_rank[order[rank]], sizeof x);
            CHECK(nc_allreduce(nc, list, NULL) == 0, "%s", nc_last_error(nc));
            if (k == 0 && draw == 0)
                memcpy(first, x, sizeof x);
            CHECK(memcmp(first, x, sizeof x) == 0, "%s, order %u: other bits", algos[k], draw);
        }
        nc_close(nc);
    }
    struct nc *ring = open_as("fp32", "none", "ring");
    memcpy(x, of_rank[rank], sizeof x);
    CHECK(nc_allreduce(ring, list, NULL) == 0, "%s", nc_last_error(ring));
    nc_close(ring);
    const double exact = error_of(first), rounded = error_of(x);
    if (rank == 0)
        printf("seed %d, error of the mean: e3m23:32 %.3g, ring in fp32 %.3g\n", SEED, exact,
               rounded);
    CHECK(exact < rounded && rounded > 0, "%g, ring %g", exact, rounded);
    MPI_Finalize();
    DONE();
}
