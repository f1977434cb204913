/* comm_library.h : which MPI library this is; works without a job. */
#ifndef COMM_LIBRARY_H
#define COMM_LIBRARY_H
#include <stddef.h>

/* "Open MPI v4.1.4, ..." to to [size], cut where it must be, always terminated. */
void comm_library(char *to, size_t size);

#endif
