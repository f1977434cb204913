/* buf.c : aligned memory that is zero at first. */
#include "base/buf.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

void *buf_alloc(size_t bytes)
{
    size_t rounded = (bytes + 64) & ~(size_t)63; /* never zero: NULL means failure alone */
    void *p = rounded > bytes ? aligned_alloc(64, rounded) : NULL;
    if (!p) {
        (void)ERR(-ENOMEM, "cannot allocate %zu bytes", bytes);
        return NULL;
    }
    return memset(p, 0, rounded);
}
