/* train_report.h : reports a training run from rank 0: the progress line, the log, the final table.
 *
 * Int results are 0 or a negative errno that has been reported. */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H
#include "app/train/segmentation.h"
#include "base/jsonl.h"
#include "base/progress.h"
#include "reduce/reducer.h"

struct train;

struct report_step {
    uint64_t epoch; /* counted from 0 */
    double loss;    /* mean over the whole batch */
    double lr, seconds;
    double input_s; /* s, part of seconds: preparing images */
    struct reducer_step reduced;
};

struct report_epoch {
    uint64_t epoch; /* counted from 0 */
    double train_loss, train_accuracy, test_loss, test_accuracy;
    double train_labels, test_labels; /* counted labels; train_labels without skipped steps */
    double test_top;                  /* share of test labels among the NN_TOP likeliest classes */
    struct segmentation map;          /* label maps only */
    double test_cer;                  /* transcripts: edits over letters */
    double test_bits;                 /* loss in bits a label */
    uint32_t checksum;                /* of the weights */
};

struct report_time {
    double seconds, input_s, comm_s, codec_s, hidden_s, exposed_s, waited_s, steps;
};

struct report {
    struct progress progress;
    struct jsonl log;
    struct report_time window, all; /* since the last progress line; since the start */
    uint64_t sent_bytes;            /* this rank, all steps */
    uint64_t steps_by_way;          /* steps whose gradients all came from cards */
    uint64_t redone;                /* buckets meant for cards, reduced by MPI */
    uint64_t fp32_sent_bytes;       /* this rank, one step in fp32 by the same algorithm */
    struct report_epoch last;
};

/* Opens the log and writes its first line. */
int report_open(struct train *t);
void report_close(struct train *t);

/* Whether table and log show character error rates (transcripts), and the NN_TOP share. */
bool report_shows_cer(const struct train *t);
bool report_shows_top(const struct train *t);

/* ---- lines of the open log (train_record.c) ---- */

/* Writes the run and its options; the caller ends the line. option: "log" or
 * "stats", which named the file. */
void record_run(const struct train *t, const char *option, struct jsonl *log);

int record_step(struct train *t, const struct report_step *step);
int record_epoch(struct train *t, const struct report_epoch *epoch);
/* Writes the last line of a run that is done or stopped, if there is a log. Arguments: bytes of a
 * step, sent and in fp32, means over ranks. */
int record_end(struct train *t, double mean_sent_bytes, double mean_fp32_bytes);

/* Report a finished step, which t->state already counts, and a finished epoch. */
int report_step(struct train *t, const struct report_step *step);
int report_epoch(struct train *t, const struct report_epoch *epoch);

/* Whether the last test reached --until; the same on all ranks. */
bool report_reached(const struct train *t);

/* Prints the table and the two last lines from rank 0, unless the run was
 * stopped. All ranks call it. */
int report_end(struct train *t);

/* Prints how to resume a stopped run. */
void report_stopped(const struct train *t);

#endif
