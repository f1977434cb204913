/* buf.h : allocates zeroed, aligned memory. */
#ifndef BUF_H
#define BUF_H
#include <stddef.h>

/* Allocate bytes (0 is legal) of zeroed memory, aligned to 64 bytes, to be freed with free().
 * Returns NULL if there is none, after reporting the size. */
void *buf_alloc(size_t bytes);

#endif
