/* optim.c : plans the options of each tensor once, then steps over all tensors in one call. */
#include "nn/optim/optim.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"

#define OPTIMISER(name, takes, states, update, help) \
    static_assert((states) <= OPTIM_STATES && (update) < (states), #name " has too many arrays");
#include "hls/nn/optimisers.def"

const struct optimiser optimisers[N_OPTIMISERS] = {
#define OPTIMISER(name, takes, states, update, help) {#name, takes, help, states, update},
#include "hls/nn/optimisers.def"
};

const char optim_words[] =
#define OPTIMISER(name, takes, states, update, help) "|" #name
#include "hls/nn/optimisers.def"
    ;

enum optim_kind optim_find(const char *name)
{
    int i = 0;
    while (i < N_OPTIMISERS && strcmp(optimisers[i].name, name) != 0)
        i++;
    return (enum optim_kind)i;
}

bool optim_takes(enum optim_kind kind, const char *option)
{
    const size_t n = strlen(option);
    for (const char *at = optimisers[kind].takes; (at = strstr(at, option)); at += n)
        if (at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

struct optim {
    const struct nn_ops *ops;
    void *ctx, *plan;
    struct optim_options o;
    int n_params;
    size_t n;
    uint64_t n_stepped;        /* params stepped, over all steps */
    real *state[OPTIM_STATES]; /* [n]; NULL: not used by the optimiser */
};

static int plan_steps(struct optim *s, const struct optim_options *o, const struct nn_param *params)
{
    struct optim_tensor *tensors = calloc((size_t)s->n_params + 1, sizeof *tensors);
    if (!tensors)
        return ERR(-ENOMEM, "cannot open the optimiser: no memory");
    for (int i = 0; i < s->n_params; i++)
        tensors[i] = (struct optim_tensor){.offset = params[i].offset,
                                           .n = params[i].n,
                                           .rate = params[i].bias ? o->bias_rate : 1,
                                           .weight_decay = params[i].decay ? o->weight_decay : 0,
                                           .decays = params[i].decay};
    const struct nn_optim how = {.o = *o, .tensors = tensors, .n_tensors = s->n_params};
    const int rc = s->ops->optim_plan(s->ctx, &how, &s->plan);
    free(tensors);
    return rc;
}

int optim_open(const struct nn_ops *ops, void *ctx, const struct optim_options *o,
               const struct nn_param *params, int n_params, size_t n_weights, struct optim **out)
{
    struct optim *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot open the optimiser: no memory");
    *s = (struct optim){.ops = ops, .ctx = ctx, .o = *o, .n_params = n_params, .n = n_weights};
    int rc = plan_steps(s, o, params);
    for (int i = 0; i < optimisers[o->kind].n_states && rc == 0; i++) {
        s->state[i] = ops->alloc(ctx, n_weights * ops->weight_bytes(ctx));
        rc = s->state[i] ? 0 : -ENOMEM;
    }
    if (rc < 0) {
        optim_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void optim_close(struct optim *s)
{
    if (!s)
        return;
    for (int i = 0; i < OPTIM_STATES; i++)
        s->ops->free(s->ctx, s->state[i]);
    s->ops->optim_close(s->ctx, s->plan);
    free(s);
}

/* Multiply only, for the same bits on every machine. */
static double power(double x, uint64_t n)
{
    double y = 1;
    for (; n > 0; n /= 2, x *= x)
        y *= n % 2 ? x : 1;
    return y;
}

void optim_step_some(struct optim *s, int first, int n, real *weights, real *grads, double lr)
{
    if (n == 0)
        return;
    const uint64_t number = s->n_stepped / (uint64_t)s->n_params + 1;
    const struct optim_step step = {.lr = lr,
                                    .mean = 1 / (1 - power(s->o.beta1, number)),
                                    .root = 1 / sqrt(1 - power(s->o.beta2, number))};
    s->n_stepped += (uint64_t)n;
    s->ops->optim(s->ctx, s->plan, first, n, &step, weights, grads, s->state);
}

void optim_step(struct optim *s, real *weights, real *grads, double lr)
{
    optim_step_some(s, 0, s->n_params, weights, grads, lr);
}

void optim_resume(struct optim *s, uint64_t n_steps)
{
    s->n_stepped = n_steps * (uint64_t)s->n_params;
}

int optim_n_states(const struct optim *s)
{
    return optimisers[s->o.kind].n_states;
}

real *optim_state(struct optim *s, int i)
{
    return s->state[i];
}

const real *optim_update(const struct optim *s)
{
    const int i = optimisers[s->o.kind].update;
    return i < 0 ? NULL : s->state[i];
}
