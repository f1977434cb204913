/* mpi_calls.h : lists the functions and handles of MPI that the library uses, in a table. Programs
 * that link MPI link the table (mpi_calls.c). libnarrowcast.so needs no MPI: its first nc_open()
 * loads the table from libnarrowcast_mpi.so. */
#ifndef MPI_CALLS_H
#define MPI_CALLS_H
#include <mpi.h>

enum { MPI_CALLS_VERSION = 4 };

struct mpi_calls {
    int version; /* MPI_CALLS_VERSION */
#define CALL(name) __typeof__(MPI_##name) *name;
#include "comm/mpi/mpi_calls.def"
#undef CALL
    MPI_Comm (*Comm_f2c)(MPI_Fint comm);
    int (*Query_cuda_support)(void);
    /* fault tolerance (ULFM); NULL if MPI has none */
    int (*Comm_revoke)(MPI_Comm comm);
    int (*Comm_shrink)(MPI_Comm comm, MPI_Comm *out);
    int (*Comm_agree)(MPI_Comm comm, int *flag);
    int (*Comm_n_failed)(MPI_Comm comm);
    /* MPI_COMM_WORLD and so on: addresses in Open MPI, numbers in MPICH */
    MPI_Comm world, self, comm_null;
    MPI_Request request_null;
    MPI_Errhandler errors_return;
    MPI_Info info_null;
    MPI_Datatype byte, int8, uint64, fp32, fp64;
    MPI_Op bor, max, min, sum;
};

/* The table of the MPI in use; NULL in libnarrowcast.so before comm_begin(). */
extern const struct mpi_calls *mpilib;

#endif
