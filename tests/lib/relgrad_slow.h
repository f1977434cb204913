/* relgrad_slow.h : slow reference of the fp8 paper's Algorithm 1 and Fig. 2 for ranks in one
 * process. Rounded doubles emulate half precision. */
#ifndef RELGRAD_SLOW_H
#define RELGRAD_SLOW_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { SLOW_RANKS = 8 };

enum slow_rule { SLOW_TRUNC, SLOW_NEAREST, SLOW_EXACT };

static inline float slow_value(uint8_t code)
{
    const int field = code >> 2 & 31, m = code & 3;
    const double size = field ? ldexp(4 + m, field - 17) : ldexp(m, -16);
    return (float)(code & 0x80 ? -size : size);
}

/* Rounds to `bits` of significand and 5 of exponent, ties to even; too large values become
 * infinite. */
static inline double slow_round(double x, int bits)
{
    int e;
    frexp(x, &e);
    const int unit = (e - 1 < -14 ? -14 : e - 1) - (bits - 1);
    const double rounded = x == 0 || isinf(x) ? x : ldexp(nearbyint(ldexp(x, -unit)), unit);
    return fabs(rounded) >= 65536 ? copysign(INFINITY, x) : rounded;
}

static inline uint8_t slow_byte(double x)
{
    uint8_t code = signbit(x) ? 0x80 : 0;
    if (isinf(x))
        return code | 0x7c;
    const double size = fabs(x);
    for (uint8_t c = 0x40; c; c >>= 1)
        if (((code & 0x7f) | c) < 0x7c && size >= (double)slow_value((uint8_t)((code & 0x7f) | c)))
            code |= c;
    return code;
}

/* Fig. 2: converts to half like vcvtps2ph and drops the low byte; an exponent of all ones is
 * decreased by 1. */
static inline uint8_t slow_fp8(double x, enum slow_rule rule)
{
    const uint8_t sum = slow_byte(slow_round(x, rule == SLOW_TRUNC ? 11 : 3));
    return (uint8_t)(sum - ((sum & 0x7c) == 0x7c));
}

static inline uint8_t slow_add(uint8_t a, uint8_t b, enum slow_rule rule)
{
    return slow_fp8((double)(slow_value(a) + slow_value(b)), rule);
}

struct slow_step {
    int n_ranks, node; /* P, P'; P' = P: one all-reduce */
    enum slow_rule rule;
    float q, eps; /* eps 0: D = g */
};

struct slow_element {
    uint8_t sent[SLOW_RANKS];
    uint8_t nodes[SLOW_RANKS]; /* each node's sum over P / P' */
    uint8_t sum;
    float mean;
};

static inline struct slow_element slow_element(const struct slow_step *s, const float *grads,
                                               float weight)
{
    struct slow_element e = {.sum = 0};
    const float relative_to = s->eps > 0 ? fabsf(weight) + s->eps : 1,
                share = s->rule == SLOW_EXACT ? 1 : (float)s->node;
    const int n_nodes = s->n_ranks / s->node;
    double exact = 0;
    for (int p = 0; p < s->n_ranks; p++) {
        const float d = grads[p] / relative_to;
        e.sent[p] = s->q > 0 ? slow_fp8((double)(d * (57344 / s->q) / share), s->rule) : 0;
        exact += (double)slow_value(e.sent[p]);
        uint8_t *node = &e.nodes[p / s->node];
        *node = p % s->node ? slow_add(*node, e.sent[p], s->rule) : e.sent[p];
    }
    for (int k = 0; k < n_nodes; k++) {
        if (n_nodes > 1)
            e.nodes[k] = slow_fp8((double)(slow_value(e.nodes[k]) / (float)n_nodes), s->rule);
        e.sum = k ? slow_add(e.sum, e.nodes[k], s->rule) : e.nodes[k];
    }
    float v = slow_value(e.sum);
    if (s->rule == SLOW_EXACT) {
        int half = 1;
        while (half < s->n_ranks)
            half *= 2;
        e.sum = slow_fp8(exact / half, SLOW_NEAREST);
        v = slow_value(e.sum) * (float)half / (float)s->n_ranks;
    }
    e.mean = v * (s->q / 57344) * relative_to;
    return e;
}

static inline int slow_compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The ceil(percent / 100 * n)-th smallest; sorts x. */
static inline float slow_quantile(float *x, size_t n, int percent)
{
    qsort(x, n, sizeof *x, slow_compare);
    const size_t rank = (n * (size_t)percent + 99) / 100;
    return x[rank ? rank - 1 : 0];
}

#endif
