/* train_report.h : what a training run says while it goes (progress line, log) and at its end
 * (table). Rank 0 speaks. */
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
    double input_s; /* of seconds: images made ready */
    struct reducer_step reduced;
};

struct report_epoch {
    uint64_t epoch; /* counted from 0 */
    double train_loss, train_accuracy, test_loss, test_accuracy;
    double train_labels, test_labels; /* those that count, of steps that were taken */
    double test_top;         /* share of test labels that are among the NN_TOP likeliest classes */
    struct segmentation map; /* of label maps */
    double test_cer;         /* transcripts: edits to the wanted ones, over their letters */
    double test_bits;        /* the loss, in bits a label */
    uint32_t checksum;       /* of the weights */
};

struct report_time {
    double seconds, input_s, comm_s, codec_s, hidden_s, exposed_s, waited_s, steps;
};

struct report {
    struct progress progress;
    struct jsonl log;
    struct report_time window, all; /* since the last progress line; since the start */
    uint64_t sent_bytes;            /* of this rank, all steps */
    uint64_t steps_by_way;          /* whose gradients all came through a card */
    uint64_t redone;                /* buckets that a card was to bring and MPI did */
    uint64_t fp32_sent_bytes;       /* of this rank, one step in fp32 by the same algorithm */
    struct report_epoch last;
};

/* Opens the log and writes its first line. Returns 0 or a negative errno with a line. */
int report_open(struct train *t);
void report_close(struct train *t);

/* What the final table and the log have of this run: character error rates (transcripts), the share
 * of labels among the NN_TOP likeliest classes. */
bool report_shows_cer(const struct train *t);
bool report_shows_top(const struct train *t);

/* ---- lines of the log, which is open (train_record.c) ---- */

/* What a log begins with: the run and its options, in a line that the caller ends.
 * option: "log" or "stats", the one that named the file. */
void record_run(const struct train *t, const char *option, struct jsonl *log);

/* Return 0 or a negative errno with a line. */
int record_step(struct train *t, const struct report_step *step);
int record_epoch(struct train *t, const struct report_epoch *epoch);
/* The last line, of a run that is done or was stopped; nothing without a log. Arguments: the means
 * over ranks of what a step sent, and would have sent in fp32. */
int record_end(struct train *t, double mean_sent_bytes, double mean_fp32_bytes);

/* A step that is done (t->state counts it), an epoch that is. Return 0, or a negative errno with a
 * line (log: disk full). */
int report_step(struct train *t, const struct report_step *step);
int report_epoch(struct train *t, const struct report_epoch *epoch);

/* The last test was as good as --until asks: the same on all ranks. */
bool report_reached(const struct train *t);

/* All ranks call it; rank 0 prints the table and the two last lines, unless the run was stopped.
 * Returns 0 or a negative errno. */
int report_end(struct train *t);

/* The last line of a run that was stopped: where to go on. */
void report_stopped(const struct train *t);

#endif
