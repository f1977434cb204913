/* buf.h : allocates zeroed, aligned memory. */
#ifndef BUF_H
#define BUF_H
#include <stddef.h>

/* Allocates `bytes` of zeroed memory (0 is legal), aligned to 64 bytes, for free(). Reports a lack
 * of memory and returns NULL. */
void *buf_alloc(size_t bytes);

#endif
