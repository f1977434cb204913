/* jsonl_read.h : JSON lines that anybody may have made, read one at a time: an object each, whose
 * values are found by their keys. */
#ifndef JSONL_READ_H
#define JSONL_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSONL_LINE_MAX = 1 << 20, JSONL_FIELDS_MAX = 512, JSONL_DEPTH_MAX = 16 };

/* A key and its value as they stand in the line, quotes left out of the key. */
struct jsonl_field {
    const char *key, *value;
    size_t key_bytes, value_bytes;
};

struct jsonl_in {
    FILE *f;
    const char *path;           /* the caller's, outlives this */
    uint64_t line_no;           /* of the line read last, from 1 on */
    char *line;                 /* [JSONL_LINE_MAX + 1] */
    struct jsonl_field *fields; /* [JSONL_FIELDS_MAX] of that line */
    int n_fields;
};

/* Returns 0 or a negative errno with a line. */
int jsonl_in_open(struct jsonl_in *in, const char *path);
void jsonl_in_close(struct jsonl_in *in); /* legal when zeroed */

/* The next object; empty lines are passed over. Returns 1, 0 at the end, or a negative errno with a
 * line: -EINVAL: what stands there is no JSON object, or too long. A last line that was torn, by who
 * was stopped while writing it, is the end. */
int jsonl_in_next(struct jsonl_in *in);

/* Values of the line read last. False, and nothing written: there is no such key, or what it has is
 * no text (escapes stay as they are; cut to size), no number, no list. */
bool jsonl_in_text(const struct jsonl_in *in, const char *key, char *to, size_t size);
bool jsonl_in_real(const struct jsonl_in *in, const char *key, double *to);
/* [1,2,null]: null is nan. Writes `most` at most, and says how many there are. */
bool jsonl_in_list(const struct jsonl_in *in, const char *key, double *to, size_t most, size_t *n);

/* Any value as it stands in the line, a text's quotes and escapes included. */
bool jsonl_in_raw(const struct jsonl_in *in, const char *key, char *to, size_t size);
/* Takes the quotes off such a text, and its escapes: those of more than one byte become '?'. */
void jsonl_in_plain(char *text);

/* Is "kind" this one? */
bool jsonl_in_is(const struct jsonl_in *in, const char *kind);

#endif
