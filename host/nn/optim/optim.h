/* optim.h : updates weights from gradients by SGD, LARS or AdamW, and schedules the learning rate.
 *
 *   SGD (PyTorch's)   d = g + decay * w;  v = momentum * v + d;  w -= lr * v
 *                     Nesterov: w -= lr * (d + momentum * v)
 *   LARS (You, Gitman, Ginsburg 2017) multiplies a tensor's d by trust * |w| / (|g| + decay * |w|),
 *                     or by 1 if a norm or trust is zero
 *   AdamW (Loshchilov, Hutter 2019; PyTorch's), in step t:
 *       m = beta1 * m + (1 - beta1) * g;  s = sqrt(beta2 * s^2 + (1 - beta2) * g^2)
 *       w -= lr * (m / (1 - beta1^t) / (s / sqrt(1 - beta2^t) + eps) + decay * w)
 * Biases and norms are exempt from decay and LARS. AdamW stores the root s as state 1, because s^2
 * would soon underflow in halves. */
#ifndef OPTIM_H
#define OPTIM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/model.h"

/* described in optimisers.def */
struct optimiser {
    const char *name, *takes, *help;
    int n_states, update;
};
extern const struct optimiser optimisers[N_OPTIMISERS];
extern const char optim_words[]; /* their names, each after a bar: "|sgd|..." */
/* Return the optimiser of this name, or N_OPTIMISERS. */
enum optim_kind optim_find(const char *name);
bool optim_takes(enum optim_kind kind, const char *option);

struct optim;
/* Open an optimiser with zeroed states. ctx: the model's, to run steps and passes in order; it must
 * outlive the optimiser. Returns 0 or a negative errno. */
int optim_open(const struct nn_ops *ops, void *ctx, const struct optim_options *o,
               const struct nn_param *params, int n_params, size_t n_weights, struct optim **out);
void optim_close(struct optim *o);
/* Step over all weights. grads may be overwritten. */
void optim_step(struct optim *o, real *weights, real *grads, double lr);
/* A step must cover each param once. */
void optim_step_some(struct optim *o, int first, int n, real *weights, real *grads, double lr);
void optim_resume(struct optim *o, uint64_t n_steps);
/* States for checkpoints: optim_n_states() arrays in backend memory, one element per weight. */
int optim_n_states(const struct optim *o);
real *optim_state(struct optim *o, int i);
/* Return the state that, times the learning rate, is the update. NULL: there is none. */
const real *optim_update(const struct optim *o);

struct schedule_kind; /* row of schedule.c's table */
struct schedule {
    const struct schedule_kind *kind;
    double lr; /* peak */
    double total_steps;
    /* warm-up is linear; step 0 is already one step above warmup_from */
    double warmup_steps;
    double warmup_from;
    double at[8]; /* `step`: fractions of total_steps where gamma applies */
    int n_at;
    double gamma; /* `step`: 0.1; `exp`: factor */
    double every; /* `exp`: steps between multiplications */
    double power; /* `poly`: exponent */
};
/* Help of schedule_parse. */
extern const char schedule_help[];
/* Parse a spec: set kind and the fields from `at` on that it uses. The caller sets the others.
 * Returns 0 or -EINVAL (reported). */
int schedule_parse(const char *word, struct schedule *out);
double schedule_lr(const struct schedule *s, double step);
/* Return true if the rate depends on the run's length. */
bool schedule_by_length(const struct schedule *s);

#endif
