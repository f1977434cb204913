/* buf.h : aligned memory that is zero at first. */
#ifndef BUF_H
#define BUF_H
#include <stddef.h>

/* bytes (0 is legal) of zeroed memory on a 64-byte boundary; free() gives it back. NULL when there
 * is none, after a line that says how much was asked for. */
void *buf_alloc(size_t bytes);

#endif
