/* loss_scale.h : a scale of its own for the gradient of every layer, found while the backward pass
 * runs. The one definition that CPU and CUDA share. Source: Zhao et al., "Adaptive Loss Scaling for
 * Mixed Precision Training", by the rule of its authors' code.
 *
 *     gradient of a layer's output, in memory    g      carried = S times the loss's gradient
 *     its weights                                W
 *     what it multiplies by W instead of g       s * g  own = s
 *     gradient of its input, in memory           dx     carries S * s
 *     gradient of its weights                    dW     of s * g, divided by S * s: carries nothing
 *
 * Products g * W are about normal, of deviation sigma, sigma^2 = (var g + mean^2 g)(var W + mean^2 W);
 * a share T of them is below sqrt(2) erfinv(T) sigma, which s lifts to the least number there is. All
 * scales are powers of two, rounded down, so they change no bit of what neither under- nor
 * overflows. Doubles are multiplied and compared, no libm decides: the same moments give the same
 * scales on every machine. */
#ifndef LOSS_SCALE_H
#define LOSS_SCALE_H
#include "hls/arith/mf.h"

/* What the rule asks of a tensor. */
struct scale_moments {
    double square; /* mean of the squares: variance + mean^2; inf or nan: a value is */
    float largest; /* magnitude; of those that are not nan */
};

/* The rule's numbers: all but tail are those of the narrow format, or the caller's. */
struct scale_rule {
    double tail;    /* (sqrt(2) erfinv(T))^2: scale_tail() */
    double least;   /* 2^-24: the smallest magnitude there is */
    double largest; /* 65504: the largest */
    double highest; /* A: S * s at most */
    double most;    /* s at most */
};

/* A node's, in the backend's memory. What a pass carries is worked out anew in every pass;
 * own alone stays until it is refreshed. */
struct node_scale {
    float carried; /* S */
    float own;     /* s; 1 where a node hands its scale on */
    float divisor; /* S * s: of gradients of weights, and what dx carries */
    float
        other; /* what another reader has left in dx is multiplied by this before it is added to */
    float planted;                  /* for tests: what dx shall carry; 0: the rule decides */
    struct scale_moments dy, w, dx; /* dx: of what the other reader has left */
};

/* How large the values of a tensor are, counted by the exponent field of fp32: bin e has those from
 * 2^(e - 127) on, bin 0 what is smaller but not 0, the last what is not finite. */
enum { TALLY_BINS = 256, TALLY_BIAS = 127 };
struct scale_tally {
    uint32_t zero, bins[TALLY_BINS];
};

enum { SCALE_STEPS = 64 }; /* of two, up or down, that s goes from 1 at most */

/* The place of an fp32 in a tally: its bin, or -1: it is 0. */
MF_FN int tally_bin(uint32_t bits)
{
    const uint32_t size = bits & 0x7fffffffu;
    return size == 0u ? -1 : (int)(size >> 23);
}

/* (sqrt(2) erfinv(t))^2, t in (0, 1/2], by the series of erfinv: its coefficients c[k] / (2k + 1) of
 * (sqrt(pi) / 2 * t)^(2k + 1), c[k] = sum of c[i] c[k - 1 - i] / ((i + 1)(2i + 1)). The terms shrink
 * by a quarter at t = 1/2, so what is left out there is below 1e-20. */
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

/* The largest magnitude of s * g, and of any sum of `terms` products of it with W, by s. The first
 * is ours: where terms * max|W| is below 1, a product that fits could come of an s * g that does
 * not. */
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

/* s for a layer: the largest power of two that is not above max(1, least / (tail^(1/2) sigma)) nor
 * any of the caps, which may take it below 1. 1 where g is zero, or not finite. */
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

/* Where branches meet: the largest power of two, not above the larger of the scales they carry, at
 * which neither they nor their sum overflow. mine: what this one would carry; in: the other. */
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

/* A convolution or linear layer, behind the moments: s, and what dx will carry. add: another reader
 * of its input has left a gradient in dx. refresh: else s stays what it was. terms 0: any other node
 * that adds to such a gradient (by no more than its own largest): it has no weights, and s is 1
 * unless the branches need another one to meet. */
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

/* Any other layer hands on what it carries: to its input, and to what it adds. */
MF_FN void scale_hand_on(struct node_scale *node, struct node_scale *in, struct node_scale *addend)
{
    node->own = node->other = 1;
    node->divisor = node->carried;
    in->carried = node->carried;
    if (addend)
        addend->carried = node->carried;
}

#endif
