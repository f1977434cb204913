/* optim.h : SGD with momentum, Nesterov, weight decay, and LARS; learning-rate schedules.
 *
 * The rule is PyTorch's: d = g + decay * w;  v = momentum * v + d;  w -= lr * v (Nesterov: lr * (d
 * + momentum * v)).
 * LARS (You, Gitman, Ginsburg 2017) multiplies a tensor's d by trust * |w| / (|g| + decay * |w|),
 * or by 1 where a norm is zero. Params that do not decay (biases, norms) know neither decay nor
 * LARS. */
#ifndef OPTIM_H
#define OPTIM_H
#include <stdbool.h>
#include <stddef.h>
#include "nn/model.h"

struct optim_options {
    bool lars;
    bool nesterov;
    bool real_grads; /* as nn_sgd's */
    double momentum;
    double weight_decay;
    double trust;     /* LARS: trust coefficient eta, 0.001 */
    double bias_rate; /* of the biases of conv and linear, times the others' */
};

struct optim;
/* One velocity an element. ctx: the backend's; the model's own, so that a step stands in order with
 * its passes. params are those of the model and must outlive it, as ctx must. Returns 0 or
 * -ENOMEM. */
int optim_open(const struct nn_ops *ops, void *ctx, const struct optim_options *o,
               const struct nn_param *params, int n_params, size_t n_weights, struct optim **out);
void optim_close(struct optim *o);
/* One step; weights and grads are those of the model (memory of its backend). grads may be used
 * up. */
void optim_step(struct optim *o, real *weights, real *grads, double lr);
/* The same for params [first, first + n) alone. */
void optim_step_some(struct optim *o, int first, int n, real *weights, real *grads, double lr);
/* velocities, for checkpoints; memory of the backend */
real *optim_state(struct optim *o, size_t *n);

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
