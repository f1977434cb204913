/* jsonl.h : writes JSON lines: one object per line, written whole so that
 * readers may follow the file. */
#ifndef JSONL_H
#define JSONL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct jsonl {
    FILE *f;
    const char *path; /* owned by the caller, outlives this */
    bool first;       /* no key in this object yet */
    bool failed;      /* a write has failed and was reported */
};

/* append: keep the contents of the file. */
int jsonl_open(struct jsonl *j, const char *path, bool append);
int jsonl_close(struct jsonl *j); /* 0 or a negative errno; legal when not open */
/* writes to f, owned by the caller: only begin, values and end */
void jsonl_to(struct jsonl *j, FILE *f);

void jsonl_begin(struct jsonl *j, const char *kind);                  /* {"kind":kind */
void jsonl_text(struct jsonl *j, const char *key, const char *value); /* a NULL value: null */
/* nan and inf, which JSON lacks: null */
void jsonl_real(struct jsonl *j, const char *key, double value);
/* digits: a number as text */
void jsonl_number(struct jsonl *j, const char *key, const char *digits);
void jsonl_uint(struct jsonl *j, const char *key, uint64_t value);
void jsonl_int(struct jsonl *j, const char *key, int64_t value);
void jsonl_bool(struct jsonl *j, const char *key, bool value);
/* End the line and hand it to the system. Returns 0 or a negative errno (disk
 * full), reported the first time. */
int jsonl_end(struct jsonl *j);

#endif
