/* comm_mpi_fail.c : what MPI says of a call that failed. */
#include "base/err.h"
#include "comm/mpi/comm_mpi.h"

int comm_mpi_check(int mpi_rc, const char *what)
{
    if (mpi_rc == MPI_SUCCESS)
        return 0;
    char why[MPI_MAX_ERROR_STRING] = "no reason given";
    int length = 0;
    MPI_Error_string(mpi_rc, why, &length);
    return ERR(-EIO, "cannot %s: %s", what, why);
}
