/* comm_library.h : loads and identifies the MPI library, and says whether a launcher started this
 * process. MPI need not be initialized. */
#ifndef COMM_LIBRARY_H
#define COMM_LIBRARY_H
#include <stddef.h>

/* Makes mpilib (mpi_calls.h) usable. Later calls do nothing. Reports -ENOENT, -ELIBACC or -ELIBBAD
 * if there is no MPI. */
int comm_library_load(void);

/* Write "Open MPI v4.1.4, ..." to `to` [size], truncated if necessary, always terminated. */
void comm_library(char *to, size_t size);

/* Return the number of processes that a launcher started together, from the environment; 1 without
 * a launcher. *which: index of this process, or 0. */
int comm_library_started(int *which);

#endif
