/* train_options.h : declares the options of `narrowcast train` and `emulate`. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H
#include "base/opt/opt.h"
#include "hls/nn/optimisers.h"

struct train_options {
    const char *data, *augment, *model, *block, *loss;
    uint64_t train_samples;
    double width;          /* factor on the model's channels */
    int64_t image;         /* pixels a side; 0: as in the data */
    int64_t epochs, steps; /* one of them is 0 */
    double until;          /* test accuracy; 0: none */
    uint64_t batch;        /* images of a step, all ranks */
    int64_t micro;         /* passes for a rank's share of the batch */
    const char *optimizer, *schedule;
    double lr, warmup, warmup_from;
    struct optim_options optim;
    uint64_t seed;
    const char *codec, *quantise, *format, *scale, *sum, *acc_format, *out_format, *overflow,
        *round;
    bool rescale;
    int64_t first_epochs_fp32;
    uint64_t first_steps_fp32;
    bool fp32_last_layer;
    const char *algo, *overlap, *offload, *xclbin, *fabric, *fabric_address, *node_sum;
    uint64_t bucket_bytes;
    const char *shard, *gather;
    double deadline, card_deadline; /* s */
    int64_t card_slots;
    const char *card_group;
    const char *device, *precision, *reduce_in, *loss_scale, *conv, *gemm, *quant;
    int64_t threads;
    const char *log, *stats, *receipts, *trace, *save, *resume, *init, *predict;
    uint64_t verify_every;
    uint64_t stats_every;
    uint64_t save_every;
    const char *dump_dir;
    uint64_t dump_steps, dump_first;
    int64_t blocks;     /* of a batch; 0: as many as processes */
    int64_t elastic;    /* least number of processes; 0: all must live */
    int64_t ranks;      /* emulated ranks; 0: real ranks */
    const char *memory; /* NULL: real ranks */
    /* no options */
    bool resumes_own;                     /* `resume` is a state of this run, not the user's */
    const struct receipts_wanted *wanted; /* of `narrowcast verify`, or NULL */
};

/* --quantise conv */
bool train_only_kernels(const struct train_options *o);
/* --shard optimizer or all */
bool train_is_sharded(const struct train_options *o);
/* Whole layers' norms cannot be sharded. */
bool train_can_shard(enum optim_kind kind);
/* --shard all */
bool train_releases(const struct train_options *o);

/* Marks options on which the weights' bits depend; --resume needs the same values. */
enum { TRAIN_BITS = 1 };
/* As TRAIN_BITS, if the chosen optimiser uses the option. */
enum { TRAIN_TAKEN = 2 };
/* As TRAIN_BITS, for options that older checkpoints lack: only other values than the default are
 * written, so older checkpoints can be resumed. */
enum { TRAIN_LATER = 4 };

enum { TRAIN_LINES_MAX = 8192 }; /* of opt_lines(), bytes; longer lines are refused */

/* emulate has the rows of train, then its own. */
extern const struct opt_command train_command, emulate_command;

/* Refuses a NARROWCAST_RUN that is no id. */
int train_job_id_check(void);

/* Refuses contradictions that do not depend on the number of ranks. */
int train_options_read(const struct opt_command *command, int argc, char **argv,
                       struct train_options *o, struct opt_parsed *parsed);

/* Clears minifloat's defaults if another codec is chosen, since others refuse its options. */
void train_forget_formats(struct train_options *o, const struct opt_parsed *p);

/* Appends the lines of a checkpoint. */
void train_options_lines(const struct train_options *o, struct text *to);

/* Reports options that cannot be combined. */
int train_options_check(const struct opt_command *command, const struct train_options *o,
                        const struct opt_parsed *p);

bool train_is_pure(const struct train_options *o);
/* True if --device auto must not choose a GPU. */
bool train_needs_cpu(const struct train_options *o);

/* File names must not be empty, and written files must differ. */
int train_files_check(const struct train_options *o);

#endif
