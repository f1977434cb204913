/* optim.h : updates weights from gradients by SGD, LARS or AdamW, and schedules the learning rate.
 *
 *   SGD (PyTorch's)   d = g + decay * w;  v = momentum * v + d;  w -= lr * v
 *                     Nesterov: w -= lr * (d + momentum * v)
 *   LARS (You, Gitman, Ginsburg 2017) multiplies a tensor's d by trust * |w| / (|g| + decay * |w|),
 *                     or by 1 if a norm is zero
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

/* A row of optimisers.def, where the fields are described. */
struct optimiser {
    const char *name, *takes, *help;
    int n_states, update;
};
extern const struct optimiser optimisers[N_OPTIMISERS];
/* Return the optimiser with this name, or N_OPTIMISERS if there is none. */
enum optim_kind optim_find(const char *name);
/* Return true if the optimiser uses the option. */
bool optim_takes(enum optim_kind kind, const char *option);

struct optim;
/* Open an optimiser with zeroed states. ctx: the model's context, so that steps and passes run in
 * one order. params: the model's params. ctx and params must outlive the optimiser. Returns 0 or
 * -ENOMEM. */
int optim_open(const struct nn_ops *ops, void *ctx, const struct optim_options *o,
               const struct nn_param *params, int n_params, size_t n_weights, struct optim **out);
void optim_close(struct optim *o);
/* Do one step over all weights of the model. grads may be overwritten. */
void optim_step(struct optim *o, real *weights, real *grads, double lr);
/* Do the part of a step for params [first, first + n). A step must cover each param once. */
void optim_step_some(struct optim *o, int first, int n, real *weights, real *grads, double lr);
/* Continue a run that has done n_steps steps. */
void optim_resume(struct optim *o, uint64_t n_steps);
/* States for checkpoints. Each of the optim_n_states() arrays has one element per weight and is in
 * backend memory. */
int optim_n_states(const struct optim *o);
real *optim_state(struct optim *o, int i);
/* Return the state whose product with the rate is the update, or NULL if there is none. */
const real *optim_update(const struct optim *o);

struct schedule_kind; /* row of schedule.c's table */
struct schedule {
    const struct schedule_kind *kind;
    double lr; /* peak */
    double total_steps;
    /* warm-up is linear from warmup_from; step 0 is already one step above it */
    double warmup_steps;
    double warmup_from;
    double at[8]; /* `step`: fractions of total_steps at which the rate is multiplied by gamma */
    int n_at;
    double gamma; /* `step`: 0.1; `exp`: the factor */
    double every; /* `exp`: steps between multiplications */
    double power; /* `poly`: the exponent */
};
/* Help text of all specs that schedule_parse accepts. */
extern const char schedule_help[];
/* Parse a spec. Sets kind and those of the last five fields that it uses. The caller sets the other
 * fields. Returns 0 or -EINVAL (reported). */
int schedule_parse(const char *word, struct schedule *out);
/* Return the learning rate of a step. */
double schedule_lr(const struct schedule *s, double step);
/* Return true if the rate depends on the length of the run. */
bool schedule_by_length(const struct schedule *s);

#endif
