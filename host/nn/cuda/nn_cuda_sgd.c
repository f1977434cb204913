/* nn_cuda_sgd.c : the optimiser's step on the GPU: one launch for all tensors, their list and the rate
 * in device memory. A rate that is another than the step's before is copied there first. */
#include <stdlib.h>
#include "base/err.h"
#include "nn/cuda/nn_cuda.h"

enum { RATES = 64 };

struct plan {
    struct dev_sgd_all all;
    struct dev_sgd *list; /* [n_tensors] device */
    float *scratch;       /* of LARS; NULL: none */
    float *rate;          /* [1] device */
    float *rates;         /* [RATES] pinned, used in turn: one may not have been copied yet */
    int last;             /* of them, the one that was used last; -1: none */
};

void cuda_sgd_close(void *ctx, void *plan)
{
    struct cuda *c = ctx;
    struct plan *p = plan;
    if (!p)
        return;
    (void)c->run->wait(c->stream);
    c->run->free(p->list);
    c->run->free(p->rate);
    c->run->free_pinned(p->rates);
    c->run->free(p->scratch);
    free(p);
}

/* list: the host's. */
static int memory_of(struct cuda *c, struct plan *p, const struct dev_sgd *list, size_t n,
                     bool lars)
{
    p->list = c->run->alloc((n + 1) * sizeof *p->list);
    p->rate = c->run->alloc(sizeof *p->rate);
    p->rates = c->run->alloc_pinned(RATES * sizeof *p->rates);
    p->scratch = lars ? c->run->alloc(n * DEV_SGD_SCRATCH * sizeof *p->scratch) : NULL;
    if (!p->list || !p->rate || !p->rates || (lars && !p->scratch))
        return -ENOMEM;
    TRY(c->run->copy(p->list, list, n * sizeof *list, c->stream));
    return c->run->wait(c->stream);
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
    p->last = -1;
    struct dev_sgd *list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++) {
        const struct nn_sgd_tensor *t = &o->tensors[i];
        list[i] = (struct dev_sgd){t->offset, t->n, (float)t->rate, (float)t->weight_decay,
                                   (float)t->trust};
        lars |= t->trust > 0;
    }
    const int rc = list ? memory_of(c, p, list, n, lars)
                        : ERR(-ENOMEM, "cannot plan the steps of %zu tensors: no memory", n);
    free(list);
    if (rc < 0) {
        cuda_sgd_close(c, p);
        return rc;
    }
    *out = p;
    return 0;
}

static void set_rate(struct cuda *c, struct plan *p, float lr)
{
    if (p->last >= 0 && p->rates[p->last] == lr)
        return;
    p->last = (p->last + 1) % RATES;
    if (p->last == 0)
        cuda_keep(c, c->run->wait(c->stream));
    p->rates[p->last] = lr;
    cuda_keep(c, c->run->copy(p->rate, &p->rates[p->last], sizeof lr, c->stream));
}

void cuda_sgd(void *ctx, void *plan, int first, int n, double lr, real *w, const real *g, real *v)
{
    struct cuda *c = ctx;
    struct plan *p = plan;
    set_rate(c, p, (float)lr);
    cuda_keep(c, c->ops->sgd(c->nn, &p->all, p->list + first, n, p->rate, w, g, v, p->scratch));
}
