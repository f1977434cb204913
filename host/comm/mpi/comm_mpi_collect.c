/* comm_mpi_collect.c : small collectives by MPI's non-blocking ones. */
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"
#include <string.h>

/* Runs one of MPI's to its end. `call` names its request `req`. */
#define COLLECT(c, what, call)                  \
    do {                                        \
        MPI_Request *req = comm_mpi_request(c); \
        if (!req)                               \
            return -ENOMEM;                     \
        TRY(comm_mpi_check((call), (what)));    \
        (c)->n_req++;                           \
        TRY(comm_mpi_wait(c));                  \
    } while (0)

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

int comm_mpi_barrier(struct comm *c)
{
    COLLECT(c, "meet all ranks", MPI_Ibarrier(comm_mpi(c)->mpi, req));
    return 0;
}

int comm_mpi_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = at_most(left, c->chunk_bytes);
        COLLECT(c, "broadcast", MPI_Ibcast(at, (int)n, MPI_BYTE, root, comm_mpi(c)->mpi, req));
    }
    return 0;
}

/* MPI may add in any order; so all ranks get all addends, and add them alone. */
static int sum_f64(struct comm *c, double *x, size_t n, const char *what)
{
    const struct comm_mpi *m = comm_mpi(c);
    const size_t block = COMM_BLOCK / sizeof *x;
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, block);
        COLLECT(c, what,
                MPI_Iallgather(x + i, (int)k, MPI_DOUBLE, m->all, (int)k, MPI_DOUBLE, m->mpi, req));
        memcpy(x + i, m->all, k * sizeof *x);
        for (size_t r = 1; r < (size_t)c->n_ranks; r++)
            comm_combine(COMM_SUM_F64, k, x + i, m->all + r * k);
    }
    return 0;
}

int comm_mpi_all_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
    const int n = (int)bytes;
    COLLECT(c, "gather codes",
            MPI_Iallgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, comm_mpi(c)->mpi, req));
    return 0;
}

int comm_mpi_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what)
{
    const struct {
        MPI_Datatype type;
        MPI_Op op;
    } by[COMM_REDUCES] = {[COMM_MAX_I8] = {MPI_INT8_T, MPI_MAX},
                          [COMM_MAX_F32] = {MPI_FLOAT, MPI_MAX},
                          [COMM_MIN_U64] = {MPI_UINT64_T, MPI_MIN},
                          [COMM_OR_U64] = {MPI_UINT64_T, MPI_BOR}};
    const size_t size = comm_reduce_bytes(how);
    const size_t most = c->chunk_bytes < size ? 1 : c->chunk_bytes / size;
    if (how == COMM_SUM_F64)
        return sum_f64(c, x, n, what);
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, most);
        COLLECT(c, what,
                MPI_Iallreduce(MPI_IN_PLACE, (char *)x + i * size, (int)k, by[how].type, by[how].op,
                               comm_mpi(c)->mpi, req));
    }
    return 0;
}
