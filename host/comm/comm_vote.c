/* comm_vote.c : steps whose sums do not come by MPI: giving such a way up, waiting outside MPI, the
 * vote that ends a step. */
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <string.h>

int comm_give_up(struct comm *c)
{
    c->gave_up[c->rank] = true;
    for (int r = 0; r < c->n_ranks; r++) {
        MPI_Request req;
        if (r == c->rank)
            continue;
        TRY(comm_mpi_check(MPI_Isend(NULL, 0, MPI_BYTE, r, COMM_TAG_GIVE_UP, c->mpi, &req),
                           "give up"));
        MPI_Request_free(&req); /* an empty message needs no buffer */
    }
    return 0;
}

bool comm_given_up(struct comm *c)
{
    int there = 0;
    MPI_Status status;
    if (comm_roll_heard(c))
        comm_roll_call(c);
    while (MPI_Iprobe(MPI_ANY_SOURCE, COMM_TAG_GIVE_UP, c->mpi, &there, &status) == MPI_SUCCESS &&
           there) {
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, COMM_TAG_GIVE_UP, c->mpi, MPI_STATUS_IGNORE);
        c->gave_up[status.MPI_SOURCE] = true;
    }
    for (int r = 0; r < c->n_ranks; r++)
        if (r != c->rank && c->gave_up[r])
            return true;
    return false;
}

void comm_missing(struct comm *c)
{
    comm_roll_call(c);
}

/* Words of a mask of ranks. */
static size_t mask_words(const struct comm *c)
{
    return ((size_t)c->n_ranks + 63) / 64;
}

/* Receives the messages of those who gave up that have not been seen yet, so that none reaches into
 * the next step. */
static int forget(struct comm *c, const uint64_t *gave_up)
{
    for (int r = 0; r < c->n_ranks; r++) {
        const bool sent = gave_up[r / 64] >> r % 64 & 1, seen = c->gave_up[r];
        c->gave_up[r] = false;
        if (!sent || seen || r == c->rank)
            continue;
        MPI_Request *req = comm_request(c);
        if (!req)
            return -ENOMEM;
        TRY(comm_mpi_check(MPI_Irecv(NULL, 0, MPI_BYTE, r, COMM_TAG_GIVE_UP, c->mpi, req),
                           "receive"));
        c->n_req++;
    }
    return comm_wait(c);
}

int comm_vote(struct comm *c, uint64_t *bits, size_t n)
{
    uint64_t *all = c->scratch, *mask = all + n;
    const size_t words = n + mask_words(c);
    if (words * sizeof *all > COMM_BLOCK)
        return ERR(-EINVAL, "cannot vote on %zu buckets: %d at most; take a larger --bucket-bytes",
                   64 * n, COMM_BLOCK * 8 - 64 * (int)mask_words(c));
    memcpy(all, bits, n * sizeof *bits);
    memset(mask, 0, mask_words(c) * sizeof *mask);
    if (c->gave_up[c->rank])
        mask[c->rank / 64] |= (uint64_t)1 << c->rank % 64;
    MPI_Request *req = comm_request(c);
    if (!req)
        return -ENOMEM;
    TRY(comm_mpi_check(
        MPI_Iallreduce(MPI_IN_PLACE, all, (int)words, MPI_UINT64_T, MPI_BOR, c->mpi, req), "vote"));
    c->n_req++;
    TRY(comm_wait(c));
    memcpy(bits, all, n * sizeof *bits);
    return forget(c, mask);
}
