/* train_report.h : reports a training run from rank 0: progress line, final table and log. */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H
#include "base/jsonl.h"
#include "base/progress.h"
#include "reduce/reducer.h"

struct train;

struct report_step {
    uint64_t epoch; /* from 0 */
    double loss;    /* mean over the whole batch */
    double lr, seconds;
    double input_s; /* s, preparing images; part of `seconds` */
    struct reducer_step reduced;
};

/* Quality of label maps. Source: mIoU and mAcc of MMSegmentation. */
struct segmentation {
    /* Mean over classes that occur or were predicted: correct pixels / pixels with that label or
     * prediction. */
    double mean_iou;
    /* Mean over classes that occur: correct pixels / pixels of the class. */
    double mean_accuracy;
};

/* Returns both means from a confusion table; nan without pixels (train_eval.c). confusion:
 * [classes][classes] pixels by true (row) and predicted class (column). */
struct segmentation segmentation_of(const double *confusion, int classes);

struct report_epoch {
    uint64_t epoch; /* from 0 */
    double train_loss, train_accuracy, test_loss, test_accuracy;
    /* counted labels; train_labels without skipped steps */
    double train_labels, test_labels;
    double test_top;         /* share of test labels among the NN_TOP likeliest */
    struct segmentation map; /* label maps only */
    double test_cer;         /* transcripts: edits / letters */
    double test_bits;        /* loss in bits per label */
    uint32_t checksum;       /* of the weights */
};

struct report_time {
    double seconds, input_s, comm_s, codec_s, hidden_s, exposed_s, waited_s, steps;
};

struct report {
    struct progress progress;
    struct jsonl log;
    struct report_time window, all; /* since the last progress line; since the start */
    uint64_t sent_bytes;            /* by this rank in all steps */
    uint64_t steps_by_card;         /* whose gradients all came from cards */
    uint64_t redone;                /* buckets for cards, reduced by MPI */
    uint64_t fp32_sent_bytes;       /* by this rank in an fp32 step; direct if auto chose */
    struct report_epoch last;
};

int report_open(struct train *t);
void report_close(struct train *t);

/* Report a finished step (already counted in t->state) or epoch. */
int report_step(struct train *t, const struct report_step *step);
int report_epoch(struct train *t, const struct report_epoch *epoch);

/* Prints the table and the last two lines unless the run was stopped. All ranks call it. */
int report_end(struct train *t);

void report_stopped(const struct train *t);

/* ---- train_record.c: facts of the run, and lines of the open log ---- */

/* Return true if table and log show character error rates (transcripts), or the NN_TOP share. */
bool report_shows_cer(const struct train *t);
bool report_shows_top(const struct train *t);

/* Returns whether the last test reached --until; the same on all ranks. */
bool report_reached(const struct train *t);

/* The caller ends the line. option: "log", "stats" or "receipts", which named the
 * file. */
void record_run(const struct train *t, const char *option, struct jsonl *log);

int record_step(struct train *t, const struct report_step *step);
int record_epoch(struct train *t, const struct report_epoch *epoch);
/* Writes the last line of a done or stopped run, if there is a log. Arguments: bytes of a step,
 * means over ranks: sent, and in fp32. */
int record_end(struct train *t, double mean_sent_bytes, double mean_fp32_bytes);

#endif
