/* train_options.h : everything one can say to `narrowcast train`. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H
#include "base/opt/opt.h"
#include "hls/nn/optimisers.h"

struct train_options {
    const char *data, *augment, *model, *block;
    uint64_t train_samples;
    double width;          /* factor on the model's channels */
    int64_t image;         /* pixels a side; 0: as the data's */
    int64_t epochs, steps; /* one of them is 0 */
    double until;          /* test accuracy; 0: none */
    uint64_t batch;        /* images of a step, over all ranks */
    int64_t micro;         /* passes in which a rank takes its share of them */
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
    double deadline, card_deadline; /* seconds */
    int64_t card_slots;
    const char *card_group;
    const char *device, *precision, *reduce_in, *loss_scale, *conv, *gemm, *quant;
    int64_t threads;
    const char *log, *stats, *trace, *save, *resume;
    uint64_t stats_every;
    uint64_t save_every;
    const char *dump_dir;
    uint64_t dump_steps, dump_first;
    int64_t ranks;      /* emulated; 0: there are real ones */
    const char *memory; /* NULL likewise */
};

/* Mark of the options that decide the bits of the weights: a checkpoint can be resumed with the
 * same ones alone. */
enum { TRAIN_BITS = 1 };
/* Mark of options that do so where the optimiser takes them. */
enum { TRAIN_TAKEN = 2 };

enum { TRAIN_LINES_MAX = 8192 }; /* bytes of opt_lines(), at most; more are refused */

/* emulate has train's rows and some of its own behind them. */
extern const struct opt_command train_command, emulate_command;

/* Reads the words and refuses what contradicts itself, whatever the number of ranks. Returns 0 or
 * -EINVAL with a line. */
int train_options_read(const struct opt_command *command, int argc, char **argv,
                       struct train_options *o, struct opt_parsed *parsed);

/* Adds the lines of opt_lines() that a checkpoint names. */
void train_options_lines(const struct train_options *o, struct text *to);

/* Do they go together? Returns 0 or -EINVAL with a line. */
int train_options_check(const struct opt_command *command, const struct train_options *o,
                        const struct opt_parsed *p);

/* --precision fp16-pure */
bool train_is_pure(const struct train_options *o);
/* --device auto is cpu: these are words for what it alone can. */
bool train_needs_cpu(const struct train_options *o);

/* Has each file a name, and one of its own? Returns 0 or -EINVAL with a line. */
int train_files_check(const struct train_options *o);

#endif
