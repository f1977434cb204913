/* comm_library.h : Identifies the MPI library, and whether a launcher started this process. MPI
 * need not be initialized. */
#ifndef COMM_LIBRARY_H
#define COMM_LIBRARY_H
#include <stddef.h>

/* Writes "Open MPI v4.1.4, ..." to `to` [size], truncated if necessary and always terminated. */
void comm_library(char *to, size_t size);

/* Returns how many processes a launcher started together, according to the environment. Stores the
 * index of this process in *which. Without a launcher these are 1 and 0. */
int comm_library_started(int *which);

#endif
