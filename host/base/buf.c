/* buf.c : allocates aligned buffers. A test that counts allocations replaces this file. */
#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *buf_alloc(size_t bytes)
{
    size_t rounded = (bytes + 64) & ~(size_t)63; /* never 0: NULL always means failure */
    void *p = rounded > bytes ? aligned_alloc(64, rounded) : NULL;
    if (!p) {
        (void)ERR(-ENOMEM, "cannot allocate %zu bytes", bytes);
        return NULL;
    }
    return memset(p, 0, rounded);
}
