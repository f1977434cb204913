/* train.h : a training job of one rank: everything that `narrowcast train` opens, and how far it
 * has come.
 *
 *     cmd_train   options -> ranks -> train_open -> train_run -> report_end -> train_agree -> train_close
 *     train_run   per step: batch -> model -> (dump) -> reducer -> optimiser -> one small sum over ranks -> report
 *                 per epoch: statistics averaged, test images, all ranks compared, report; then
 *                     checkpoints
 *
 * Failures: err_hold() is on all the time. What every rank may find (open) ends in train_agree().
 * What one rank finds alone in mid-run (log, dump, checkpoint: disk full) waits in `pending` until
 * the next step's sum tells all of them: they save and end; behind the last step until the table
 * has been printed. */
#ifndef TRAIN_H
#define TRAIN_H
#include "app/train/checkpoint_file.h"
#include "app/train/train_options.h"
#include "app/train/train_report.h"
#include "base/stop.h"
#include "base/trace.h"
#include "comm/comm.h"
#include "job/job.h"
#include "nn/data/dataset.h"
#include "nn/data/feed.h"
#include "nn/cpu/gemm_low.h"
#include "nn/model.h"
#include "nn/optim/optim.h"
#include "nn/round/round_ops.h"
#include <dirent.h>

enum { TRAIN_SKIPS_MAX = 20 }; /* steps skipped in a row that end the run */
enum { TRAIN_RUN_ID = CHECKPOINT_RUN_BYTES + 1 };

/* Of this rank's labels of the epoch so far (one an image, or one for each pixel), without those of
 * skipped steps. */
struct train_sums {
    double loss, correct, labels;
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
    /* The emulated rank (train_emulate.c) whose data, network, optimiser and `host` this one uses;
     * NULL: they are its own. */
    struct train *lead;
    bool low_memory;   /* gradients are the lead's, too, and made twice a step */
    real *spare_stats; /* [n_stats] low memory: what the second time does to statistics */
    bool again;        /* it is that time */
    /* of all who use this one's, in this step: forward and backward, casts, images made ready */
    double computed_s, cast_s, input_s;
    /* the failure that ends the run has been said, and all ranks know of it */
    bool agreed;
    /* a failure of this rank that the others do not know of yet, and is it more than a file: is
     * there nothing left to save */
    int pending;
    bool lost;
    bool ends_early;  /* a file failed before the last step: all ranks save, and end */
    bool saved_early; /* that went well, as far as this rank knows */
    /* NULL: no rank has been asked to stop before its last step */
    const struct stop_signal *stopped_by;
    char lines[TRAIN_LINES_MAX]; /* opt_lines() of all options */
    /* Rank 0: the id that the run has had since its first step, in its logs and checkpoints; with
     * CHECKPOINT_RUN_BYTES hex digits. "" until train_open() has it. */
    char run_id[TRAIN_RUN_ID];

    struct job job;          /* the all-reduce of the gradients */
    const struct nn_ops *nn; /* the backend of the network, or what rounds in front of it */
    bool on_gpu;             /* that is a GPU, which is open */
    struct nn_setup setup;
    struct nn_block block;
    struct gemm_rule gemm;
    struct round_setup round;
    struct scale_setup scaling;
    int least_exponent; /* of the smallest error that does not underflow; fp32: of fp16's */

    struct dataset *data;
    uint32_t data_crc; /* of all of it */
    struct augment augment;
    uint32_t *order; /* [data->n_train] of this epoch */
    int share;       /* images of a step on this rank */
    int micro_share; /* of a micro-batch: of a pass of the network */
    int eval_batch;  /* of a rank; not less than micro_share */
    struct feed *feed;

    struct nn_model *model;
    const struct nn_param *params;
    int n_params;
    real *weights, *grads, *stats; /* grads, stats: of this rank, emulated ones' too */
    float *scales;                 /* [n_scales] of layers, this rank's, host memory */
    size_t n_scales;               /* --loss-scale adaptive; else 0 */
    real *micro_sum; /* [n_weights] gradients of micro-batches so far; NULL: there is one */
    float **layers;  /* [n_params] into grads */
    /* [n_weights] means over ranks that stay in fp32 beside gradients in halves; NULL: they take the
     * gradients' place */
    real *means;
    float **mean_layers; /* [n_params] into means; NULL likewise */
    size_t n_weights, n_stats;
    /* [n_weights + n_stats] host memory: a copy of what the backend holds, for files and
     * checksums */
    real *host;
    real *own_stats; /* [n_stats] spare, host memory */
    double *wide;    /* [n_stats] spare, host memory */
    /* [n_classes][n_classes] of the test images, summed over ranks; NULL: no label maps */
    double *confusion;
    struct optim *optim;
    struct schedule schedule;

    uint64_t steps_per_epoch, n_steps; /* n_steps: of the whole run */
    struct train_state state;
    struct report report;
    struct grad_stats *grad_stats; /* NULL: none */
    DIR *dump;                     /* rank 0: the folder of --dump-gradients; NULL: none */
    struct trace *trace;           /* NULL: none */
    struct trace_span *trace_block;
};

/* All ranks call this with their own result; the lowest that failed speaks. Returns its code on
 * every rank. */
int train_agree(struct train *t, int rc);

/* t: zeroed but for o and comm. Each phase ends in train_agree(). Returns 0 or a negative errno,
 * the same on all ranks. */
int train_open(struct train *t);
void train_close(struct train *t);

/* Opens, trains and reports. What fails has been said, and all ranks know, or the job is gone.
 * Returns 0, a negative errno, or the exit status of a run that was stopped. */
int train_all(struct train *t);

/* This rank's gradients of the step, and what its images cost (train_compute.c). early: the reducer
 * has begun, and is told of layers as they get ready; not with several micro-batches. */
struct nn_result train_compute(struct train *t, bool early);

/* ---- many ranks in one process (train_emulate.c) ---- */

bool train_is_emulated(const struct train *t);

/* Behind the model's opening: says what all ranks will take, or refuses it. Returns 0 or -ENOMEM with
 * a line. */
int train_emulate_fits(struct train *t, const struct reducer_layer *layers);

/* What this rank borrows, and what it has for itself. Returns 0 or -ENOMEM with a line. */
int train_emulate_join(struct train *t);
void train_emulate_leave(struct train *t);

/* Behind the job's opening, with low memory: reducers are told how gradients are made again. */
void train_low_share(struct train *t);

/* Before a pass of the network: it is this rank's. Nothing where ranks are not emulated. */
void train_emulate_turn(struct train *t);

/* All ranks have their means: one of them updates what all use. Returns 0 or a negative errno. */
int train_emulate_update(struct train *t, double lr, bool skipped);

/* A rank that waits for others waits while they compute: its times become those of all ranks, casts
 * and all else that is not computing. Nothing where ranks are not emulated. */
void train_emulate_time(struct train *t, struct report_step *step);

/* ---- CPU or GPU (train_device.c) ---- */

/* What the options say about numbers. Returns 0 or -EINVAL with a line. */
int train_device_settle(struct train *t);
/* Behind job_settle(): the network lives where gradients do. All ranks. Returns 0 or a negative
 * errno with a line. */
int train_device_open(struct train *t);
/* Of a weight, where the network lives, its gradient, velocity and a running statistic. */
size_t train_weight_bytes(const struct train *t);
/* fp16-pure on a GPU with --reduce-in fp32: t->means. Returns 0 or -ENOMEM with a line. */
bool train_has_means(const struct train *t);
int train_means_open(struct train *t);
void train_means_close(struct train *t);
/* What the optimiser reads. */
real *train_means(const struct train *t);
/* which GPU, one line of rank 0; nothing on the CPU */
void train_device_say(const struct train *t);

/* fp16-pure on a CPU: the means over ranks of params [first, first + n), in t->grads, are rounded as
 * --reduce-in has it; else nothing. */
void train_narrow_means(struct train *t, int first, int n);
void train_device_close(struct train *t);

/* ---- cards in the network (train_offload.c) ---- */

void train_offload_say(struct train *t);         /* what was chosen and why, one line of rank 0 */
void train_offload_print(const struct train *t); /* lines of the final table */
/* Write what added the gradients: "direct", "group-scatter:2", "offload", or, if cards were lost,
 * "offload in 7 of 12 steps, else direct". */
void train_offload_added(const struct train *t, struct text *to);

/* ---- the timeline (train_trace.c); nothing without --trace ---- */

int train_trace_open(struct train *t);  /* behind the reducer */
int train_trace_start(struct train *t); /* all ranks: time 0 is now */
/* All ranks; rank 0 writes. Returns 0 or a negative errno of comm.h; *file_rc: what became of the
 * file, on rank 0. */
int train_trace_write(struct train *t, int *file_rc);
void train_trace_close(struct train *t);

/* Of all that --data holds: what ranks compare, and a checkpoint keeps. */
static inline uint32_t train_data_crc(const struct train *t)
{
    return (t->lead ? t->lead : t)->data_crc;
}

/* ---- the files that a run appends to: --log, --stats (train_log.c) ---- */

/* Rank 0, after a checkpoint was loaded: gives the run an id if it has none yet. */
void train_run_id_set(struct train *t);

/* Opens such a file and locks it. With --resume the file must be empty, new, or this run's, and is
 * cut to the lines before the run's first step. The caller writes the first line (record_run()).
 * option: "log" or "stats". A file that was written for the other option is refused.
 * Returns 0 or a negative errno with a line; then nothing in the file has changed. */
int train_log_open(const struct train *t, const char *option, const char *path, struct jsonl *log);

/* Trains to the end, or to the end of the step in which a rank was asked to stop: t->stopped_by.
 * Returns 0 or a negative errno; unless t->agreed, other ranks do not know of it. */
int train_run(struct train *t);

/* Averages the batch norms' statistics over ranks, tests with them, compares the ranks, reports the
 * epoch. keep: the averages stay (the end of an epoch), else they serve for this test alone. */
int train_epoch_end(struct train *t, bool keep);

#endif
