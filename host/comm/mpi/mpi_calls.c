/* mpi_calls.c : implements libnarrowcast_mpi.so: the table of MPI's functions and handles. Also
 * linked into programs that link MPI. */
#include "comm/mpi/mpi_calls.h"
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

static MPI_Comm comm_f2c(MPI_Fint comm) /* a macro in MPICH */
{
    return MPI_Comm_f2c(comm);
}

static int query_cuda_support(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support();
#else
    return 0;
#endif
}

#ifdef MPIX_ERR_PROC_FAILED
static int comm_n_failed(MPI_Comm comm)
{
    MPI_Group group;
    int n = 0;
    if (MPIX_Comm_get_failed(comm, &group) != MPI_SUCCESS)
        return 0;
    MPI_Group_size(group, &n);
    MPI_Group_free(&group);
    return n;
}
#endif

extern __attribute__((visibility("default"))) const struct mpi_calls narrowcast_mpi;
const struct mpi_calls narrowcast_mpi = {
    .version = MPI_CALLS_VERSION,
#define CALL(name) .name = MPI_##name,
#include "comm/mpi/mpi_calls.def"
#undef CALL
    .Comm_f2c = comm_f2c,
    .Query_cuda_support = query_cuda_support,
#ifdef MPIX_ERR_PROC_FAILED
    .Comm_revoke = MPIX_Comm_revoke,
    .Comm_shrink = MPIX_Comm_shrink,
    .Comm_agree = MPIX_Comm_agree,
    .Comm_n_failed = comm_n_failed,
#endif
    .world = MPI_COMM_WORLD,
    .self = MPI_COMM_SELF,
    .comm_null = MPI_COMM_NULL,
    .request_null = MPI_REQUEST_NULL,
    .errors_return = MPI_ERRORS_RETURN,
    .info_null = MPI_INFO_NULL,
    .byte = MPI_BYTE,
    .int8 = MPI_INT8_T,
    .uint64 = MPI_UINT64_T,
    .fp32 = MPI_FLOAT,
    .fp64 = MPI_DOUBLE,
    .bor = MPI_BOR,
    .max = MPI_MAX,
    .min = MPI_MIN,
    .sum = MPI_SUM,
};
