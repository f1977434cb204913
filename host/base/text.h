/* text.h : appends to bounded strings, cleans untrusted text, converts numbers in any locale, and
 * reads NAME:REST specs. */
#ifndef TEXT_H
#define TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    char *to; /* the caller's, always terminated */
    size_t size, n;
    bool full; /* truncated; further text is dropped */
};

/* to: [size], size > 0 */
struct text text_in(char *to, size_t size);

/* Append as much as fits. */
void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Decode the UTF-8 character at `at`, which must not be a text's end. Returns its length in bytes,
 * with its number in *code; 0 if none begins there. */
int text_character(const char *at, unsigned *code);

/* Return the length of the character at `at`; 0 if invalid or a control character. */
int text_printable(const char *at);

/* Make a text safe for a terminal: each byte of control characters (newlines included) and of
 * invalid UTF-8 becomes '?'. */
void text_clean(char *text);

/* Return the value of a lower-case hexadecimal digit; -1 if it is none. */
static inline int text_hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return the value of two of them; -1 if one is none. */
static inline int text_hex_byte(const char *at)
{
    const int high = text_hex(at[0]), low = high < 0 ? -1 : text_hex(at[1]);
    return low < 0 ? -1 : high << 4 | low;
}

/* ---- numbers with a decimal point, whatever locale the program has set ---- */

/* as strtod() */
double number_read(const char *text, char **end);

/* Read a finite decimal number from what a user wrote: not hexadecimal, and no blank before it.
 * Returns its end, or NULL if none begins at text; *x is then unchanged. */
const char *number_take(const char *text, double *x);

/* The same for a text that has nothing after the number. */
bool number_whole(const char *text, double *x);

/* Print x with so many significant digits, as "%.*g", to to [size]. Returns as snprintf(). */
int number_print(char *to, size_t size, int digits, double x);

/* ---- specs NAME or NAME:REST, which choose a row of a table; parts NAME.REST ---- */

/* Return true if the spec has this name, with *rest set to the text after the colon, or NULL
 * without one. Otherwise *rest is unchanged. */
static inline bool word_has_name(const char *word, const char *name, const char **rest)
{
    const size_t length = strcspn(word, ":");
    if (strlen(name) != length || memcmp(word, name, length) != 0)
        return false;
    *rest = word[length] ? word + length + 1 : NULL;
    return true;
}

/* Return true if word [n] is `name`. */
static inline bool word_is(const char *word, size_t n, const char *name)
{
    return n == strlen(name) && !memcmp(word, name, n);
}

/* Return true if `word` is name [n] or a leading part: "s1b0" of "s1b0.conv1.weight". */
static inline bool word_is_part(const char *word, const char *name, size_t n)
{
    return !strncmp(word, name, n) && (word[n] == '.' || !word[n]);
}

#endif
