/* comm_library.c : which MPI library this is, and what its launcher says in the environment. MPI_Get_library_version may be called before
 * MPI_Init. */
#include "comm/mpi/comm_library.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void comm_library(char *to, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, "\n")] = 0;
    snprintf(to, size, "%s", text);
}

/* Open MPI's, and that of PMI (MPICH, Slurm). */
int comm_library_started(int *which)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *size = getenv(names[i][0]), *rank = getenv(names[i][1]);
        if (size && rank && atoi(size) > 1) {
            *which = atoi(rank);
            return atoi(size);
        }
    }
    *which = 0;
    return 1;
}
