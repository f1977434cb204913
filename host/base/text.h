/* text.h : words put one behind the other into a buffer of fixed size, which says when it is
 * full. */
#ifndef TEXT_H
#define TEXT_H
#include <stdbool.h>
#include <stddef.h>

struct text {
    char *to; /* the caller's; always terminated */
    size_t size, n;
    bool full; /* something was cut off, and nothing is added any more */
};

/* An empty text in to [size], size > 0. */
struct text text_in(char *to, size_t size);

/* Adds what fits. */
void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
