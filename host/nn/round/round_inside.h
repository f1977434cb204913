/* round_inside.h : declares the context and the passes of the rounding table (round_ops.h) for its
 * files. */
#ifndef ROUND_INSIDE_H
#define ROUND_INSIDE_H
#include "nn/round/round_ops.h"

struct rounder {
    const struct nn_ops *below;
    void *ctx; /* context of the backend that computes */
    struct round_setup setup;
    const real *weights; /* [n_weights] the optimiser's weights */
    /* [n_weights] rounded copy that layers read; NULL: layers read the optimiser's weights */
    real *narrow;
    size_t n_weights;
    /* True from the loss's gradient to the next call of weights(). Passes that serve as their own
     * backward pass use it to know their direction. */
    bool back;
    /* tally of the gradient that the next layer with weights passes back */
    struct scale_tally *watched;
};

/* Round x [n] in place if tensors of this kind are rounded. Does nothing if x is NULL. */
static inline void round_values(const struct rounder *r, enum round_what what, size_t n, real *x)
{
    if (x && r->setup.of[what].on)
        r->below->round_to(r->ctx, n, &r->setup.of[what].rule, x, x);
}

#define PLAN(name, params, args)        int round_##name(void *ctx, LIST params);
#define PASS(name, params, args, makes) void round_##name(void *ctx, LIST params);
#include "hls/nn/layers.def"

#endif
