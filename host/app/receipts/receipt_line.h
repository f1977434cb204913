/* receipt_line.h : declares the lines of --receipts: digests of a step, and roots of epochs.
 * README.md has the format. */
#ifndef RECEIPT_LINE_H
#define RECEIPT_LINE_H
#include "app/receipts/digest.h"
#include "base/jsonl.h"
#include "base/jsonl_read.h"

/* RECEIPT_GRADIENTS: only compared (--verify-every); the others are also written. */
enum receipt_kind {
    RECEIPT_CODES, /* of each rank or block; the rest is the same on all */
    RECEIPT_MEANS,
    RECEIPT_STATES,
    RECEIPT_WEIGHTS,
    RECEIPT_GRADIENTS,
    RECEIPT_KINDS,
    RECEIPT_WRITTEN = RECEIPT_GRADIENTS
};
/* "codes", ..., as in messages and in NARROWCAST_TEST_FLIP */
extern const char *const receipt_words[RECEIPT_KINDS];

enum { RECEIPT_LAYER = 8 }; /* bytes of a layer's digest that are kept */

/* Digests of one rank: for each kind that of all layers, then the beginnings of the layers'. */
struct receipt {
    int n_ranks, n_layers;
    uint64_t step, epoch; /* from 1 */
    bool skipped;
    uint8_t *all; /* [n_ranks][receipt_bytes()] */
};
size_t receipt_bytes(int n_layers);
uint8_t *receipt_at(const struct receipt *r, int rank, enum receipt_kind kind);

/* True if they are equal; else *layer is the first layer that differs, or -1. */
bool receipt_equal(const uint8_t *a, const uint8_t *b, int n_layers, int *layer);

/* Return the most bytes that the line of a step may have. */
size_t receipt_line_bytes(int n_ranks, int n_layers);

/* Write the line of a step. text: scratch of receipt_line_bytes(). */
int receipt_write(const struct receipt *r, struct jsonl *to, char *text);

/* Read the last line, a step's, into *r, whose numbers of ranks and layers and whose memory are
 * set. Reports -EINVAL. */
int receipt_read(const struct jsonl_in *in, struct receipt *r);

/* Return a count of the last line, or 0 if it has none. */
uint64_t receipt_number(const struct jsonl_in *in, const char *key);

/* Report -EBADMSG if the line of kind options that was just read is not the first. earlier: what
 * was kept of the first, or NULL. */
int receipt_first_options(const struct jsonl_in *in, const void *earlier);

/* An epoch's last root in a file, and its steps. An interrupted training has steps without a root
 * up to `end`; else this is `last`. */
struct receipt_root {
    uint64_t first, last, end;
    char root[DIGEST_HEX];
};

/* Make the roots of an epoch from the lines of a file, and compare them with the lines that state
 * them. Fills *out. Reports -EINVAL (no such epoch), or -EBADMSG if lines were changed, are missing
 * or occur twice. */
int receipt_check_root(const char *path, uint64_t epoch, struct receipt_root *out);

#endif
