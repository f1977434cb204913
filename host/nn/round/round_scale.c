/* round_scale.c : scales of layers in the rounding table: weights are those that layers read, and
 * gradients that were multiplied are rounded again: they may have left the format at either end. */
#include "nn/round/round_inside.h"

void round_moments(void *ctx, size_t n, const real *x, const uint32_t *wanted,
                   struct scale_moments *to, void *scratch)
{
    const struct rounder *r = ctx;
    r->below->moments(r->ctx, n, x, wanted, to, scratch);
}

void round_weight_moments(void *ctx, size_t n, const real *w, const uint32_t *wanted,
                          struct scale_moments *to, void *scratch)
{
    const struct rounder *r = ctx;
    r->below->weight_moments(r->ctx, n, round_weight(r, w), wanted, to, scratch);
}

void round_scale_layer(void *ctx, const struct scale_rule *rule, double terms, bool add,
                       const uint32_t *wanted, struct node_scale *node, struct node_scale *in)
{
    const struct rounder *r = ctx;
    r->below->scale_layer(r->ctx, rule, terms, add, wanted, node, in);
}

void round_scale_hand_on(void *ctx, struct node_scale *node, struct node_scale *in,
                         struct node_scale *addend)
{
    const struct rounder *r = ctx;
    r->below->scale_hand_on(r->ctx, node, in, addend);
}

void round_scale_by(void *ctx, size_t n, const float *k, const struct round_rule *rule, real *x)
{
    const struct rounder *r = ctx;
    const struct round_rule *own =
        r->setup.of[ROUND_ERROR].on ? &r->setup.of[ROUND_ERROR].rule : rule;
    r->below->scale_by(r->ctx, n, k, own, x);
}

/* What was watched has been counted. */
void round_tally(void *ctx, size_t n, const real *x, struct scale_tally *to)
{
    const struct rounder *r = ctx;
    if (to != r->watched || !r->setup.of[ROUND_ERROR].on)
        r->below->tally(r->ctx, n, x, to);
}
