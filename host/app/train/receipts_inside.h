/* receipts_inside.h : declares receipts' memory, for their files. */
#ifndef RECEIPTS_INSIDE_H
#define RECEIPTS_INSIDE_H
#include "app/train/checkpoint.h"
#include "app/train/receipts.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"

/* For tests: NARROWCAST_TEST_FLIP=KIND:RANK:STEP flips a bit of a rank's memory in a step. */
struct flip {
    bool on;
    enum receipt_kind kind; /* RECEIPT_CODES: of the gradients, so that codes differ */
    int rank;
    uint64_t step;
};

struct receipts {
    struct digest *digest, *codes_digest; /* the latter for the reducer's thread */
    uint8_t *layers;                      /* [RECEIPT_KINDS][n_params][DIGEST_BYTES] */
    uint8_t *mine;                        /* [receipt_bytes()] */
    struct receipt all;                   /* rank 0: of all ranks */
    struct flip flip;
    real *spare; /* [n_weights] gradients computed again, on a network's first rank */

    /* rank 0, writing */
    struct jsonl file;
    FILE *stream; /* into line */
    char *line, *text;
    size_t line_bytes;
    char *options; /* first leaf */
    struct merkle tree;
    uint64_t first; /* step of the tree */

    /* rank 0, comparing */
    struct jsonl_in in;
    struct receipt theirs;
};

/* Return 0, or -ENOMEM if p, whose allocation reports failures, is NULL. */
static inline int allocated(const void *p)
{
    return p ? 0 : -ENOMEM;
}

/* ---- receipts_digest.c ---- */

/* Read NARROWCAST_TEST_FLIP, if set. Reports -EINVAL. */
int receipts_read_flip(struct flip *f);

/* Digest a layer's codes: for reducer_watch(), with ctx a struct train. */
void receipts_seen(void *ctx, int layer, const void *codes, size_t bytes);

/* Draw the block that is computed again in this step, and the rank that does it: in another
 * process, if there are several. */
void receipts_draw(const struct train *t, int *block, int *helper);
void receipts_digest_gradients(struct train *t);

/* Complete this rank's digests of the step, in `mine`. */
int receipts_fill(struct train *t, bool skipped);

/* ---- receipts_file.c: rank 0 ---- */

/* Open the file of --receipts, and write or continue it. */
int receipts_open_file(struct train *t);
/* Write the line of the step in `all`, and at an epoch's or the run's end that of its root. */
int receipts_write(struct train *t);

/* ---- receipts_compare.c: rank 0 ---- */

/* Open the file of `narrowcast verify` and check that it is of the same options and data. */
int receipts_open_wanted(struct train *t);
/* Compare ranks (receipts_step()), and then with the file, if one is wanted. */
int receipts_compare(struct train *t);

#endif
