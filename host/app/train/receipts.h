/* receipts.h : digests every step of a training for --receipts, compares the ranks, and compares
 * with an earlier run for `narrowcast verify`. All ranks call these functions in step; without
 * receipts they have no effect. */
#ifndef RECEIPTS_H
#define RECEIPTS_H
#include "app/receipts/receipt_line.h"

struct train;

/* What `narrowcast verify` compares with its own run. */
struct receipts_wanted {
    const char *path;
    uint64_t step;       /* compare up to this one, from 1 */
    int block;           /* of this step compare only this block's codes; -1: everything */
    const char *options; /* text of the line of kind options */
};

/* Allocates memory; on rank 0, opens the file. Call it after a checkpoint is loaded. */
int receipts_open(struct train *t);
void receipts_close(struct train *t);

/* True if a block's gradients of the step after so many are computed again (--verify-every): they
 * must not be sent before all are complete, and no batch may wait in the feed. */
bool receipts_due(const struct train *t, uint64_t steps);

/* Compute the gradients of another rank's block of this step, if it is this rank's turn. */
void receipts_recompute(struct train *t);

/* This rank's gradients are complete, and not yet sent. */
void receipts_gradients(struct train *t);

/* The means of params [first, first + n) are complete, and not yet used. */
void receipts_means(struct train *t, int first, int n);

/* The step is done, but not yet counted. Reports -EPROTO if a rank differs, or -EBADMSG if the step
 * differs from the one wanted; all ranks return it. *file_rc: on rank 0 the result of writing. */
int receipts_step(struct train *t, bool skipped, int *file_rc);

#endif
