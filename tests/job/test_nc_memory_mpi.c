/* test_nc_memory_mpi.c : each allocation of nc_open and of the first step in parts fails on one
 * rank: -ENOMEM on all ranks, no leak, and the next try succeeds. */
/* RANKS: 1 3 */
#include "base/buf.h"
#include "nc_fixture.h"
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

static int rank, n_ranks;
static long n_asked, fails_at;

enum { MANY = 4096 };
static void *given[MANY];
static int n_given;

void *buf_alloc(size_t bytes)
{
    const size_t rounded = (bytes + 64) & ~(size_t)63;
    if (++n_asked == fails_at)
        return NULL;
    void *p = aligned_alloc(64, rounded);
    for (int i = 0; i < MANY && p; i++)
        if (!given[i]) {
            given[i] = p;
            n_given++;
            break;
        }
    return p ? memset(p, 0, rounded) : NULL;
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_FREES true
void __libc_free(void *p);
void free(void *p)
{
    for (int i = 0; i < MANY && p && n_given; i++)
        if (given[i] == p) {
            given[i] = NULL;
            n_given--;
            break;
        }
    __libc_free(p);
}
#else
#define COUNTS_FREES false
#endif

static void no_line(void *arg, int level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static struct nc_options options_of(int k)
{
    struct nc_options o = nc_options_default();
    o.bucket_bytes = 300;
    o.log = no_line;
    o.type = k ? "fp64" : NULL;
    o.codec = k ? "onebit" : NULL;
    return o;
}

/* Returns the number of allocations of rank `who`; each fails in turn. */
static long run_out(const struct nc_options *o, int who)
{
    for (long at = 1;; at++) {
        struct nc *nc = NULL;
        n_asked = 0;
        fails_at = rank == who ? at : 0;
        const int rc = nc_open(o, layers, N_LAYERS, &nc);
        int failed = rank == who && n_asked >= at;
        MPI_Bcast(&failed, 1, MPI_INT, who, MPI_COMM_WORLD);
        fails_at = 0;
        CHECK(rc == (failed ? -ENOMEM : 0) && (rc == 0) == (nc != NULL), "allocation %ld: %d", at,
              rc);
        CHECK(rc == 0 || nc_last_error(NULL)[0], "nothing is known of it");
        nc_close(nc);
        CHECK(!COUNTS_FREES || n_given == 0, "allocation %ld: %d are left", at, n_given);
        if (!failed || check_bad)
            return at - 1;
    }
}

static void run_out_later(const struct nc_options *o, int who)
{
    static double x[N_ALL];
    void *list[N_LAYERS];
    point(x, o->type ? sizeof(double) : sizeof(float), list);
    for (long at = 1; at <= 4; at++) { /* struct overlap and its three lists */
        struct nc *nc = NULL;
        CHECK(nc_open(o, layers, N_LAYERS, &nc) == 0, "open");
        if (!nc)
            return;
        n_asked = 0;
        fails_at = rank == who ? at : 0;
        const int rc = nc_iallreduce(nc, list);
        fails_at = 0;
        CHECK(rc == -ENOMEM, "allocation %ld of the thread: %d", at, rc);
        CHECK(nc_allreduce(nc, list, NULL) == -ENOMEM && nc_last_error(nc)[0], "a step after it");
        nc_close(nc);
        CHECK(!COUNTS_FREES || n_given == 0, "allocation %ld: %d are left", at, n_given);
    }
}

int main(void)
{
    int level;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    for (int k = 0; k < 2; k++) {
        const struct nc_options o = options_of(k);
        const long n = run_out(&o, k ? n_ranks - 1 : 0);
        CHECK(n > 20, "%ld allocations alone", n);
        run_out_later(&o, k ? n_ranks - 1 : 0);
    }
    MPI_Finalize();
    DONE();
}
