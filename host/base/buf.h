/* buf.h : allocates zeroed, aligned memory. */
#ifndef BUF_H
#define BUF_H
#include <stddef.h>

/* Allocates `bytes` (0 is legal) of zeroed memory, aligned to 64 bytes. Free it with free().
 * Returns NULL if there is not enough memory, after reporting the size. */
void *buf_alloc(size_t bytes);

#endif
