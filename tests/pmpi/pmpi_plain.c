/* pmpi_plain.c : MPI program without narrowcast, for test_pmpi.sh. Rank 0 prints a checksum of
 * the sums of many floats. Compiled with BY_NC, it uses narrowcast.h and prints the same.
 * usage: pmpi_plain exact|narrow|world   expected: MPI's own sums, rounded ones, or rounded ones
 *                                        in MPI_COMM_WORLD only */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BY_NC
#include <narrowcast.h>
#endif
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

enum { N = 20000, SMALL = 100 };
static int rank, n_ranks, bad;
static const char *want;
static uint64_t checksum = 14695981039346656037u;

static void wrong(const char *what, double got, double value)
{
    if (bad++ < 10)
        fprintf(stderr, "FAIL rank %d: %s: %g, not %g\n", rank, what, got, value);
}

/* Multiples of 2^-10 below 2^6: fp32 holds all sums, in any order; 8 bits do not. */
static float value(int r, int which, int i)
{
    return (float)((i * 7919 + r * 104729 + which * 31) % 65536) / 1024;
}

static void fill(float *x, int n, int r, int which)
{
    for (int i = 0; i < n; i++)
        x[i] = value(r, which, i);
}

/* Sums over ranks first, first + step, ... */
static void check(const char *what, const float *x, int n, int which, int first, int step,
                  int narrow)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        uint32_t bits;
        for (int r = first; r < n_ranks; r += step)
            sum += (double)value(r, which, i);
        const double error = fabs((double)x[i] - sum);
        worst = error > worst || isnan(error) ? error : worst;
        memcpy(&bits, &x[i], sizeof bits);
        checksum = (checksum ^ bits) * 1099511628211u;
    }
    if (narrow ? !(worst > 0 && worst <= 16.0 * n_ranks) : worst != 0)
        wrong(what, worst, 0);
}

static int is_narrow(int is_world)
{
    return !strcmp(want, "narrow") || (is_world && !strcmp(want, "world"));
}

#ifdef BY_NC
static void sum(float *x, int n, MPI_Comm comm)
{
    const struct nc_layer layer = {.n = (size_t)n};
    struct nc_options o = nc_options_default();
    float *const list[] = {x};
    struct nc *nc;
    o.format = getenv("NARROWCAST_FORMAT");
    o.scale = getenv("NARROWCAST_SCALE");
    o.quantise = "all";
    o.op = "sum";
    if (nc_open_on(&comm, &o, &layer, 1, &nc) < 0 || nc_allreduce(nc, list, NULL) != 0)
        exit(1);
    nc_close(nc);
}
#else
static void sum(float *x, int n, MPI_Comm comm)
{
    MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, comm);
}
#endif

static float a[N], b[N], out[N];

static void same_as_c(MPI_Comm half)
{
    fill(a, N, rank, 1);
    sum(a, N, MPI_COMM_WORLD);
    check("in place", a, N, 1, 0, 1, is_narrow(1));
    fill(a, N - 5, rank, 2);
    sum(a, N - 5, half);
    check("half", a, N - 5, 2, rank % 2, 2, is_narrow(0));
    if (rank == 0)
        printf("checksum %016llx\n", (unsigned long long)checksum);
}

#ifndef BY_NC
/* Short vectors, other types and other operations are passed on. */
static void check_others(void)
{
    double d[N];
    float all[SMALL];
    int flags[SMALL];
    fill(a, SMALL, rank, 3);
    MPI_Allreduce(a, all, SMALL, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check("short", all, SMALL, 3, 0, 1, 0);
    for (int i = 0; i < N; i++)
        d[i] = (double)value(rank, 4, i) / 3;
    MPI_Allreduce(MPI_IN_PLACE, d, N, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    fill(a, N, rank, 4);
    MPI_Allreduce(a, out, N, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        if (fabs(d[i] - (double)out[i] / 3) > 1e-12)
            wrong("the largest", (double)out[i], d[i]);
    for (int i = 0; i < SMALL; i++)
        flags[i] = rank + i;
    MPI_Allreduce(MPI_IN_PLACE, flags, SMALL, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < SMALL; i++)
        if (flags[i] != n_ranks * (n_ranks - 1) / 2 + n_ranks * i)
            wrong("integers", flags[i], i);
    if (MPI_Allreduce(a, out, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS)
        wrong("none", 0, 0);
}

static void check_not_finite(void)
{
    fill(a, N, rank, 5);
    if (rank == n_ranks - 1)
        a[7] = INFINITY, a[8] = NAN;
    MPI_Allreduce(a, out, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (!isinf(out[7]) || !isnan(out[8]) || !isfinite(out[9]))
        wrong("inf", (double)out[7], (double)out[8]);
}

/* Each rank in turn is the root; others' recv does not count. The bits are those of all-reduces. */
static void check_reduce(MPI_Comm half)
{
    static float sum[N];
    int place;
    MPI_Request r;
    MPI_Comm_rank(half, &place);
    for (int root = 0; root < n_ranks; root++) {
        fill(a, N, rank, 20 + root);
        MPI_Allreduce(a, sum, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        fill(out, N, rank, 20);
        MPI_Reduce(a, rank == root ? out : NULL, N, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
        fill(b, N, rank, 20 + root);
        if (rank != root && memcmp(a, b, sizeof a))
            wrong("a rank other than the root is changed", root, rank);
        if (rank == root)
            check("reduce", out, N, 20 + root, 0, 1, is_narrow(1));
        if (rank == root && memcmp(out, sum, sizeof sum))
            wrong("reduce and all-reduce differ", root, 0);
        MPI_Reduce(rank == root ? MPI_IN_PLACE : b, rank == root ? b : out, N, MPI_FLOAT, MPI_SUM,
                   root, MPI_COMM_WORLD);
        if (rank == root && memcmp(b, sum, sizeof sum))
            wrong("reduce in place", root, 0);
    }
    fill(a, N, rank, 30);
    fill(b, N, rank, 31);
    MPI_Ireduce(a, place == 0 ? out : NULL, N, MPI_FLOAT, MPI_SUM, 0, half, &r);
    MPI_Allreduce(MPI_IN_PLACE, b, N, MPI_FLOAT, MPI_SUM, half);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (place == 0)
        check("reduce later", out, N, 30, rank % 2, 2, is_narrow(0));
    check("an all-reduce behind it", b, N, 31, rank % 2, 2, is_narrow(0));
    fill(a, N, rank, 5);
    if (rank == n_ranks - 1)
        a[7] = INFINITY, a[8] = NAN;
    MPI_Reduce(a, out, N, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && (!isinf(out[7]) || !isnan(out[8]) || !isfinite(out[9])))
        wrong("reduce of inf", (double)out[7], (double)out[8]);
}

/* Sums of two communicators begin in opposite orders on odd and even ranks, between other calls;
 * one rank awaits a message before its sums. */
static void check_later(MPI_Comm half, MPI_Comm twin)
{
    MPI_Request r[3];
    int token = rank, from = -1, done = 0;
    static float c[N], sums[3][N];
    fill(a, N, rank, 6);
    fill(b, N, rank, 7);
    fill(c, N, rank, 8);
    if (rank % 2) {
        MPI_Iallreduce(b, sums[1], N, MPI_FLOAT, MPI_SUM, twin, &r[1]);
        MPI_Iallreduce(a, sums[0], N, MPI_FLOAT, MPI_SUM, half, &r[0]);
    } else {
        MPI_Iallreduce(a, sums[0], N, MPI_FLOAT, MPI_SUM, half, &r[0]);
        MPI_Iallreduce(b, sums[1], N, MPI_FLOAT, MPI_SUM, twin, &r[1]);
    }
    memcpy(sums[2], c, sizeof c);
    MPI_Iallreduce(MPI_IN_PLACE, sums[2], N, MPI_FLOAT, MPI_SUM, half, &r[2]);
    MPI_Bcast(&token, 1, MPI_INT, 0, half); /* on the same communicator, after them */
    fill(out, N, rank, 9);
    MPI_Allreduce(MPI_IN_PLACE, out, N, MPI_FLOAT, MPI_SUM, half);
    check("behind those that are under way", out, N, 9, rank % 2, 2, is_narrow(0));
    if (rank == 0 && n_ranks > 1) {
        MPI_Recv(&from, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (rank != 1) {
        while (!done)
            MPI_Test(&r[1], &done, MPI_STATUS_IGNORE);
        MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    }
    check("first", sums[0], N, 6, rank % 2, 2, is_narrow(0));
    check("twin", sums[1], N, 7, 0, 1, is_narrow(0));
    check("third", sums[2], N, 8, rank % 2, 2, is_narrow(0));
}

static void check_persistent(void)
{
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
    static float largest[SMALL];
    MPI_Request r[2];
    MPIX_Allreduce_init(a, out, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPIX_Allreduce_init(b, largest, SMALL, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &r[1]);
    for (int step = 0; step < 3; step++) {
        fill(a, N, rank, 10 + step);
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        check("persistent", out, N, 10 + step, 0, 1, is_narrow(1));
    }
    MPI_Request_free(&r[1]);
    fill(a, N, rank, 13);
    MPI_Startall(1, r);
    MPI_Waitall(1, r, MPI_STATUSES_IGNORE);
    check("persistent", out, N, 13, 0, 1, is_narrow(1));
    MPI_Request_free(&r[0]);
#endif
}

static void check_many(void)
{
    for (int i = 0; i < 40; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        fill(a, N, rank, i);
        MPI_Allreduce(MPI_IN_PLACE, a, N, MPI_FLOAT, MPI_SUM, comm);
        check("a new communicator", a, N, i, 0, 1, is_narrow(0));
        MPI_Comm_free(&comm);
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 40; i++) {
            fill(a, N - i, rank, i);
            MPI_Allreduce(a, out, N - i, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            check("a length", out, N - i, i, 0, 1, is_narrow(1));
        }
}
#endif

int main(int argc, char **argv)
{
    MPI_Comm half, twin;
    want = argc > 1 ? argv[1] : "exact";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    same_as_c(half);
#ifndef BY_NC
    check_others();
    check_not_finite();
    check_reduce(half);
    check_later(half, twin);
    check_persistent();
    check_many();
#else
    (void)b, (void)out;
#endif
    MPI_Comm_free(&half); /* MPI_Finalize frees twin */
    MPI_Finalize();
    return bad != 0;
}
