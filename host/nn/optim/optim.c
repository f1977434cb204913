/* optim.c : what the options mean for each tensor, planned once; a step is one call for all of
 * them. */
#include "nn/optim/optim.h"
#include <stdlib.h>
#include "base/err.h"

struct optim {
    const struct nn_ops *ops;
    void *ctx, *plan;
    int n_params;
    size_t n;
    real *velocity; /* [n] */
};

static int plan_steps(struct optim *s, const struct optim_options *o, const struct nn_param *params)
{
    struct nn_sgd_tensor *tensors = calloc((size_t)s->n_params + 1, sizeof *tensors);
    if (!tensors)
        return ERR(-ENOMEM, "cannot open the optimiser: no memory");
    for (int i = 0; i < s->n_params; i++) {
        tensors[i] = (struct nn_sgd_tensor){.offset = params[i].offset,
                                            .n = params[i].n,
                                            .rate = params[i].bias ? o->bias_rate : 1};
        if (params[i].decay) {
            tensors[i].weight_decay = o->weight_decay;
            tensors[i].trust = o->lars ? o->trust : 0;
        }
    }
    const struct nn_sgd sgd = {.momentum = o->momentum,
                               .nesterov = o->nesterov,
                               .real_grads = o->real_grads,
                               .tensors = tensors,
                               .n_tensors = s->n_params};
    const int rc = s->ops->sgd_plan(s->ctx, &sgd, &s->plan);
    free(tensors);
    return rc;
}

int optim_open(const struct nn_ops *ops, void *ctx, const struct optim_options *o,
               const struct nn_param *params, int n_params, size_t n_weights, struct optim **out)
{
    struct optim *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot open the optimiser: no memory");
    *s = (struct optim){.ops = ops, .ctx = ctx, .n_params = n_params, .n = n_weights};
    int rc = plan_steps(s, o, params);
    if (rc < 0)
        goto fail_plan;
    rc = -ENOMEM;
    s->velocity = ops->alloc(ctx, n_weights * ops->weight_bytes(ctx));
    if (!s->velocity)
        goto fail_alloc;
    *out = s;
    return 0;
fail_alloc:
    ops->sgd_close(ctx, s->plan);
fail_plan:
    free(s);
    return rc;
}

void optim_close(struct optim *s)
{
    if (!s)
        return;
    s->ops->free(s->ctx, s->velocity);
    s->ops->sgd_close(s->ctx, s->plan);
    free(s);
}

void optim_step_some(struct optim *s, int first, int n, real *weights, real *grads, double lr)
{
    s->ops->sgd(s->ctx, s->plan, first, n, lr, weights, grads, s->velocity);
}

void optim_step(struct optim *s, real *weights, real *grads, double lr)
{
    optim_step_some(s, 0, s->n_params, weights, grads, lr);
}

real *optim_state(struct optim *s, size_t *n)
{
    *n = s->n;
    return s->velocity;
}
