/* comm_library.h : Identifies the MPI library and whether a
 * launcher started this process; needs no running MPI. */
#ifndef COMM_LIBRARY_H
#define COMM_LIBRARY_H
#include <stddef.h>

/* Writes "Open MPI v4.1.4, ..." to to [size], truncated if necessary, always terminated. */
void comm_library(char *to, size_t size);

/* Returns how many processes a launcher started together, according to the environment, and in
 * *which the index of this one. 1 and 0 without a launcher. */
int comm_library_started(int *which);

#endif
