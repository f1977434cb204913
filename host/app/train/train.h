/* train.h : declares the training job of one rank: everything that `narrowcast train` opens, and
 * its progress.
 *
 *     cmd_train  options -> ranks -> train_open -> train_run -> report_end -> train_agree
 *                -> train_close
 *     train_run  per step:  batch -> model -> (dump) -> reducer -> optimiser
 *                           -> one small sum over ranks -> report
 *                per epoch: average statistics, test, compare all ranks, report;
 *                           then checkpoints
 *
 * Failures: err_hold() is always on. Failures that a rank finds while opening are settled in
 * train_agree(). During the run a single rank can fail to write its log, dump or checkpoint, for
 * example if the disk is full. The failure waits in `pending` until the sum of the next step tells
 * all ranks. These then save and end. A failure after the last step is reported after the table.
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

enum { TRAIN_SKIPS_MAX = 20 }; /* number of skipped steps in a row that ends the run */
enum { TRAIN_RUN_ID = CHECKPOINT_RUN_BYTES + 1 };

/* Sums over the labels of this rank in the epoch, without skipped steps. There is one label per
 * image, or one per pixel. */
struct train_sums {
    double loss, correct, labels;
};

/* The progress of a run, which is part of a checkpoint. */
struct train_state {
    uint64_t step; /* steps done, skipped ones included */
    uint64_t skipped, skipped_in_row;
    struct train_sums sums;
};

struct train {
    const struct train_options *o;
    struct comm *comm;
    int rank, n_ranks;
    /* For emulated ranks except the lowest of a process: the lowest, whose data, network, optimiser
     * and `host` this rank uses. NULL if this rank has its own. */
    struct train *owner;
    bool low_memory;   /* use the gradients of the owner, and compute them twice per step */
    real *spare_stats; /* [n_stats] scratch statistics of the second pass with low memory */
    bool again;        /* in the second pass with low memory */
    /* Seconds of passes, casts and preparing images in this step, summed over all ranks that use
     * this network. */
    double computed_s, cast_s, input_s;
    /* True if all ranks know the failure that ends the run, and it was reported. */
    bool agreed;
    /* A failure that so far only this rank knows. `lost`: the network failed, so nothing can be
     * saved. */
    int pending;
    bool lost;
    bool ends_early;  /* a file failed before the last step: all ranks save and end */
    bool saved_early; /* this early save succeeded, as far as this rank knows */
    /* the signal that stops the run before its last step, or NULL */
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
    /* exponent of the smallest activation gradient that does not underflow; fp32: as for fp16 */
    int least_exponent;

    struct dataset *data;
    uint32_t data_crc; /* CRC of all data */
    struct augment augment;
    uint32_t *order; /* [data->n_train] order of the images in this epoch */
    int share;       /* images of this rank in a step */
    int micro_share; /* images of a micro-batch */
    int eval_batch;  /* images; not less than micro_share */
    struct feed *feed;

    struct nn_model *model;
    const struct nn_param *params;
    int n_params;
    /* grads and stats belong to this rank, even if it is emulated. */
    real *weights, *grads, *stats;
    float *scales;   /* [n_scales] this rank's loss scales of layers, in host memory */
    size_t n_scales; /* 0 without --loss-scale adaptive */
    real *micro_sum; /* [n_weights] sum over micro-batches; NULL: there is only one */
    float **layers;  /* [n_params] pointers into grads */
    /* [n_weights] fp32 means over ranks, if gradients are halves. NULL: the means replace the
     * gradients. */
    real *means;
    float **mean_layers; /* [n_params] pointers into means; NULL without means */
    size_t n_weights, n_stats;
    /* [n_weights + n_stats] host copy of the backend's arrays, for files and checksums */
    real *host;
    real *own_stats; /* [n_stats] scratch, host memory */
    double *wide;    /* [n_stats] scratch, host memory */
    /* [n_classes][n_classes] confusion table of the test images, summed over ranks; NULL without
     * label maps */
    double *confusion;
    struct optim *optim;
    struct schedule schedule;

    uint64_t steps_per_epoch, n_steps; /* n_steps: number of steps of the whole run */
    struct train_state state;
    struct report report;
    struct grad_stats *grad_stats; /* NULL: none */
    DIR *dump;                     /* rank 0: the folder of --dump-gradients, or NULL */
    struct trace *trace;           /* NULL: none */
    struct trace_span *trace_block;
};

/* Agrees on a result. All ranks call it. The lowest rank that failed reports its error, and all
 * ranks return its code. */
int train_agree(struct train *t, int rc);

/* Opens the job in stages. *t must be zero except for o and comm. Each stage ends in train_agree(),
 * so that the result is the same on all ranks. */
int train_open(struct train *t);
void train_close(struct train *t);

/* Opens the job, trains and reports. Returns 0, a negative errno, or the exit status of a run that
 * a signal stopped. All ranks know the negative errno, unless the job was aborted. */
int train_all(struct train *t);

/* Computes this rank's gradients of the step and returns losses and counts (train_compute.c).
 * early: the reducer has begun and is notified of each layer that becomes ready. early must be
 * false with several micro-batches. */
struct nn_result train_compute(struct train *t, bool early);

/* ---- many ranks in one process (train_emulate.c) ---- */

bool train_is_emulated(const struct train *t);

/* Prints the memory that all emulated ranks will need, or reports that there is too little. Call
 * after the model is open. */
int train_emulate_fits(struct train *t, const struct reducer_layer *layers);

/* Sets up the parts that this rank shares with the owner, and its own parts. */
int train_emulate_join(struct train *t);
void train_emulate_leave(struct train *t);

/* With low memory, tells the reducer how to recompute gradients. Call after the job is open. */
void train_low_share(struct train *t);

/* Makes the network use this rank's gradients and statistics, if ranks are emulated. Call before
 * each pass. */
void train_emulate_turn(struct train *t);

/* Waits until all ranks have their means, then updates the shared weights once. */
int train_emulate_update(struct train *t, double lr, bool skipped);

/* If ranks are emulated, replaces the owner's times with those of all ranks, because the waiting
 * time of one rank includes the computing of others. codec_s becomes the time of all casts. comm_s
 * becomes the rest of the step, without computing and preparing images. */
void train_emulate_time(struct train *t, struct report_step *step);

/* ---- CPU or GPU (train_device.c) ---- */

/* Translates the options about number formats. */
int train_device_settle(struct train *t);
/* Opens the backend on the CPU or GPU that has the job's gradients. All ranks call it after
 * job_settle(). */
int train_device_open(struct train *t);
/* Returns the bytes of one number in the backend's weights, gradients, velocities and
 * statistics. */
size_t train_weight_bytes(const struct train *t);
/* Returns whether means over ranks need memory of their own, as with fp16-pure on a GPU and
 * --reduce-in fp32. */
bool train_has_means(const struct train *t);
int train_means_open(struct train *t);
void train_means_close(struct train *t);
/* Returns the gradients that the optimiser reads: t->means or t->grads. */
real *train_means(const struct train *t);
/* Prints one line about the GPU from rank 0. Prints nothing if there is no GPU. */
void train_device_say(const struct train *t);

/* With fp16-pure on a CPU, rounds the means of params [first, first + n) in t->grads as --reduce-in
 * says. Has no effect otherwise. */
void train_narrow_means(struct train *t, int first, int n);
void train_device_close(struct train *t);

/* ---- cards in the network (train_offload.c) ---- */

/* Prints one line from rank 0: the path of the gradients and why it was chosen. */
void train_offload_say(struct train *t);
/* Prints the cards' lines of the final table. */
void train_offload_print(const struct train *t);
/* Writes what added the gradients: "direct", "group-scatter:2", "offload" or, if cards were lost,
 * "offload in 7 of 12 steps, else direct". */
void train_offload_added(const struct train *t, struct text *to);

/* ---- the timeline (train_trace.c); no effect without --trace ---- */

int train_trace_open(struct train *t);  /* after the reducer is open */
int train_trace_start(struct train *t); /* all ranks call it; starts the clock at 0 */
/* Gathers the timelines, which rank 0 writes. All ranks call it. *file_rc: set on rank 0 to the
 * result of writing the file. Returns 0 or a negative errno of comm.h. */
int train_trace_write(struct train *t, int *file_rc);
void train_trace_close(struct train *t);

/* Returns the checksum of all data of --data. Ranks compare it, and it is stored in checkpoints. */
static inline uint32_t train_data_crc(const struct train *t)
{
    return (t->owner ? t->owner : t)->data_crc;
}

/* ---- files that a run appends to: --log, --stats (train_log.c) ---- */

/* Gives the run an id if it has none. Rank 0 calls it after a checkpoint was loaded. */
void train_run_id_set(struct train *t);

/* Opens and locks a file of --log or --stats. option: "log" or "stats"; a file that the other
 * option wrote is refused. With --resume the file must be new, empty or of this run, and is cut to
 * the lines before the first step of this process. The caller writes the first line (record_run()).
 * After an error the file is unchanged. */
int train_log_open(const struct train *t, const char *option, const char *path, struct jsonl *log);

/* Trains to the end, or to the end of the step in which a rank was asked to stop (t->stopped_by).
 * Other ranks know of a returned error only if t->agreed. */
int train_run(struct train *t);

/* Averages the batch norms' statistics over ranks, tests, compares the ranks and reports. If keep,
 * the averages replace the statistics; else they are used only for this test. */
int train_epoch_end(struct train *t, bool keep);

#endif
