/* optimisers.h : steps of optimisers as plain data that CPU and GPU backends share. */
#ifndef OPTIMISERS_H
#define OPTIMISERS_H
#include <stdbool.h>
#include <stddef.h>

enum optim_kind {
#define OPTIMISER(name, takes, states, update, help) OPTIM_##name,
#include "hls/nn/optimisers.def"
    N_OPTIMISERS
};

/* Arrays of state at most. */
enum { OPTIM_STATES = 2 };

/* AdamW: a number beyond LARGE is multiplied by DOWN before it is squared, and the root divided by it:
 * fp32 has no square of it. Both are powers of two, so all other roots have the same bits. */
#define ADAMW_LARGE 0x1p60f
#define ADAMW_DOWN  0x1p-70f

struct optim_options {
    enum optim_kind kind;
    bool real_grads; /* gradients are reals, whatever weights are */
#define OPTIM_NUMBER(field, option, fallback, least, most, text, help) double field;
#define OPTIM_FLAG(field, option, text, help)                          bool field;
#include "hls/nn/optimisers.def"
};

/* A part of the flat arrays of weights, gradients and states. */
struct optim_tensor {
    size_t offset, n;
    double rate;         /* times the step's */
    double weight_decay; /* 0 unless it decays */
    bool decays;
};

/* Numbers of one step. */
struct optim_step {
    double lr;
    /* 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) in step t = 1, 2...: what makes up for a mean, and
     * for the root of one, that began at 0 */
    double mean, root;
};

#endif
