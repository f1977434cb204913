/* cast_rows.h : declares the rows of bench_cast, and copies of memory to compare them with. */
#ifndef CAST_ROWS_H
#define CAST_ROWS_H
#include "vec/vec.h"

enum { COPIES_MAX = 8 };

/* n: a multiple of 4 pages; to and from do not overlap, 64-byte aligned. */
struct copy {
    const char *name;
    void (*run)(char *to, const char *from, size_t n);
};
void copy_memcpy(char *to, const char *from, size_t n);

/* Returns the number of copies that this CPU supports, memcpy first. */
int copies_here(struct copy copies[COPIES_MAX]);

/* Returns the last copy, which has the widest registers. */
struct copy copies_stream(void);

/* Returns bits that depend on all n bytes; n: a multiple of 256. */
uint64_t copies_read(const char *from, size_t n);

struct bench {
    struct vec_ops ops;
    size_t n; /* floats */
    float *x;
    uint8_t *copy, *codes; /* [4n] each: results of copies and casts; codes to add */
    struct copy fastest, stream;
    volatile uint32_t sink;
};

struct row {
    const char *name;
    size_t (*run)(struct bench *b, const struct row *r);
    struct mf_fmt fmt;
    enum mf_round round;
    int shift;
    int copy_counts; /* bytes of a copy that count, per byte read */
};

extern const struct row cast_rows[];
extern const int n_cast_rows;
size_t cast_read(struct bench *b, const struct row *r);

/* Fills b->codes with the row's codes or wide words. */
void cast_row_fill(struct bench *b, const struct row *r);

#endif
