/* comm_fail.c : what MPI says of a call that failed, and the end of the job. */
#include "base/err.h"
#include "comm/comm_mpi.h"
#include <stdio.h>
#include <stdlib.h>

int comm_mpi_check(int mpi_rc, const char *what)
{
    if (mpi_rc == MPI_SUCCESS)
        return 0;
    char why[MPI_MAX_ERROR_STRING] = "no reason given";
    int length = 0;
    MPI_Error_string(mpi_rc, why, &length);
    return ERR(-EIO, "cannot %s: %s", what, why);
}

void comm_abort(struct comm *c, int code)
{
    err_release(true);
    fflush(NULL);
    MPI_Abort(c->mpi, code < 0 && code > -128 ? -code : 1);
    abort(); /* MPI_Abort does not return */
}
