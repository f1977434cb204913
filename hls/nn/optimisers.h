/* optimisers.h : describes optimiser steps as plain data shared by CPU and GPU backends. */
#ifndef OPTIMISERS_H
#define OPTIMISERS_H
#include <stdbool.h>
#include <stddef.h>

enum optim_kind {
#define OPTIMISER(name, takes, states, update, help) OPTIM_##name,
#include "hls/nn/optimisers.def"
    N_OPTIMISERS
};

enum { OPTIM_STATES = 2 }; /* most state arrays of an optimiser */

/* AdamW: squares of values above ADAMW_LARGE may overflow fp32. Such values are multiplied by
 * ADAMW_DOWN before squaring, and the root is divided by it: a power of two adds no rounding
 * error. */
#define ADAMW_LARGE 0x1p60f
#define ADAMW_DOWN  0x1p-70f

struct optim_options {
    enum optim_kind kind;
    bool real_grads; /* gradients are reals, even if weights are halves */
#define OPTIM_NUMBER(field, option, fallback, least, most, text, help) double field;
#define OPTIM_FLAG(field, option, text, help)                          bool field;
#include "hls/nn/optimisers.def"
};

/* a slice of the flat arrays of weights, gradients and states */
struct optim_tensor {
    size_t offset, n;
    double rate;         /* factor on the step's learning rate */
    double weight_decay; /* 0 if the tensor does not decay */
    bool decays;
};

struct optim_step {
    double lr;
    /* AdamW's bias correction in step t = 1, 2...: 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) */
    double mean, root;
};

#endif
