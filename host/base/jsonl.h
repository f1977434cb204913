/* jsonl.h : JSON lines: one object a line, written whole, so that a reader may follow the file
 * while it grows. */
#ifndef JSONL_H
#define JSONL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct jsonl {
    FILE *f;
    const char *path; /* the caller's, outlives this */
    bool first;       /* no key written in this object yet */
    bool failed;      /* a line could not be written, and that was said */
};

/* append: keeps what the file holds. Returns 0 or a negative errno with a line. */
int jsonl_open(struct jsonl *j, const char *path, bool append);
int jsonl_close(struct jsonl *j); /* 0 or a negative errno; legal when not open */
/* writes to f, which stays the caller's: use begin, values and end alone */
void jsonl_to(struct jsonl *j, FILE *f);

void jsonl_begin(struct jsonl *j, const char *kind);                  /* {"kind":kind */
void jsonl_text(struct jsonl *j, const char *key, const char *value); /* NULL: null */
/* nan and inf, which JSON lacks: null */
void jsonl_real(struct jsonl *j, const char *key, double value);
/* a number that is text already */
void jsonl_number(struct jsonl *j, const char *key, const char *digits);
void jsonl_uint(struct jsonl *j, const char *key, uint64_t value);
void jsonl_int(struct jsonl *j, const char *key, int64_t value);
void jsonl_bool(struct jsonl *j, const char *key, bool value);
/* Ends the line and hands it to the system. Returns 0 or a negative errno (disk full), the first time
 * with a line. */
int jsonl_end(struct jsonl *j);

#endif
