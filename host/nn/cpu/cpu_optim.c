/* cpu_optim.c : steps optimisers over a list of tensors. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/cpu/cpu_ops.h"

struct plan {
    struct nn_optim how;
    struct optim_tensor tensors[];
};

int cpu_optim_plan(void *ctx, const struct nn_optim *o, void **out)
{
    (void)ctx;
    const size_t bytes = (size_t)o->n_tensors * sizeof *o->tensors;
    struct plan *p = malloc(sizeof *p + bytes);
    if (!p)
        return ERR(-ENOMEM, "cannot plan the steps of %d tensors: no memory", o->n_tensors);
    p->how = *o;
    p->how.tensors = p->tensors;
    if (o->n_tensors > 0)
        memcpy(p->tensors, o->tensors, bytes);
    *out = p;
    return 0;
}

void cpu_optim_close(void *ctx, void *plan)
{
    (void)ctx;
    free(plan);
}

void cpu_optim(void *ctx, void *plan, int first, int n, const struct optim_step *step, real *w,
               const real *g, real *const *state)
{
    static void (*const steps[])(const struct cpu_part *p) = {
#define OPTIMISER(name, takes, states, update, help) cpu_##name,
#include "hls/nn/optimisers.def"
    };
    (void)ctx;
    const struct nn_optim *how = &((const struct plan *)plan)->how;
    for (const struct optim_tensor *t = how->tensors + first; t < how->tensors + first + n; t++) {
        struct cpu_part part = {
            .how = how, .t = t, .step = step, .w = w + t->offset, .g = g + t->offset};
        for (int i = 0; i < OPTIM_STATES; i++)
            part.state[i] = state[i] ? state[i] + t->offset : NULL;
        steps[how->o.kind](&part);
    }
}
