/* train_options.h : declares the options of `narrowcast train` and `emulate`.
 *
 * Int results are 0 or a negative errno that has been reported. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H
#include "base/opt/opt.h"
#include "hls/nn/optimisers.h"

struct train_options {
    const char *data, *augment, *model, *block, *loss;
    uint64_t train_samples;
    double width;          /* factor on the channels of the model */
    int64_t image;         /* pixels a side; 0: as in the data */
    int64_t epochs, steps; /* one of them is 0 */
    double until;          /* test accuracy; 0: none */
    uint64_t batch;        /* images of a step, of all ranks together */
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
    double deadline, card_deadline; /* s */
    int64_t card_slots;
    const char *card_group;
    const char *device, *precision, *reduce_in, *loss_scale, *conv, *gemm, *quant;
    int64_t threads;
    const char *log, *stats, *trace, *save, *resume;
    uint64_t stats_every;
    uint64_t save_every;
    const char *dump_dir;
    uint64_t dump_steps, dump_first;
    int64_t blocks;     /* of a batch; 0: as many as processes */
    int64_t ranks;      /* emulated ranks; 0: real ranks */
    const char *memory; /* NULL: real ranks */
};

/* Mark of options on which the bits of the weights depend. Their values must be unchanged on
 * --resume. */
enum { TRAIN_BITS = 1 };
/* Mark of options on which the bits depend if the chosen optimiser uses them. */
enum { TRAIN_TAKEN = 2 };
/* Mark of options on which the bits depend, but which older checkpoints do not have: a checkpoint
 * has its line only if the value is not the default, so older ones can be resumed. */
enum { TRAIN_LATER = 4 };

enum { TRAIN_LINES_MAX = 8192 }; /* limit of opt_lines() in bytes; longer lines are refused */

/* The options of the two commands. emulate has the rows of train, followed by its own rows. */
extern const struct opt_command train_command, emulate_command;

/* Reads the options. Refuses contradictions that do not depend on the number of ranks. */
int train_options_read(const struct opt_command *command, int argc, char **argv,
                       struct train_options *o, struct opt_parsed *parsed);

/* Appends the option lines that a checkpoint stores. */
void train_options_lines(const struct train_options *o, struct text *to);

/* Checks that the options can be combined. If not, reports why. */
int train_options_check(const struct opt_command *command, const struct train_options *o,
                        const struct opt_parsed *p);

/* Returns whether the run has --precision fp16-pure. */
bool train_is_pure(const struct train_options *o);
/* Returns whether --device auto must not choose a GPU. */
bool train_needs_cpu(const struct train_options *o);

/* Checks that no file name is empty and that written files differ. */
int train_files_check(const struct train_options *o);

#endif
