/* jsonl.h : writes JSON lines, one object per line. Each line is written as a whole, so that
 * readers may follow the file. */
#ifndef JSONL_H
#define JSONL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct jsonl {
    FILE *f;
    const char *path; /* owned by the caller, outlives this */
    bool first;       /* this object has no key yet */
    bool failed;      /* a write has failed and was reported */
};

/* Open a file for JSON lines. If `append`, its contents are kept. */
int jsonl_open(struct jsonl *j, const char *path, bool append);
/* Returns 0 or a negative errno. Legal if not open. */
int jsonl_close(struct jsonl *j);
/* Start writing to f, which the caller owns. Only begin, values and end may follow. */
void jsonl_to(struct jsonl *j, FILE *f);

/* Writes {"kind":kind. */
void jsonl_begin(struct jsonl *j, const char *kind);
/* A NULL value is written as null. */
void jsonl_text(struct jsonl *j, const char *key, const char *value);
/* nan and inf, which JSON lacks, are written as null. */
void jsonl_real(struct jsonl *j, const char *key, double value);
/* digits: the number as text, written unchanged. */
void jsonl_number(struct jsonl *j, const char *key, const char *digits);
void jsonl_uint(struct jsonl *j, const char *key, uint64_t value);
void jsonl_int(struct jsonl *j, const char *key, int64_t value);
void jsonl_bool(struct jsonl *j, const char *key, bool value);
/* End the line and hand it to the system. Returns 0 or a negative errno (disk
 * full), reported the first time. */
int jsonl_end(struct jsonl *j);

#endif
