/* comm_collect.c : collectives: small things that all ranks tell each other. No gradient comes this
 * way. */
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <string.h>

/* Runs one of MPI's non-blocking collectives to its end. `call` names its request `req`. */
#define COLLECT(c, what, call)               \
    do {                                     \
        MPI_Request *req = comm_request(c);  \
        if (!req)                            \
            return -ENOMEM;                  \
        TRY(comm_mpi_check((call), (what))); \
        (c)->n_req++;                        \
        TRY(comm_wait(c));                   \
    } while (0)

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}
static uint64_t if_alone(const struct comm *c, uint64_t bytes)
{
    return c->n_ranks > 1 ? bytes : 0;
}

int comm_barrier(struct comm *c)
{
    COLLECT(c, "meet all ranks", MPI_Ibarrier(c->mpi, req));
    return 0;
}

int comm_bcast(struct comm *c, void *buf, size_t bytes, int root)
{
    char *at = buf;
    for (size_t left = bytes, n; left > 0; left -= n, at += n) {
        n = at_most(left, c->chunk_bytes);
        COLLECT(c, "broadcast", MPI_Ibcast(at, (int)n, MPI_BYTE, root, c->mpi, req));
    }
    if (c->rank == root)
        c->count.sent_bytes += if_alone(c, bytes);
    return 0;
}

int comm_max_i8(struct comm *c, int8_t *x, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, c->chunk_bytes);
        COLLECT(c, "find the largest exponents",
                MPI_Iallreduce(MPI_IN_PLACE, x + i, (int)k, MPI_INT8_T, MPI_MAX, c->mpi, req));
    }
    c->count.sent_bytes += if_alone(c, n);
    return 0;
}

int comm_max_f32(struct comm *c, float *x, size_t n)
{
    const size_t most = c->chunk_bytes < sizeof *x ? 1 : c->chunk_bytes / sizeof *x;
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, most);
        COLLECT(c, "find the largest numbers",
                MPI_Iallreduce(MPI_IN_PLACE, x + i, (int)k, MPI_FLOAT, MPI_MAX, c->mpi, req));
    }
    c->count.sent_bytes += if_alone(c, n * sizeof *x);
    return 0;
}

int comm_sum_f64(struct comm *c, double *x, size_t n)
{
    double *all = c->scratch;
    const size_t block = COMM_BLOCK / sizeof *all;
    for (size_t i = 0, k; i < n; i += k) {
        k = at_most(n - i, block);
        COLLECT(c, "add up",
                MPI_Iallgather(x + i, (int)k, MPI_DOUBLE, all, (int)k, MPI_DOUBLE, c->mpi, req));
        memcpy(x + i, all, k * sizeof *x);
        for (size_t r = 1; r < (size_t)c->n_ranks; r++)
            for (size_t j = 0; j < k; j++)
                x[i + j] += all[r * k + j];
    }
    c->count.sent_bytes += if_alone(c, n * sizeof *x);
    return 0;
}

int comm_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
    if (c->rank > 0) {
        TRY(comm_send(c, 0, mine, bytes));
    } else {
        memcpy(all, mine, bytes);
        for (int r = 1; r < c->n_ranks; r++)
            TRY(comm_recv(c, r, (char *)all + (size_t)r * bytes, bytes));
    }
    return comm_wait(c);
}

int comm_pass(struct comm *c, int from, int to, void *buf, size_t bytes)
{
    if (c->rank == from)
        TRY(comm_send(c, to, buf, bytes));
    else
        TRY(comm_recv(c, from, buf, bytes));
    return comm_wait(c);
}

/* Compares with rank 0's bytes, block by block. All ranks go through the blocks rank 0 has,
 * whatever their own length. */
static int differs_from_rank_0(struct comm *c, const char *mine, size_t bytes, bool *differs)
{
    uint64_t length = bytes;
    TRY(comm_bcast(c, &length, sizeof length, 0));
    *differs = length != bytes;
    for (size_t at = 0, n; at < length; at += n) {
        n = at_most(length - at, COMM_BLOCK);
        if (c->rank == 0)
            memcpy(c->scratch, mine + at, n);
        TRY(comm_bcast(c, c->scratch, n, 0));
        *differs = *differs || memcmp(c->scratch, mine + at, n) != 0;
    }
    return 0;
}

int comm_check_equal(struct comm *c, const void *mine, size_t bytes, const char *what)
{
    bool differs;
    TRY(differs_from_rank_0(c, mine, bytes, &differs));
    int first = differs ? c->rank : c->n_ranks;
    COLLECT(c, "compare", MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, c->mpi, req));
    if (first == c->n_ranks)
        return 0;
    return c->rank > 0
               ? -EPROTO
               : ERR(-EPROTO, "%s differs between ranks: rank %d does not have what rank 0 has",
                     what, first);
}
