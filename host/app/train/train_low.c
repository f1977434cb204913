/* train_low.c : --memory low: emulated ranks make the gradients of a step twice. */
#include "app/train/train.h"

/* The random bits of dropout and the images are keyed, so these are the same gradients; statistics are
 * spared. */
static void compute_again(void *ctx)
{
    struct train *t = ctx;
    t->again = true;
    (void)train_compute(t, false);
    t->again = false;
}

void train_low_share(struct train *t)
{
    struct train *lead = t->lead ? t->lead : t;
    if (t->low_memory)
        reducer_share(t->job.reducer, lead->job.reducer, compute_again, t);
}
