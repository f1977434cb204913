/* train.h : declares the training job of one rank.
 *
 *     cmd_train  options -> ranks -> train_open -> train_run -> report_end -> train_agree
 *                -> train_close
 *     train_run  per step:  batch -> model -> (dump) -> reducer -> optimiser
 *                           -> one small sum over ranks -> report
 *                per epoch: average statistics, test, compare all ranks, report;
 *                           then checkpoints
 *
 * Failures: README.md, "Failures". err_hold() is always on. */
#ifndef TRAIN_H
#define TRAIN_H
#include "app/train/checkpoint_file.h"
#include "app/train/elastic.h"
#include "app/train/train_options.h"
#include "app/train/train_report.h"
#include "app/train/train_shard.h"
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

/* Sums over this rank's labels (images or pixels) of the epoch, without skipped steps. */
struct train_sums {
    double loss, correct, labels;
};

/* The run's progress, part of a checkpoint. */
struct train_state {
    uint64_t step; /* skipped ones included */
    uint64_t skipped, skipped_in_row;
    struct train_sums sums;
};

struct train {
    const struct train_options *o;
    struct comm *comm;
    int rank, n_ranks;
    /* lowest emulated rank of this process, whose data, network, optimiser and `host` this rank
     * uses; or NULL */
    struct train *owner;
    bool low_memory;   /* use the owner's gradients, and compute them twice per step */
    real *spare_stats; /* [n_stats] scratch for the second pass */
    bool again;        /* in the second pass */
    /* seconds of passes, casts and preparing images in this step, of all ranks of this network */
    double computed_s, cast_s, input_s;
    /* all ranks know the failure that ends the run */
    bool agreed;
    /* failure that only this rank knows; lost: the network or
     * the data failed, so nothing can be saved */
    int pending;
    bool lost;
    bool ends_early;  /* a file failed before the last step: save and end */
    bool saved_early; /* this save succeeded on this rank */
    /* signal that stops the run, or NULL */
    const struct stop_signal *stopped_by;
    bool tested;                 /* report.last is known */
    struct elastic *elastic;     /* NULL without --elastic */
    bool grows;                  /* stop after this step, to take in a process */
    char lines[TRAIN_LINES_MAX]; /* opt_lines() of all options */
    /* Rank 0: CHECKPOINT_RUN_BYTES hex digits; "" until train_open() sets it. */
    char run_id[TRAIN_RUN_ID];

    struct job job;
    const struct nn_ops *nn; /* the backend, or the rounding layer on top */
    bool on_gpu;
    struct nn_setup setup;
    struct nn_block block;
    struct nn_loss loss;
    struct gemm_rule gemm;
    struct round_setup round;
    struct scale_setup scaling;
    /* exponent below which activation gradients underflow; fp32: as fp16 */
    int least_exponent;

    struct dataset *data;
    uint32_t data_crc;
    struct augment augment;
    uint32_t *order; /* [data->n_train] images of this epoch */
    int share;       /* images of this rank in a step */
    int micro_share; /* images of a micro-batch */
    int eval_batch;  /* images; not less than micro_share */
    struct feed *feed;

    struct nn_model *model;
    const struct nn_param *params;
    int n_params;
    /* grads and stats are an emulated rank's own */
    real *weights, *grads, *stats;
    float *scales;   /* [n_scales] this rank's loss scales, in host memory */
    size_t n_scales; /* 0 without --loss-scale adaptive */
    real *micro_sum; /* [n_weights] sum over micro-batches; NULL: only one */
    float **layers;  /* [n_params] into grads */
    /* [n_weights] fp32 means if gradients are halves; NULL: means replace gradients */
    real *means;
    float **mean_layers; /* [n_params] into means; NULL without means */
    size_t n_weights, n_stats;
    /* [n_weights + n_stats] copy of the backend's arrays, for files and checksums */
    real *host;
    real *own_stats; /* [n_stats] scratch in host memory */
    double *wide;    /* [n_stats] scratch in host memory */
    /* [n_classes][n_classes] confusion table of all ranks' test images; NULL without label maps */
    double *confusion;
    struct optim *optim;
    struct train_shard *shard; /* NULL without --shard */
    struct schedule schedule;

    uint64_t steps_per_epoch, n_steps; /* n_steps: of the whole run */
    struct train_state state;
    struct report report;
    struct grad_stats *grad_stats; /* NULL: none */
    struct receipts *receipts;     /* NULL: none */
    DIR *dump;                     /* rank 0: folder of --dump-gradients, or NULL */
    uint64_t dump_from, dump_end;  /* its first step; the one after its last */
    struct trace *trace;           /* NULL: none */
    struct trace_span *trace_block;
};

/* All ranks call it. The lowest rank that failed reports its error; all return its code. */
int train_agree(struct train *t, int rc);

/* Return the id of the job's checkpoints, CHECKPOINT_RUN_BYTES hex digits and a zero, if a launcher
 * starts the job again after a rank was lost, as host/ranks.sh does: it sets NARROWCAST_RUN. Else
 * NULL. train_options_read() has checked it. */
const char *train_job_id(void);

/* Opens the job in stages that end in train_agree(). *t must be zero except for o and comm. */
int train_open(struct train *t);
void train_close(struct train *t);

/* Opens the job, trains and reports. Returns 0, a negative errno that all ranks know unless the job
 * was aborted, or the exit status after a signal. */
int train_all(struct train *t);

/* Computes this rank's gradients of the step and returns losses and counts. early: the reducer has
 * begun and is notified of ready layers; false with several micro-batches. */
struct nn_result train_compute(struct train *t, bool early);

/* ---- many ranks in one process (train_emulate.c) ---- */

bool train_is_emulated(const struct train *t);

/* Prints emulated ranks' memory, or reports too little. Call after the model is open. */
int train_emulate_fits(struct train *t, const struct reducer_layer *layers);

/* Sets up an emulated rank: the parts shared with its owner, and its own. */
int train_emulate_join(struct train *t);
void train_emulate_leave(struct train *t);

/* With low memory, tells the reducer how to recompute gradients. Call after the job is open. */
void train_low_share(struct train *t);

/* Makes the network use an emulated rank's gradients and statistics. Call before each pass. */
void train_emulate_turn(struct train *t);

/* Waits for the means of all ranks, then updates the shared weights once. */
int train_emulate_update(struct train *t, double lr, bool skipped);

/* Replaces an emulated owner's times with those of all ranks, because a rank's waits include
 * others' computing. codec_s becomes the time of all casts, comm_s the rest of the step without
 * computing and preparing images. */
void train_emulate_time(struct train *t, struct report_step *step);

/* ---- CPU or GPU (train_device.c) ---- */

/* Fills t->setup from the options of number formats, blocks and loss. */
int train_device_settle(struct train *t);
/* Opens the gradients' backend. All ranks call it after job_settle(). */
int train_device_open(struct train *t);
/* bytes of a weight, gradient, velocity or statistic in the backend */
size_t train_weight_bytes(const struct train *t);
/* Means over ranks need their own memory with fp16-pure on a GPU and --reduce-in fp32. */
bool train_has_means(const struct train *t);
int train_means_open(struct train *t);
void train_means_close(struct train *t);
/* Returns t->means or t->grads, which the optimiser reads. */
real *train_means(const struct train *t);
/* Rank 0 prints a line about its GPU, if any. */
void train_device_say(const struct train *t);

/* With fp16-pure on a CPU, rounds the means of params [first, first + n) in t->grads as --reduce-in
 * says; otherwise no effect. */
void train_narrow_means(struct train *t, int first, int n);
void train_device_close(struct train *t);

/* ---- cards in the network (train_offload.c) ---- */

/* Rank 0 prints the gradients' path and the reason for it. */
void train_offload_say(struct train *t);
void train_offload_print(const struct train *t);
/* Writes the path that added gradients: "direct", "group-scatter:2", "offload" or, with cards lost,
 * "offload in 7 of 12 steps, else direct". */
void train_offload_added(const struct train *t, struct text *to);

/* ---- the timeline (train_trace.c); no effect without --trace ---- */

int train_trace_open(struct train *t);  /* after the reducer is open */
int train_trace_start(struct train *t); /* all ranks call it; starts the clock at 0 */
/* Rank 0 gathers and writes the timelines. All ranks call it. *file_rc: on rank 0 the result of
 * writing. Returns 0 or a negative errno of comm.h. */
int train_trace_write(struct train *t, int *file_rc);
void train_trace_close(struct train *t);

/* checksum of all data of --data */
static inline uint32_t train_data_crc(const struct train *t)
{
    return (t->owner ? t->owner : t)->data_crc;
}

/* Returns whether a resumed run must test before its first step: the test after its last step may
 * have reached --until. */
static inline bool train_asks_test(const struct train *t)
{
    return t->o->until > 0 && !t->tested && t->state.step > 0 &&
           t->state.step % t->steps_per_epoch == 0;
}

/* ---- files that a run appends to: --log, --stats, --receipts (train_log.c) ---- */

/* Gives the run an id if it has none. Rank 0 calls it after loading a checkpoint. */
void train_run_id_set(struct train *t);

/* Opens and locks a file of --log, --stats or --receipts. option: "log", "stats" or "receipts";
 * refuses a file of another option. With --resume the file must be new, empty or of this run, and
 * is cut to the lines before this process's first step. The caller writes the first line
 * (record_run()). Errors leave the file unchanged. */
int train_log_open(const struct train *t, const char *option, const char *path, struct jsonl *log);

/* ---- the run (train_loop.c), its tests and predictions (train_eval.c) ---- */

/* Trains to the end, or until a rank is asked to stop (t->stopped_by). Other ranks know an error
 * only if t->agreed. */
int train_run(struct train *t);

/* Repeats steps without tests, until `last` are done. */
int train_redo(struct train *t, uint64_t last);

/* Averages the batch norms' statistics over ranks, tests, compares the ranks and reports. keep: the
 * averages replace the statistics; else only this test uses them. */
int train_epoch_end(struct train *t, bool keep);

/* Makes and checks the folder of --predict before training. No effect without the option. */
int train_predict_check(const struct train *t);
/* Writes the predicted label maps of this rank's test images, DIR/NUMBER.png. *file_rc: 0 or this
 * rank's reported error. */
int train_predict(struct train *t, int *file_rc);

#endif
