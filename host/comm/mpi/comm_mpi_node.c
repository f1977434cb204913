/* comm_mpi_node.c : which ranks share a machine, and whether MPI takes a GPU's memory. */
#include "comm/mpi/comm_mpi.h"
#include "base/err.h"
#include "comm/comm_node.h"
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/* MPI_Comm_split_type waits without our deadline: a barrier goes before it, so that all ranks are
 * there. */
static int on_this_machine(struct comm *c, int *rank, int *lowest)
{
    MPI_Comm here;
    TRY(comm_mpi_barrier(c));
    TRY(comm_mpi_check(
        MPI_Comm_split_type(comm_mpi(c)->mpi, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &here),
        "find the ranks of a machine"));
    *lowest = c->rank;
    MPI_Comm_rank(here, rank);
    const int rc =
        comm_mpi_check(MPI_Bcast(lowest, 1, MPI_INT, 0, here), "find the ranks of a machine");
    MPI_Comm_free(&here);
    return rc;
}

int comm_mpi_nodes(struct comm *c, int *rank, int32_t *nodes)
{
    int lowest;
    TRY(on_this_machine(c, rank, &lowest));
    if (!nodes)
        return 0;
    MPI_Request *req = comm_mpi_request(c);
    if (!req)
        return -ENOMEM;
    const int32_t mine = lowest;
    TRY(comm_mpi_check(
        MPI_Iallgather(&mine, 1, MPI_INT32_T, nodes, 1, MPI_INT32_T, comm_mpi(c)->mpi, req),
        "tell who shares a machine"));
    c->n_req++;
    return comm_mpi_wait(c);
}

bool comm_cuda_aware(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}
