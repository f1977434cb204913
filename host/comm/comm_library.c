/* comm_library.c : which MPI library this is. MPI_Get_library_version may be called before
 * MPI_Init. */
#include "comm/comm_library.h"
#include <mpi.h>
#include <stdio.h>
#include <string.h>

void comm_library(char *to, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, "\n")] = 0;
    snprintf(to, size, "%s", text);
}
