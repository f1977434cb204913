/* text.c : words put one behind the other into a buffer of fixed size. */
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text text_in(char *to, size_t size)
{
    *to = 0;
    return (struct text){.to = to, .size = size};
}

void text_add(struct text *t, const char *format, ...)
{
    if (t->full)
        return;
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(t->to + t->n, t->size - t->n, format, ap);
    va_end(ap);
    t->full = n < 0 || (size_t)n >= t->size - t->n;
    t->n += t->full ? strlen(t->to + t->n) : (size_t)n;
}
