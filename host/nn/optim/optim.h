/* optim.h : optimisers, from gradients to weights; learning-rate schedules.
 *
 * SGD is PyTorch's: d = g + decay * w;  v = momentum * v + d;  w -= lr * v (Nesterov: lr * (d
 * + momentum * v)).
 * LARS (You, Gitman, Ginsburg 2017) multiplies a tensor's d by trust * |w| / (|g| + decay * |w|),
 * or by 1 where a norm is zero. Params that do not decay (biases, norms) know neither decay nor
 * LARS.
 * AdamW (Loshchilov, Hutter 2019) is PyTorch's, too, in step t:
 *     m = beta1 * m + (1 - beta1) * g;  s = sqrt(beta2 * s^2 + (1 - beta2) * g^2)
 *     w -= lr * (m / (1 - beta1^t) / (s / sqrt(1 - beta2^t) + eps) + decay * w)
 * State 1 is s, the root of the mean square, because s^2 would soon be 0 in halves. */
#ifndef OPTIM_H
#define OPTIM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nn/model.h"

/* A row of optimisers.def. */
struct optimiser {
    const char *name, *takes, *help;
    int n_states, update;
};
extern const struct optimiser optimisers[N_OPTIMISERS];
/* Return the optimiser of this name, or N_OPTIMISERS. */
enum optim_kind optim_find(const char *name);
/* Does the row of this optimiser name the option? */
bool optim_takes(enum optim_kind kind, const char *option);

struct optim;
/* Opens with states of zeros. ctx: the backend's; the model's own, so that a step stands in order
 * with its passes. params are those of the model and must outlive it, as ctx must. Returns 0 or
 * -ENOMEM. */
int optim_open(const struct nn_ops *ops, void *ctx, const struct optim_options *o,
               const struct nn_param *params, int n_params, size_t n_weights, struct optim **out);
void optim_close(struct optim *o);
/* One step; weights and grads are those of the model (memory of its backend). grads may be used
 * up. */
void optim_step(struct optim *o, real *weights, real *grads, double lr);
/* The same for params [first, first + n) alone. A step takes each param once. */
void optim_step_some(struct optim *o, int first, int n, real *weights, real *grads, double lr);
/* The next step is taken as the one after n_steps. */
void optim_resume(struct optim *o, uint64_t n_steps);
/* States, for checkpoints: arrays 0..optim_n_states() of one element a weight, memory of the
 * backend. */
int optim_n_states(const struct optim *o);
real *optim_state(struct optim *o, int i);
/* Return the state that the rate is multiplied by to update weights; NULL: there is none. */
const real *optim_update(const struct optim *o);

struct schedule_kind; /* schedule.c: a row of its table */
struct schedule {
    const struct schedule_kind *kind;
    double lr; /* peak */
    double total_steps;
    double warmup_steps; /* linear from warmup_from (step 0 is one step of the way up) */
    double warmup_from;
    double at[8]; /* step: fractions of total_steps where the rate is multiplied by gamma */
    int n_at;
    double gamma; /* step: 0.1; exp: the factor */
    double every; /* exp: steps between factors */
    double power; /* poly */
};
/* All words that schedule_parse takes, with what they mean: a sentence. */
extern const char schedule_help[];
/* A word of schedule_help -> kind, and what of the last five fields is its; the others are the
 * caller's.
 * Returns 0 or -EINVAL with a line. */
int schedule_parse(const char *word, struct schedule *out);
double schedule_lr(const struct schedule *s, double step);
/* Does the rate of a step depend on how long the whole run is? */
bool schedule_by_length(const struct schedule *s);

#endif
