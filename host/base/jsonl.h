/* jsonl.h : writes JSON lines, one object per line. Each is flushed when complete.
 * A reader that follows the file may find the beginning of a line of more than 4 KiB. */
#ifndef JSONL_H
#define JSONL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct jsonl {
    FILE *f;
    const char *path; /* the caller's, outlives this */
    bool first;       /* the object has no key yet */
    bool failed;      /* a write failed and was reported */
};

/* append: keep the contents */
int jsonl_open(struct jsonl *j, const char *path, bool append);
/* Legal if not open. */
int jsonl_close(struct jsonl *j);
/* Start writing to f, the caller's. Only begin, values and end may follow. */
void jsonl_to(struct jsonl *j, FILE *f);

/* Writes {"kind":kind. */
void jsonl_begin(struct jsonl *j, const char *kind);
/* NULL: null */
void jsonl_text(struct jsonl *j, const char *key, const char *value);
/* nan and inf: null */
void jsonl_real(struct jsonl *j, const char *key, double value);
/* digits: written unchanged */
void jsonl_number(struct jsonl *j, const char *key, const char *digits);
void jsonl_uint(struct jsonl *j, const char *key, uint64_t value);
void jsonl_int(struct jsonl *j, const char *key, int64_t value);
void jsonl_bool(struct jsonl *j, const char *key, bool value);
/* End the line and hand it to the system. Reports only the first failure (disk full). */
int jsonl_end(struct jsonl *j);

/* Write bytes of complete lines, and hand them to the system. Reports as jsonl_end(). */
int jsonl_line(struct jsonl *j, const char *line, size_t n);

#endif
