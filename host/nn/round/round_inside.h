/* round_inside.h : what the files of the rounding table share: its context, and a function for each
 * pass. */
#ifndef ROUND_INSIDE_H
#define ROUND_INSIDE_H
#include "nn/round/round_ops.h"

struct rounder {
    const struct nn_ops *below;
    void *ctx; /* its */
    struct round_setup setup;
    const real *weights; /* the optimiser's; [n_weights] */
    real *narrow;        /* [n_weights] what layers read; NULL: the optimiser's */
    size_t n_weights;
    /* The loss has been asked for a gradient: what follows, up to the next weights(), is the way
     * back. For passes that are their own backward pass. */
    bool back;
    struct scale_tally *watched; /* of what the next layer with weights hands back */
};

/* x [n] in place, if such are rounded; NULL: nobody wants it. */
static inline void round_values(const struct rounder *r, enum round_what what, size_t n, real *x)
{
    if (x && r->setup.of[what].on)
        r->below->round_to(r->ctx, n, &r->setup.of[what].rule, x, x);
}

#define PLAN(name, params, args)        int round_##name(void *ctx, LIST params);
#define PASS(name, params, args, makes) void round_##name(void *ctx, LIST params);
#include "hls/nn/layers.def"

#endif
