/* vector_line.h : writes a vector as one line of JSON. Bit patterns are strings of hexadecimal
 * digits, a list of them has blanks between; JSON numbers are integers below 2^31. */
#ifndef VECTOR_LINE_H
#define VECTOR_LINE_H
#include "hls/arith/mf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static FILE *line_to; /* the vectors of one file */

/* rules: of FORMAT.md that the vector checks, such as "R7 R8" */
static inline void line_open(const char *id, const char *op, const char *rules)
{
    fprintf(line_to, "{\"id\":\"%s\",\"op\":\"%s\",\"rules\":\"%s\"", id, op, rules);
}

static inline void line_close(void)
{
    fputs("}\n", line_to);
}

static inline void line_text(const char *name, const char *text)
{
    fprintf(line_to, ",\"%s\":\"%s\"", name, text);
}

static inline void line_int(const char *name, long value)
{
    fprintf(line_to, ",\"%s\":%ld", name, value);
}

static inline void line_ints(const char *name, const int *values, size_t n)
{
    fprintf(line_to, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        fprintf(line_to, "%s%d", i ? "," : "", values[i]);
    fputc(']', line_to);
}

static inline void line_u64(const char *name, uint64_t value)
{
    fprintf(line_to, ",\"%s\":\"%016llx\"", name, (unsigned long long)value);
}

static inline void line_bare_words(const uint32_t *words, size_t n, int digits)
{
    fputc('"', line_to);
    for (size_t i = 0; i < n; i++)
        fprintf(line_to, "%s%0*x", i ? " " : "", digits, words[i]);
    fputc('"', line_to);
}

static inline void line_words(const char *name, const uint32_t *words, size_t n, int digits)
{
    fprintf(line_to, ",\"%s\":", name);
    line_bare_words(words, n, digits);
}

static inline void line_bare_bytes(const uint8_t *bytes, size_t n)
{
    fputc('"', line_to);
    for (size_t i = 0; i < n; i++)
        fprintf(line_to, "%02x", bytes[i]);
    fputc('"', line_to);
}

static inline void line_bytes(const char *name, const uint8_t *bytes, size_t n)
{
    fprintf(line_to, ",\"%s\":", name);
    line_bare_bytes(bytes, n);
}

/* digits of a code */
static inline int line_digits(struct mf_fmt f)
{
    return (int)(mf_width(f) + 3) / 4;
}

#endif
