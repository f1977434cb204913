/* loss_scale.h : finds a loss scale for each layer during the backward pass, alike on CPU and GPU.
 * Source: Zhao et al., "Adaptive Loss Scaling for Mixed Precision Training", by its authors' code.
 *
 *     gradient of a layer's output, in memory    g      carried = S times the loss's gradient
 *     its weights                                W
 *     the factor of W in its products            s * g  own = s
 *     gradient of its input, in memory           dx     carries S * s
 *     gradient of its weights                    dW     of s * g, divided by S * s: carries nothing
 *
 * Products g * W are taken as normal, sigma^2 = (var g + mean^2 g)(var W + mean^2 W). A share T of
 * them is below sqrt(2) erfinv(T) sigma, which s lifts to the format's least number. Scales are
 * powers of two, rounded down, so they change only bits that under- or overflow. No libm is used:
 * equal moments give equal scales on every machine. */
#ifndef LOSS_SCALE_H
#define LOSS_SCALE_H
#include "hls/arith/mf.h"

struct scale_moments {
    double square; /* mean of the squares (variance + mean^2); inf or nan if a value is */
    float largest; /* largest magnitude, ignoring nan */
};

/* The narrow format's numbers and the caller's limits. */
struct scale_rule {
    double tail;    /* (sqrt(2) erfinv(T))^2: scale_tail() */
    double least;   /* 2^-24: smallest magnitude of the format */
    double largest; /* 65504: largest magnitude of the format */
    double highest; /* A: limit of S * s */
    double most;    /* limit of s */
};

/* Scales of a node, in backend memory. Each pass recomputes all but
 * `own`, which stays until refreshed. */
struct node_scale {
    float carried; /* S */
    float own;     /* s; 1 if the node passes its scale on unchanged */
    float divisor; /* S * s: carried by dx; divides weight gradients */
    float
        /* factor on the gradient that another reader left in dx, before this one is added */
        other;
    float planted;                  /* for tests: scale that dx must carry; 0: use the rule */
    struct scale_moments dy, w, dx; /* dx: of the gradient that another reader left there */
};

/* Histogram of magnitudes by the exponent field of fp32. Bin e starts at 2^(e - 127); bin 0 has
 * smaller values except 0, the last bin inf and nan. */
enum { TALLY_BINS = 256, TALLY_BIAS = 127 };
struct scale_tally {
    uint32_t zero, bins[TALLY_BINS];
};

enum { SCALE_STEPS = 64 }; /* most doublings or halvings of s from 1 */

/* Return the bin of an fp32; -1 if it is 0. */
MF_FN int tally_bin(uint32_t bits)
{
    const uint32_t size = bits & 0x7fffffffu;
    return size == 0u ? -1 : (int)(size >> 23);
}

/* Return (sqrt(2) erfinv(t))^2, t in (0, 1/2], by erfinv's series in z = sqrt(pi) / 2 * t: terms
 * c[k] / (2k + 1) * z^(2k + 1), c[k] = sum of c[i] c[k - 1 - i] / ((i + 1)(2i + 1)). Terms shrink
 * to a quarter of the last at t = 1/2: the omitted ones sum to less than 1e-20. */
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

/* Return the largest possible magnitude, for s = 1, of s * g and of a sum of `terms` products with
 * W. s * g is our addition: where terms * max|W| < 1, sums can fit although s * g does not. */
MF_FN double scale_bound(double terms, const struct node_scale *node)
{
    const double grown = terms * (double)node->w.largest;
    return (double)node->dy.largest * (grown > 1 ? grown : 1);
}

MF_FN int scale_fits(const struct scale_rule *r, const struct node_scale *node, double bound,
                     double s)
{
    return s * bound <= r->largest && s * (double)node->carried <= r->highest && s <= r->most;
}

/* Return s: the largest power of two not above max(1, least / (tail^(1/2) sigma)) nor any limit;
 * limits may take it below 1. Return 1 if g is zero or not finite. */
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

/* Return the scale where branches meet: the largest power of two, at most the
 * larger of `mine` (this branch's) and in->carried (the other's), at which neither
 * branch nor their sum overflows. */
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

/* Choose s of a convolution or linear layer from the moments in `node`, and set the scale of dx.
 * add: another reader of the input has left a gradient in dx. refresh: choose s anew. terms: of a
 * sum of dx; 0: a node without weights that adds to such a gradient, at most its own largest: s is
 * 1 unless branches need another one to meet. */
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

/* Pass the scale of any other node on to its input and addend (NULL: none). */
MF_FN void scale_hand_on(struct node_scale *node, struct node_scale *in, struct node_scale *addend)
{
    node->own = node->other = 1;
    node->divisor = node->carried;
    in->carried = node->carried;
    if (addend)
        addend->carried = node->carried;
}

#endif
