/* nn_cuda_optim.c : steps an optimiser on the GPU with one launch for all tensors. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/cuda/nn_cuda.h"

enum { STEPS = 64 };

struct plan {
    struct optim_options o;
    struct optim_tensor *list; /* [n_tensors] device */
    float *scratch;            /* device */
    struct optim_step *step;   /* [1] device */
    /* [STEPS] pinned, used in turn: the last may be in transfer */
    struct optim_step *steps;
    int last; /* last one used; -1: none */
};

void cuda_optim_close(void *ctx, void *plan)
{
    struct cuda *c = ctx;
    struct plan *p = plan;
    if (!p)
        return;
    (void)c->run->wait(c->stream);
    c->run->free(p->list);
    c->run->free(p->step);
    c->run->free_pinned(p->steps);
    c->run->free(p->scratch);
    free(p);
}

static int memory_of(struct cuda *c, struct plan *p, const struct nn_optim *o)
{
    const size_t n = (size_t)o->n_tensors;
    p->list = c->run->alloc((n + 1) * sizeof *p->list);
    p->step = c->run->alloc(sizeof *p->step);
    p->steps = c->run->alloc_pinned(STEPS * sizeof *p->steps);
    p->scratch = c->run->alloc((n + 1) * DEV_OPTIM_SCRATCH * sizeof *p->scratch);
    if (!p->list || !p->step || !p->steps || !p->scratch)
        return -ENOMEM;
    TRY(c->run->copy(p->list, o->tensors, n * sizeof *p->list, c->stream));
    return c->run->wait(c->stream);
}

int cuda_optim_plan(void *ctx, const struct nn_optim *o, void **out)
{
    struct cuda *c = ctx;
    if (o->round) /* halves are always rounded */
        return ERR(-EINVAL, "cannot plan steps in rounded numbers on a GPU");
    struct plan *p = calloc(1, sizeof *p);
    if (!p)
        return ERR(-ENOMEM, "cannot plan the steps of %d tensors: no memory", o->n_tensors);
    p->o = o->o;
    p->last = -1;
    const int rc = memory_of(c, p, o);
    if (rc < 0) {
        cuda_optim_close(c, p);
        return rc;
    }
    *out = p;
    return 0;
}

static void set_step(struct cuda *c, struct plan *p, const struct optim_step *step)
{
    if (p->last >= 0 && !memcmp(&p->steps[p->last], step, sizeof *step))
        return;
    p->last = (p->last + 1) % STEPS;
    if (p->last == 0)
        cuda_keep(c, c->run->wait(c->stream));
    p->steps[p->last] = *step;
    cuda_keep(c, c->run->copy(p->step, &p->steps[p->last], sizeof *step, c->stream));
}

void cuda_optim(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
                const real *g, real *const *state)
{
    struct cuda *c = ctx;
    struct plan *p = plan;
    void *states[OPTIM_STATES];
    for (int i = 0; i < OPTIM_STATES; i++)
        states[i] = state[i];
    set_step(c, p, step);
    cuda_keep(c, c->ops->optim[p->o.kind](c->nn, &p->o, p->list + first, n, p->step, w, g, states,
                                          p->scratch));
}
