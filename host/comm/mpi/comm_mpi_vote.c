/* comm_mpi_vote.c : who gives a step's way up tells the others by empty messages, which are looked for
 * now and then. */
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"

int comm_mpi_give_up(struct comm *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        MPI_Request req;
        if (r == c->rank)
            continue;
        TRY(comm_mpi_check(
            MPI_Isend(NULL, 0, MPI_BYTE, r, COMM_TAG_GIVE_UP, comm_mpi(c)->mpi, &req), "give up"));
        MPI_Request_free(&req); /* an empty message needs no buffer */
    }
    return 0;
}

bool comm_mpi_given_up(struct comm *c)
{
    struct comm_mpi *m = comm_mpi(c);
    int there = 0;
    MPI_Status status;
    while (MPI_Iprobe(MPI_ANY_SOURCE, COMM_TAG_GIVE_UP, m->mpi, &there, &status) == MPI_SUCCESS &&
           there) {
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, COMM_TAG_GIVE_UP, m->mpi, MPI_STATUS_IGNORE);
        m->gave_up[status.MPI_SOURCE] = true;
    }
    for (int r = 0; r < c->n_ranks; r++)
        if (m->gave_up[r])
            return true;
    return false;
}

/* Receives the messages of those who gave up that have not been seen yet, so that none reaches into
 * the next step. */
int comm_mpi_forget(struct comm *c, const uint64_t *gave_up)
{
    struct comm_mpi *m = comm_mpi(c);
    for (int r = 0; r < c->n_ranks; r++) {
        const bool sent = gave_up[r / 64] >> r % 64 & 1, seen = m->gave_up[r];
        m->gave_up[r] = false;
        if (!sent || seen || r == c->rank)
            continue;
        MPI_Request *req = comm_mpi_request(c);
        if (!req)
            return -ENOMEM;
        TRY(comm_mpi_check(MPI_Irecv(NULL, 0, MPI_BYTE, r, COMM_TAG_GIVE_UP, m->mpi, req),
                           "receive"));
        c->n_req++;
    }
    return comm_mpi_wait(c);
}
