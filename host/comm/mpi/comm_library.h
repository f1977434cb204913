/* comm_library.h : which MPI library this is, and whether it has been started as a job; works without one. */
#ifndef COMM_LIBRARY_H
#define COMM_LIBRARY_H
#include <stddef.h>

/* "Open MPI v4.1.4, ..." to to [size], cut where it must be, always terminated. */
void comm_library(char *to, size_t size);

/* How many processes has a launcher started together with this one, as the environment says it, and
 * which of them is it, from 0 on? 1 and 0 where none says so. */
int comm_library_started(int *which);

#endif
