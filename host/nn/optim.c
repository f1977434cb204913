/* optim.c : walks the parameters and gives each tensor its step. */
#include "nn/optim.h"
#include <stdlib.h>
#include "base/err.h"

struct optim {
    const struct nn_ops *ops;
    void *ctx;
    struct optim_options options;
    const struct nn_param *params;
    int n_params;
    size_t n;
    real *velocity; /* [n] */
};

int optim_open(const struct nn_ops *ops, const struct optim_options *o, const struct nn_param *params, int n_params,
               size_t n_weights, struct optim **out)
{
    struct optim *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot open the optimiser: no memory");
    *s = (struct optim){.ops = ops, .options = *o, .params = params, .n_params = n_params, .n = n_weights};
    int rc = ops->open(&s->ctx);
    if (rc < 0)
        goto fail_open;
    rc = -ENOMEM;
    s->velocity = ops->alloc(s->ctx, n_weights * sizeof(real));
    if (!s->velocity)
        goto fail_alloc;
    *out = s;
    return 0;
fail_alloc:
    ops->close(s->ctx);
fail_open:
    free(s);
    return rc;
}

void optim_close(struct optim *s)
{
    if (!s)
        return;
    s->ops->free(s->ctx, s->velocity);
    s->ops->close(s->ctx);
    free(s);
}

void optim_step(struct optim *s, real *weights, real *grads, double lr)
{
    for (int i = 0; i < s->n_params; i++) {
        const struct nn_param *p = &s->params[i];
        struct nn_sgd sgd = {.lr = lr, .momentum = s->options.momentum, .nesterov = s->options.nesterov};
        if (p->decay) {
            sgd.weight_decay = s->options.weight_decay;
            sgd.trust = s->options.lars ? s->options.trust : 0;
        }
        s->ops->sgd(s->ctx, &sgd, p->n, weights + p->offset, grads + p->offset, s->velocity + p->offset);
    }
}

real *optim_state(struct optim *s, size_t *n)
{
    *n = s->n;
    return s->velocity;
}
