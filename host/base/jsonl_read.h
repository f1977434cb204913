/* jsonl_read.h : reads JSON lines from untrusted files, one object at a time, and finds values by
 * key. */
#ifndef JSONL_READ_H
#define JSONL_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSONL_LINE_MAX = 1 << 20, JSONL_FIELDS_MAX = 512, JSONL_DEPTH_MAX = 16 };

/* text of the line, the key without quotes */
struct jsonl_field {
    const char *key, *value;
    size_t key_bytes, value_bytes;
};

struct jsonl_in {
    FILE *f;
    const char *path;           /* the caller's, outlives this */
    uint64_t line_no;           /* of the last line read, from 1 */
    char *line;                 /* [JSONL_LINE_MAX + 1] */
    struct jsonl_field *fields; /* [JSONL_FIELDS_MAX] of that line */
    int n_fields;
};

int jsonl_in_open(struct jsonl_in *in, const char *path);
void jsonl_in_close(struct jsonl_in *in); /* legal if zeroed */

/* Read the next object, skipping empty lines. Returns 1, 0 at the end, or reports a negative errno
 * (-EINVAL if the line is too long or not a JSON object). A last line torn by an interrupted writer
 * counts as the end. */
int jsonl_in_next(struct jsonl_in *in);

/* Get a value of the last line read. Return false if the key is missing or its value has another
 * type. Nothing is then written, except the numbers before a list's first element of another type.
 * A text keeps its escapes and is cut to size. */
bool jsonl_in_text(const struct jsonl_in *in, const char *key, char *to, size_t size);
bool jsonl_in_real(const struct jsonl_in *in, const char *key, double *to);
/* For a list such as [1,2,null]; null becomes nan. Writes at most `most` values. *n: length of the
 * list. */
bool jsonl_in_list(const struct jsonl_in *in, const char *key, double *to, size_t most, size_t *n);

/* Get any value as written in the line, with a text's quotes and escapes. */
bool jsonl_in_raw(const struct jsonl_in *in, const char *key, char *to, size_t size);
/* Remove quotes and escapes from a text of jsonl_in_raw(). Escapes of more than one byte become
 * '?'. */
void jsonl_in_plain(char *text);

bool jsonl_in_is(const struct jsonl_in *in, const char *kind);

/* ---- values inside values: pointers into the last line read, at a value's first character ---- */

/* Return NULL if the key is missing. */
const char *jsonl_in_value(const struct jsonl_in *in, const char *key);
const char *jsonl_member(const char *object, const char *key); /* also if it is no object */

/* Step through a list: *at is the list at first, and ends up at its end. Returns the next element;
 * NULL at the end, or if *at is no list. */
const char *jsonl_item(const char **at);

#endif
