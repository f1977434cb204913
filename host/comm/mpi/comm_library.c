/* comm_library.c : loads the table of MPI's functions: linked into the program, or from
 * libnarrowcast_mpi.so. */
#include "comm/mpi/comm_library.h"
#include "base/err.h"
#include "base/plugin.h"
#include "comm/mpi/mpi_calls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 without mpi_calls.c */
extern __attribute__((weak, visibility("hidden"))) const struct mpi_calls narrowcast_mpi;
const struct mpi_calls *mpilib = &narrowcast_mpi;

int comm_library_load(void)
{
    static const struct plugin plugin = {
        "libnarrowcast_mpi.so", "NARROWCAST_MPI",  "where MPI is (Debian: libopenmpi-dev)",
        "narrowcast_mpi",       MPI_CALLS_VERSION, NULL};
    char why[PLUGIN_WHY_BYTES];
    const void *table = mpilib;
    const int rc = table ? 0 : plugin_load(&plugin, &table, why);
    if (rc < 0)
        return ERR(rc, "cannot join a job of MPI: %s", why);
    mpilib = table;
    return 0;
}

/* MPI_Get_library_version() is legal before MPI_Init(). */
void comm_library(char *to, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    mpilib->Get_library_version(text, &n);
    text[strcspn(text, "\n")] = 0;
    snprintf(to, size, "%s", text);
}

/* names of Open MPI and of PMI (MPICH, Slurm) */
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
