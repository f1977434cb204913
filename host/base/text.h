/* text.h : words put one behind the other into a buffer of fixed size, which says when it is
 * full; characters of texts that anybody may have made. */
#ifndef TEXT_H
#define TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* ---- real numbers as text with a decimal point, whatever locale the program has set
 * (setlocale is the program's) ---- */

/* As strtod(). */
double number_read(const char *text, char **end);

/* x with so many significant digits, as printf's %.*g; to [size]. Returns as snprintf. */
int number_print(char *to, size_t size, int digits, double x);

/* ---- words of the form NAME or NAME:REST, which choose a row of a table; and NAME.REST, a part of
 * what has that name ---- */

/* Has the word this name? Then *rest is what follows the colon, NULL where there is none; else it
 * stays as it was. */
static inline bool word_has_name(const char *word, const char *name, const char **rest)
{
    const size_t length = strcspn(word, ":");
    if (strlen(name) != length || memcmp(word, name, length) != 0)
        return false;
    *rest = word[length] ? word + length + 1 : NULL;
    return true;
}

/* Is it what name [n] names, or a part of it? "s1b0" names "s1b0.conv1.weight". */
static inline bool word_is_part(const char *word, const char *name, size_t n)
{
    return !strncmp(word, name, n) && (word[n] == '.' || !word[n]);
}

#endif
