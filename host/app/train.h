/* train.h : a training job of one rank: everything that `narrowcast train` opens, and how far it has come.
 *
 *     cmd_train   options -> ranks -> train_open -> train_run -> report_end -> train_close
 *     train_run   per step: batch -> model -> (dump) -> reducer -> optimiser -> one small sum over ranks -> report
 *                 per epoch: statistics averaged, test images, all ranks compared, report; then checkpoints
 *
 * Failures: err_hold() is on all the time. What every rank may find (open) ends in train_agree(). What one rank finds
 * alone in mid-run (log, dump, checkpoint: disk full) waits in `pending` until the next step's sum tells all of them. */
#ifndef TRAIN_H
#define TRAIN_H
#include "app/train_options.h"
#include "app/train_report.h"
#include "comm/algo.h"
#include "comm/comm.h"
#include "comm/reducer.h"
#include "nn/dataset.h"
#include "nn/model.h"
#include "nn/optim.h"
#include "offload/choice.h"
#include "offload/offload.h"

enum { TRAIN_SKIPS_MAX = 20 }; /* steps skipped in a row that end the run */

/* Of this rank's images of the epoch so far, without those of skipped steps. */
struct train_sums {
    double loss, correct, images;
};

/* What a checkpoint holds beside weights, velocities and statistics. */
struct train_state {
    uint64_t step; /* steps done, skipped ones too */
    uint64_t skipped, skipped_in_row;
    struct train_sums sums;
};

struct train {
    const struct train_options *o;
    struct comm *comm;
    int rank, n_ranks;
    bool agreed;                 /* the failure that ends the run has been said, and all ranks know of it */
    int pending;                 /* a failure of this rank that the others do not know of yet */
    char lines[TRAIN_LINES_MAX]; /* opt_lines() of all options */

    struct codec codec;
    const struct algo *algo;
    int group;
    struct reducer *reducer;
    struct choice choice;    /* cards that gradients go through */
    struct offload *offload; /* NULL: none */

    struct dataset *data;
    uint32_t *order; /* [data->n_train] of this epoch */
    int share;       /* images of a step on this rank */
    int eval_batch;  /* of a rank; not less than share */
    real *x;         /* [eval_batch] images */
    int32_t *labels;

    struct nn_model *model;
    const struct nn_param *params;
    int n_params;
    real *weights, *grads, *stats;
    float **layers; /* [n_params] into grads */
    size_t n_weights, n_stats;
    real *own_stats; /* [n_stats] spare */
    double *wide;    /* [n_stats] spare */
    struct optim *optim;
    struct schedule schedule;

    uint64_t steps_per_epoch, n_steps; /* n_steps: of the whole run */
    struct train_state state;
    struct report report;
};

/* All ranks call this with their own result; the lowest that failed speaks. Returns its code on every rank. */
int train_agree(struct train *t, int rc);

/* t: zeroed but for o and comm. Each phase ends in train_agree(). Returns 0 or a negative errno, the same on all ranks. */
int train_open(struct train *t);
void train_close(struct train *t);

/* ---- cards in the network (train_offload.c) ---- */

/* Behind the reducer, which goes by them from now on. All ranks; returns 0 or a negative errno, cards that do not answer are
 * none. */
int train_offload_open(struct train *t);
void train_offload_say(struct train *t);         /* what was chosen and why, one line of rank 0 */
void train_offload_print(const struct train *t); /* lines of the final table */
void train_offload_close(struct train *t);

/* Trains to the end. Returns 0 or a negative errno; unless t->agreed, other ranks do not know of it. */
int train_run(struct train *t);

/* Averages the batch norms' statistics over ranks, tests with them, compares the ranks, reports the epoch. keep: the averages
 * stay (the end of an epoch), else they serve for this test alone. */
int train_epoch_end(struct train *t, bool keep);

/* zlib's crc32 of the weights' bytes. */
uint32_t train_checksum(const struct train *t);

#endif
