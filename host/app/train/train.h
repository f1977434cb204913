/* train.h : declares a training job of one rank: all that `narrowcast
 * train` opens, and its progress.
 *
 *     cmd_train  options -> ranks -> train_open -> train_run -> report_end -> train_agree
 *                -> train_close
 *     train_run  per step:  batch -> model -> (dump) -> reducer -> optimiser
 *                           -> one small sum over ranks -> report
 *                per epoch: average statistics, test, compare all ranks, report;
 *                           then checkpoints
 *
 * Failures: err_hold() is always on. Failures that any rank can find while opening end in
 * train_agree(). A failure of one rank in mid-run (log, dump, checkpoint: disk full) waits in
 * `pending`. The sum at the end of the next step tells all ranks of it; they save and end. A
 * failure after the last step is reported after the final table. */
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

enum { TRAIN_SKIPS_MAX = 20 }; /* skipped steps in a row that end the run */
enum { TRAIN_RUN_ID = CHECKPOINT_RUN_BYTES + 1 };

/* Sums over this rank's labels in the epoch so far, without skipped steps. An image has one label;
 * a label map has one for each pixel. */
struct train_sums {
    double loss, correct, labels;
};

/* Progress that a checkpoint holds in addition to weights, optimiser states and statistics. */
struct train_state {
    uint64_t step; /* steps done, skipped ones included */
    uint64_t skipped, skipped_in_row;
    struct train_sums sums;
};

struct train {
    const struct train_options *o;
    struct comm *comm;
    int rank, n_ranks;
    /* Emulated ranks (train_emulate.c): the owner, rank 0, whose data, network, optimiser and
     * `host` this rank uses. NULL: this rank has its own. */
    struct train *lead;
    bool low_memory;   /* use the owner's gradients, computed twice a step */
    real *spare_stats; /* [n_stats] low memory: scratch statistics of the second pass */
    bool again;        /* in the second pass */
    /* Seconds in this step of all ranks that use this rank's network: forward and backward passes,
     * casts, preparing images. */
    double computed_s, cast_s, input_s;
    /* The failure that ends the run is known to all ranks and reported. */
    bool agreed;
    /* A failure that only this rank knows of yet. `lost`: the network failed, not only a file, so
     * there is nothing to save. */
    int pending;
    bool lost;
    bool ends_early;  /* a file failed before the last step: all ranks save and end */
    bool saved_early; /* that save succeeded, as far as this rank knows */
    /* the signal that stops the run before its last step; NULL: none */
    const struct stop_signal *stopped_by;
    char lines[TRAIN_LINES_MAX]; /* opt_lines() of all options */
    /* Rank 0: the id of the run since its first step, as in its logs and checkpoints.
     * CHECKPOINT_RUN_BYTES hex digits; "" until train_open() sets it. */
    char run_id[TRAIN_RUN_ID];

    struct job job;          /* all-reduce of the gradients */
    const struct nn_ops *nn; /* the backend, or the rounding layer in front of it */
    bool on_gpu;             /* the backend is a GPU, which is open */
    struct nn_setup setup;
    struct nn_block block;
    struct gemm_rule gemm;
    struct round_setup round;
    struct scale_setup scaling;
    int least_exponent; /* of the least activation gradient without underflow; fp32: as fp16 */

    struct dataset *data;
    uint32_t data_crc; /* of all data */
    struct augment augment;
    uint32_t *order; /* [data->n_train] image order of this epoch */
    int share;       /* images of this rank in a step */
    int micro_share; /* images of a micro-batch */
    int eval_batch;  /* images; not less than micro_share */
    struct feed *feed;

    struct nn_model *model;
    const struct nn_param *params;
    int n_params;
    /* grads and stats belong to this rank, also if it is emulated. */
    real *weights, *grads, *stats;
    float *scales;   /* [n_scales] this rank's scales of layers, host memory */
    size_t n_scales; /* 0 without --loss-scale adaptive */
    real *micro_sum; /* [n_weights] sum over micro-batches; NULL: there is one */
    float **layers;  /* [n_params] into grads */
    /* [n_weights] fp32 means over ranks beside gradients in halves. NULL:
     * means replace the gradients. */
    real *means;
    float **mean_layers; /* [n_params] into means; NULL without means */
    size_t n_weights, n_stats;
    /* [n_weights + n_stats] host memory: copy of the backend's arrays, for files and checksums */
    real *host;
    real *own_stats; /* [n_stats] scratch, host memory */
    double *wide;    /* [n_stats] scratch, host memory */
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

/* Agrees on a result. All ranks call this with their own rc; the lowest rank that failed reports
 * its error. Returns that rank's code on every rank. */
int train_agree(struct train *t, int rc);

/* Open the job. Before: *t is zero except for o and comm. Each stage ends in train_agree(). Returns
 * 0 or a negative errno, the same on all ranks. */
int train_open(struct train *t);
void train_close(struct train *t);

/* Opens, trains and reports. Returns 0, a negative errno, or the exit status of a run that a signal
 * stopped. Errors have been reported, and all ranks know of them or the job has been aborted. */
int train_all(struct train *t);

/* Computes this rank's gradients of the step and returns losses and counts of its images
 * (train_compute.c). early: the reducer has begun, so it is notified of each layer as its gradient
 * becomes ready. Not allowed with several micro-batches. */
struct nn_result train_compute(struct train *t, bool early);

/* ---- many ranks in one process (train_emulate.c) ---- */

bool train_is_emulated(const struct train *t);

/* Prints how much memory all emulated ranks will take, or refuses it. Call after the model is open.
 * Returns 0 or a negative errno after reporting it. */
int train_emulate_fits(struct train *t, const struct reducer_layer *layers);

/* Sets up what this rank shares with the owner and what it has for itself. Returns 0 or -ENOMEM. */
int train_emulate_join(struct train *t);
void train_emulate_leave(struct train *t);

/* Tells the reducers of a low-memory run how to recompute gradients. Call after the job is open. */
void train_low_share(struct train *t);

/* Makes the network use this rank's gradients and statistics. Call before each pass. No effect
 * unless ranks are emulated. */
void train_emulate_turn(struct train *t);

/* Waits until all ranks have their means, then updates the shared weights once.
 * Returns 0 or a negative errno. */
int train_emulate_update(struct train *t, double lr, bool skipped);

/* Replaces the times of the owner by those of all ranks: casts, and as comm_s everything that is
 * not computing. An emulated rank's own waiting time would include the computing of other ranks. No
 * effect unless ranks are emulated. */
void train_emulate_time(struct train *t, struct report_step *step);

/* ---- CPU or GPU (train_device.c) ---- */

/* Translates the options about number formats. Returns 0, or -EINVAL after reporting it. */
int train_device_settle(struct train *t);
/* Opens the backend where the job's gradients are. All ranks call it after job_settle(). Returns 0
 * or a negative errno after reporting it. */
int train_device_open(struct train *t);
/* Bytes of one number in the backend's weights, gradients, velocities and statistics. */
size_t train_weight_bytes(const struct train *t);
/* Whether the means over ranks need memory of their own (t->means): fp16-pure on a GPU with
 * --reduce-in fp32. train_means_open() returns 0 or -ENOMEM. */
bool train_has_means(const struct train *t);
int train_means_open(struct train *t);
void train_means_close(struct train *t);
/* Returns the gradients that the optimiser reads: t->means or t->grads. */
real *train_means(const struct train *t);
/* Prints the GPU, one line from rank 0; nothing on the CPU. */
void train_device_say(const struct train *t);

/* Rounds the means of params [first, first + n) in t->grads as --reduce-in says. Only with
 * fp16-pure on a CPU; else it does nothing. */
void train_narrow_means(struct train *t, int first, int n);
void train_device_close(struct train *t);

/* ---- cards in the network (train_offload.c) ---- */

/* Prints which path was chosen and why, one line from rank 0. */
void train_offload_say(struct train *t);
/* Prints the cards' lines of the final table. */
void train_offload_print(const struct train *t);
/* Writes what added the gradients: "direct", "group-scatter:2", "offload" or, after cards were
 * lost, "offload in 7 of 12 steps, else direct". */
void train_offload_added(const struct train *t, struct text *to);

/* ---- the timeline (train_trace.c); no effect without --trace ---- */

int train_trace_open(struct train *t);  /* after the reducer is open */
int train_trace_start(struct train *t); /* all ranks: starts the clock at 0 */
/* Gathers the timelines; rank 0 writes the file. All ranks call it. Returns 0 or a negative errno
 * of comm.h. *file_rc: the result of the file, on rank 0. */
int train_trace_write(struct train *t, int *file_rc);
void train_trace_close(struct train *t);

/* Returns the checksum of all data of --data, for comparison between ranks and in checkpoints. */
static inline uint32_t train_data_crc(const struct train *t)
{
    return (t->lead ? t->lead : t)->data_crc;
}

/* ---- files that a run appends to: --log, --stats (train_log.c) ---- */

/* Gives the run an id if it has none. Rank 0 calls it after a checkpoint was loaded. */
void train_run_id_set(struct train *t);

/* Opens and locks a file of --log or --stats. option: "log" or "stats"; a file written for the
 * other option is refused. With --resume the file must be empty, new or this run's, and is cut to
 * the lines before the run's first step. The caller then writes the first line (record_run()).
 * Returns 0 or a negative errno after reporting it, with the file unchanged. */
int train_log_open(const struct train *t, const char *option, const char *path, struct jsonl *log);

/* Trains to the end, or to the end of the step in which a rank was asked to stop (t->stopped_by).
 * Returns 0 or a negative errno. Unless t->agreed, other ranks do not know of the error. */
int train_run(struct train *t);

/* Ends an epoch: averages the batch norms' statistics over ranks, tests, compares the ranks,
 * reports. keep: the averages replace the statistics; else they serve only this test. */
int train_epoch_end(struct train *t, bool keep);

#endif
