/* text.h : words put one behind the other into a buffer of fixed size, which says when it is
 * full; characters of texts that anybody may have made. */
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

/* The UTF-8 character at `at`, which is not the end of a text. Returns its length in bytes, and its
 * number in *code; 0: the byte there begins no character. */
int text_character(const char *at, unsigned *code);

/* The same, but 0 for a control character, too: a terminal would obey it. */
int text_printable(const char *at);

/* Make a text fit for a terminal: each byte of a control character, line ends included, and each byte
 * that is no UTF-8 becomes a '?'. */
void text_clean(char *text);

#endif
