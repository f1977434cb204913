/* word.h : words of the form NAME or NAME:REST, which choose a row of a table; and NAME.REST, a part of
 * what has that name. */
#ifndef WORD_H
#define WORD_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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
