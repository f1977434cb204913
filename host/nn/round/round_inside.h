/* round_inside.h : declares the rounding table's context and passes (round_ops.h) for its files. */
#ifndef ROUND_INSIDE_H
#define ROUND_INSIDE_H
#include "nn/round/round_ops.h"

struct rounder {
    const struct nn_ops *below;
    void *ctx; /* of `below` */
    struct round_setup setup;
    const real *weights; /* [n_weights] the optimiser's */
    /* [n_weights] rounded copy that layers read; NULL: they read the optimiser's */
    real *narrow;
    size_t n_weights;
    /* backward pass: true from the loss's gradient to the next weights() */
    bool back;
    /* adaptive scales: a loss's gradient is rounded after its layer has scaled it, because at scale
     * 1 most of it underflows in 8 bits (not in pure fp16, whose tensors are all in e5m10) */
    bool scaled_first;
    /* for the gradient of the next layer with weights */
    struct scale_tally *watched;
};

/* Round x [n] in place if tensors of this kind are rounded. x may be NULL. */
static inline void round_values(const struct rounder *r, enum round_what what, size_t n, real *x)
{
    if (x && r->setup.of[what].on)
        r->below->round_to(r->ctx, n, &r->setup.of[what].rule, x, x);
}

#define PLAN(name, params, args)        int round_##name(void *ctx, LIST params);
#define PASS(name, params, args, makes) void round_##name(void *ctx, LIST params);
#include "hls/nn/layers.def"

#endif
