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
 * `pending` until the sum of the next step tells all ranks, which save and end. After the last step
 * it is reported after the table.
 *
 * Unless stated otherwise, int results are 0 or a negative errno that has been reported. */
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

/* Sums over labels of this rank in the epoch, without skipped steps: one
 * an image, or one a pixel. */
struct train_sums {
    double loss, correct, labels;
};

/* Progress that a checkpoint holds. */
struct train_state {
    uint64_t step; /* steps done, skipped ones included */
    uint64_t skipped, skipped_in_row;
    struct train_sums sums;
};

struct train {
    const struct train_options *o;
    struct comm *comm;
    int rank, n_ranks;
    /* Emulated ranks: the owner (rank 0), whose data, network, optimiser and `host` this rank
     * uses. NULL: it has its own. */
    struct train *lead;
    bool low_memory;   /* use the owner's gradients, computed twice a step */
    real *spare_stats; /* [n_stats] low memory: scratch statistics of the second pass */
    bool again;        /* in the second pass */
    /* Seconds in this step of all ranks that use this network: passes, casts, preparing images. */
    double computed_s, cast_s, input_s;
    /* The failure that ends the run is known to all ranks and reported. */
    bool agreed;
    /* A failure that only this rank knows of yet. `lost`: the network failed, so
     * there is nothing to save. */
    int pending;
    bool lost;
    bool ends_early;  /* a file failed before the last step: all ranks save and end */
    bool saved_early; /* that save succeeded, as far as this rank knows */
    /* the signal that stops the run before its last step; NULL: none */
    const struct stop_signal *stopped_by;
    char lines[TRAIN_LINES_MAX]; /* opt_lines() of all options */
    /* Rank 0: the id of the run, CHECKPOINT_RUN_BYTES hex digits; "" until train_open() sets it. */
    char run_id[TRAIN_RUN_ID];

    struct job job;          /* all-reduce of the gradients */
    const struct nn_ops *nn; /* the backend, or the rounding layer on top */
    bool on_gpu;             /* the backend is an open GPU */
    struct nn_setup setup;
    struct nn_block block;
    struct nn_loss loss;
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
    /* [n_weights] fp32 means over ranks beside gradients in halves; NULL:
     * means replace the gradients. */
    real *means;
    float **mean_layers; /* [n_params] into means; NULL without means */
    size_t n_weights, n_stats;
    /* [n_weights + n_stats] host copy of the backend's arrays, for files and checksums */
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

/* Agrees on a result. All ranks call it; the lowest that failed reports its error.
 * Returns its code on every rank. */
int train_agree(struct train *t, int rc);

/* *t is zero except for o and comm. Each stage ends in train_agree(), so that the result
 * is the same on all ranks. */
int train_open(struct train *t);
void train_close(struct train *t);

/* Opens, trains and reports. Returns 0, a negative errno that all ranks know of unless the job was
 * aborted, or the exit status of a run that a signal stopped. */
int train_all(struct train *t);

/* Computes this rank's gradients of the step; returns losses and counts (train_compute.c). early:
 * the reducer has begun and is notified as layers become ready; not with several micro-batches. */
struct nn_result train_compute(struct train *t, bool early);

/* ---- many ranks in one process (train_emulate.c) ---- */

bool train_is_emulated(const struct train *t);

/* Prints the memory that all emulated ranks will take, or refuses it.
 * Call after the model is open. */
int train_emulate_fits(struct train *t, const struct reducer_layer *layers);

/* Sets up what this rank shares with the owner, and its own. */
int train_emulate_join(struct train *t);
void train_emulate_leave(struct train *t);

/* Tells reducers how to recompute gradients, with low memory. Call after the job is open. */
void train_low_share(struct train *t);

/* Makes the network use this rank's gradients and statistics, if ranks are emulated. Call before
 * each pass. */
void train_emulate_turn(struct train *t);

/* Waits until all ranks have their means, then updates the shared weights once. */
int train_emulate_update(struct train *t, double lr, bool skipped);

/* Replaces the owner's times by those of all ranks, if ranks are emulated: a rank's own waiting
 * time would include the computing of others. codec_s: all casts; comm_s: the rest of the step,
 * without computing and preparing images. */
void train_emulate_time(struct train *t, struct report_step *step);

/* ---- CPU or GPU (train_device.c) ---- */

/* Translates the options about number formats. */
int train_device_settle(struct train *t);
/* Opens the backend where the job's gradients are. All ranks, after job_settle(). */
int train_device_open(struct train *t);
/* Bytes of one number in the backend's weights, gradients, velocities and statistics. */
size_t train_weight_bytes(const struct train *t);
/* Whether means over ranks need memory of their own: fp16-pure on a GPU with --reduce-in fp32. */
bool train_has_means(const struct train *t);
int train_means_open(struct train *t);
void train_means_close(struct train *t);
/* Returns the gradients that the optimiser reads: t->means or t->grads. */
real *train_means(const struct train *t);
/* Prints the GPU, one line from rank 0; nothing on the CPU. */
void train_device_say(const struct train *t);

/* Rounds the means of params [first, first + n) in t->grads as --reduce-in
 * says, with fp16-pure on a CPU. */
void train_narrow_means(struct train *t, int first, int n);
void train_device_close(struct train *t);

/* ---- cards in the network (train_offload.c) ---- */

/* Prints the path and why it was chosen, one line from rank 0. */
void train_offload_say(struct train *t);
/* Prints the cards' lines of the final table. */
void train_offload_print(const struct train *t);
/* Writes what added the gradients: "direct", "group-scatter:2", "offload" or, if cards were lost,
 * "offload in 7 of 12 steps, else direct". */
void train_offload_added(const struct train *t, struct text *to);

/* ---- the timeline (train_trace.c); no effect without --trace ---- */

int train_trace_open(struct train *t);  /* after the reducer is open */
int train_trace_start(struct train *t); /* all ranks: starts the clock at 0 */
/* Gathers the timelines; rank 0 writes them. All ranks. Returns 0 or a negative errno of comm.h.
 * *file_rc: the result of the file, on rank 0. */
int train_trace_write(struct train *t, int *file_rc);
void train_trace_close(struct train *t);

/* Checksum of all data of --data. Ranks compare it, and a checkpoint keeps it. */
static inline uint32_t train_data_crc(const struct train *t)
{
    return (t->lead ? t->lead : t)->data_crc;
}

/* ---- files that a run appends to: --log, --stats (train_log.c) ---- */

/* Gives the run an id if it has none; rank 0, after a checkpoint was loaded. */
void train_run_id_set(struct train *t);

/* Opens and locks a file of --log or --stats. option: "log" or "stats"; the other's file is
 * refused. With --resume the file must be empty, new or this run's, and is cut to the lines
 * before the run's first step. The caller writes the first line (record_run()). After an
 * error the file is unchanged. */
int train_log_open(const struct train *t, const char *option, const char *path, struct jsonl *log);

/* Trains to the end, or to the end of the step in which a rank was asked to stop (t->stopped_by).
 * Other ranks know of an error only if t->agreed. */
int train_run(struct train *t);

/* Averages the batch norms' statistics over ranks, tests, compares the ranks, reports. keep: the
 * averages replace the statistics; else they serve only this test. */
int train_epoch_end(struct train *t, bool keep);

#endif
