/* nn_cuda_sgd.c : the optimiser's step on the GPU: one launch for all tensors, their list in pinned
 * memory. */
#include <stdlib.h>
#include "base/err.h"
#include "nn/nn_cuda.h"

enum { RATES = 64 };

struct plan {
    struct dev_sgd_all all;
    struct dev_sgd *list; /* [n_tensors] pinned */
    float *scratch;       /* of LARS; NULL: none */
    /* [RATES] pinned, used in turn: a step that has not run yet still reads its own */
    float *rates;
    int rate; /* the last one used; -1: none */
};

void cuda_sgd_close(void *ctx, void *plan)
{
    struct cuda *c = ctx;
    struct plan *p = plan;
    if (!p)
        return;
    (void)c->run->wait(c->stream);
    c->run->free_pinned(p->list);
    c->run->free_pinned(p->rates);
    c->run->free(p->scratch);
    free(p);
}

int cuda_sgd_plan(void *ctx, const struct nn_sgd *o, void **out)
{
    struct cuda *c = ctx;
    const size_t n = (size_t)o->n_tensors;
    bool lars = false;
    if (o->round) /* in halves they are rounded without being told */
        return ERR(-EINVAL, "cannot plan steps in rounded numbers on a GPU");
    struct plan *p = calloc(1, sizeof *p);
    if (!p)
        return ERR(-ENOMEM, "cannot plan the steps of %d tensors: no memory", o->n_tensors);
    p->all = (struct dev_sgd_all){(float)o->momentum, o->nesterov, o->real_grads};
    p->rate = -1;
    p->list = c->run->alloc_pinned((n + 1) * sizeof *p->list);
    p->rates = c->run->alloc_pinned(RATES * sizeof *p->rates);
    for (size_t i = 0; p->list && i < n; i++) {
        const struct nn_sgd_tensor *t = &o->tensors[i];
        p->list[i] = (struct dev_sgd){t->offset, t->n, (float)t->rate, (float)t->weight_decay,
                                      (float)t->trust};
        lars |= t->trust > 0;
    }
    if (lars)
        p->scratch = c->run->alloc(n * DEV_SGD_SCRATCH * sizeof *p->scratch);
    if (!p->list || !p->rates || (lars && !p->scratch)) {
        cuda_sgd_close(c, p);
        return -ENOMEM;
    }
    *out = p;
    return 0;
}

/* Where the rate stands until the step has run. */
static const float *rate_of(struct cuda *c, struct plan *p, float lr)
{
    if (p->rate >= 0 && p->rates[p->rate] == lr)
        return &p->rates[p->rate];
    p->rate = (p->rate + 1) % RATES;
    if (p->rate == 0)
        cuda_keep(c, c->run->wait(c->stream));
    p->rates[p->rate] = lr;
    return &p->rates[p->rate];
}

void cuda_sgd(void *ctx, void *plan, int first, int n, double lr, real *w, const real *g, real *v)
{
    struct cuda *c = ctx;
    struct plan *p = plan;
    const float *rate = rate_of(c, p, (float)lr);
    cuda_keep(c, c->ops->sgd(c->nn, &p->all, p->list + first, n, rate, w, g, v, p->scratch));
}
