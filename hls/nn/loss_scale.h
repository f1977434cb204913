/* loss_scale.h : finds a loss scale for each layer during the backward pass, alike on CPU and GPU.
 * Source: paper 5 of README.md and its code.
 *
 *     g    gradient of a layer's output, as in memory: S times the true gradient (S: `carried`)
 *     W    the layer's weights, by which it multiplies s * g (s: `own`)
 *     dx   gradient of the layer's input, as in memory: S * s times the true gradient
 *     dW   gradient of the weights, computed from s * g and divided by S * s: the true gradient
 *
 * The method assumes normally distributed products g * W, with mean 0 and variance
 *
 *     sigma^2 = (var g + mean^2 g)(var W + mean^2 W)
 *
 * Then a share T of their magnitudes is below sqrt(2) erfinv(T) sigma. The scale s raises this
 * bound to the format's smallest number. Scales are powers of two, rounded down, so they change
 * only numbers that under- or overflow. The code calls no libm, so equal moments give equal scales
 * everywhere. */
#ifndef LOSS_SCALE_H
#define LOSS_SCALE_H
#include "hls/arith/mf.h"

struct scale_moments {
    double square; /* mean of the squares (variance + mean^2); inf or nan if some value is */
    float largest; /* largest magnitude, ignoring nan */
};

/* the narrow format's numbers and the caller's limits */
struct scale_rule {
    double tail;    /* (sqrt(2) erfinv(T))^2, from scale_tail() */
    double least;   /* 2^-24: the format's smallest magnitude */
    double largest; /* 65504: the format's largest */
    double highest; /* A: upper limit of S * s */
    double most;    /* upper limit of s */
};

/* Scales of a node, in backend memory. Each backward pass computes them, `own` only when
 * refreshed. */
struct node_scale {
    float carried; /* S */
    float own;     /* s; 1 if the node passes its scale on unchanged */
    float divisor; /* S * s: the scale of dx, by which weight gradients are divided */
    float
        /* factor on a gradient that another node with the same input left in dx, before adding */
        other;
    float planted;                  /* for tests: the scale of dx; 0: use the rule */
    struct scale_moments dy, w, dx; /* dx: of the other node's gradient in dx */
};

/* Histogram of magnitudes by fp32's exponent field. Bin e counts values from 2^(e - 127) on, bin 0
 * those below 2^-126 except 0, the last bin inf and nan. */
enum { TALLY_BINS = 256, TALLY_BIAS = 127 };
struct scale_tally {
    uint32_t zero, bins[TALLY_BINS];
};

/* Return the number of finite values in the bins below `end`. */
MF_FN double tally_below(const struct scale_tally *c, int end)
{
    double n = 0;
    for (int i = 0; i < end && i < TALLY_BINS - 1; i++)
        n += c->bins[i];
    return n;
}

enum { SCALE_STEPS = 64 }; /* most doublings or halvings of a scale */

/* Return the bin of an fp32, by its bits; -1 for 0. */
MF_FN int tally_bin(uint32_t bits)
{
    const uint32_t size = bits & 0x7fffffffu;
    return size == 0u ? -1 : (int)(size >> 23);
}

/* Return (sqrt(2) erfinv(t))^2 for t in (0, 1/2], by the series of erfinv in z = sqrt(pi)/2 * t:
 * terms c[k] / (2k + 1) * z^(2k + 1), c[k] = sum of c[i] c[k - 1 - i] / ((i + 1)(2i + 1)). For t =
 * 1/2, each term is a quarter of the one before, so the omitted terms sum to less than 1e-20. */
MF_FN double scale_tail(double t)
{
    enum { TERMS = 32 };
    const double half_root_pi = 0.88622692545275801365, z = half_root_pi * t;
    double c[TERMS], sum = 0, power = z;
    for (int k = 0; k < TERMS; k++) {
        c[k] = k == 0;
        for (int i = 0; i < k; i++)
            c[k] += c[i] * c[k - 1 - i] / ((i + 1.0) * (2.0 * i + 1));
        sum += c[k] / (2.0 * k + 1) * power;
        power *= z * z;
    }
    return 2 * sum * sum;
}

/* Return the largest possible magnitude, for s = 1, of s * g and of a sum of `terms` products s * g
 * * W. The paper bounds only the sums, but if terms * max|W| < 1, s * g is larger. */
MF_FN double scale_bound(double terms, const struct node_scale *node)
{
    const double grown = terms * (double)node->w.largest;
    return (double)node->dy.largest * (grown > 1 ? grown : 1);
}

/* Return 1 if s exceeds no limit. bound: from scale_bound(). */
MF_FN int scale_fits(const struct scale_rule *r, const struct node_scale *node, double bound,
                     double s)
{
    return s * bound <= r->largest && s * (double)node->carried <= r->highest && s <= r->most;
}

/* Return s: the largest power of two that exceeds neither max(1, least / (tail^(1/2) sigma)) nor a
 * limit, which may make it less than 1. Return 1 if g or W is zero or not finite. */
MF_FN double scale_own(const struct scale_rule *r, const struct node_scale *node, double bound)
{
    const double spread = r->tail * node->dy.square * node->w.square, limit = r->least * r->least;
    double s = 1;
    if (!(spread > 0 && spread * 0 == 0))
        return 1;
    for (int i = 0; i < SCALE_STEPS; i++)
        if (4 * s * s * spread <= limit && scale_fits(r, node, bound, 2 * s))
            s *= 2;
    for (int i = 0; i < SCALE_STEPS; i++)
        if (!scale_fits(r, node, bound, s))
            s /= 2;
    return s;
}

/* Return the scale of the sum of two branches' gradients: the largest power of two, up to the
 * larger of `mine` (this branch's scale) and in->carried (the other's), without overflow of either
 * branch or their sum. */
MF_FN double scale_meet(const struct scale_rule *r, const struct node_scale *node, double bound,
                        const struct node_scale *in, double mine)
{
    const double theirs = (double)in->carried;
    double to = mine > theirs ? mine : theirs;
    for (int i = 0; i < SCALE_STEPS; i++)
        if (to / theirs * (double)node->dx.largest + to / (double)node->carried * bound >
            r->largest)
            to /= 2;
    return to;
}

/* Choose s of node `node` from its moments, and set the scale of dx, the gradient of its input
 * `in`. refresh: if 0, s stays. add: 1 if this node adds to the gradient that another node with the
 * same input left in dx. terms: products in a sum of dx, for a convolution or linear layer. 0: a
 * node without weights whose dx is at most its dy; then s is 1, unless the sum with the other
 * gradient needs another scale. */
MF_FN void scale_layer(const struct scale_rule *r, double terms, int add, int refresh,
                       struct node_scale *node, struct node_scale *in)
{
    const double bound = scale_bound(terms, node), carried = (double)node->carried;
    double to = carried * (double)node->own;
    if (refresh && node->planted > 0) {
        to = terms > 0 ? (double)node->planted : carried;
        if (add && to < (double)in->carried)
            to = (double)in->carried;
    } else if (refresh) {
        to = terms > 0 ? carried * scale_own(r, node, bound) : carried;
        if (add)
            to = scale_meet(r, node, bound, in, to);
    }
    node->own = (float)(to / carried);
    node->divisor = (float)to;
    node->other = add ? (float)(to / (double)in->carried) : 1;
    in->carried = node->divisor;
}

/* Pass the scale of a node without an own scale on to its input and its addend (NULL: none). */
MF_FN void scale_hand_on(struct node_scale *node, struct node_scale *in, struct node_scale *addend)
{
    node->own = node->other = 1;
    node->divisor = node->carried;
    in->carried = node->carried;
    if (addend)
        addend->carried = node->carried;
}

#endif
