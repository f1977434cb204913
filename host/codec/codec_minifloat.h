/* codec_minifloat.h : declares the internals of minifloats. */
#ifndef CODEC_MINIFLOAT_H
#define CODEC_MINIFLOAT_H
#include "codec/codec_kind.h"
#include "codec/quantile.h"
#include <assert.h>
#include <string.h>

enum codec_scale { CODEC_NONE, CODEC_CONST, CODEC_APS, CODEC_APS_TIGHT, CODEC_QUANTILE };

struct minifloat {
    struct vec_sum sum; /* in the codec's formats */
    bool out_auto, sum_auto;
    enum codec_scale scale;
    int const_shift; /* log2 K of const:K */
    uint32_t group;  /* elements per exponent, with aps and aps-tight; 0: one per layer */
    enum mf_round round;
    struct quantile quantile; /* used with scale quantile */
    bool rescale;             /* sums of groups get their own exponent */
    int n_groups;             /* to leave head-room for */
    /* share: ranks whose codes are added before a sum is rescaled; with a quantile: before it is
     * divided, or 1 if sums are exact. n_nodes: divisor of a node's sum before it travels on
     * (quantile), or 1. */
    int share, n_nodes;
};

extern const struct reduce_op_kind minifloat_reduce_op;

/* Checks the kind by its reduce op, because its table would make this header depend on its
 * users. */
static inline const struct minifloat *minifloat_of(const struct codec *c)
{
    assert(c->kind->op == &minifloat_reduce_op);
    return (const void *)c->own;
}
static inline void minifloat_set(struct codec *c, const struct minifloat *m)
{
    static_assert(sizeof *m <= CODEC_OWN_BYTES, "struct codec has too little room");
    memcpy(c->own, m, sizeof *m);
}

static inline struct vec_cast minifloat_cast(const struct minifloat *m)
{
    return (struct vec_cast){.fmt = m->sum.in,
                             .round = m->round,
                             .overflow = m->sum.overflow,
                             .trunc = m->sum.rule == VEC_TRUNC};
}

/* Return the shift for partial sums of exponent e, in units of codes. The sum of n_groups of them
 * then fits aps's bound, as a group's addends did. */
static inline int minifloat_rescale_shift(const struct minifloat *m, int8_t e)
{
    return e == CODEC_ALL_ZERO || e == CODEC_NOT_FINITE ? 0 : vec_aps_top(m->sum.in, false) - e;
}

/* ---- minifloat_spec.c, minifloat_settle.c: functions of the kind's table (codec_kind.h) ---- */

int minifloat_parse(const struct codec_spec *spec, const char *rest, struct codec *c);
void minifloat_describe(const struct codec *c, struct text *to);
int minifloat_settle(struct codec *c, const struct codec_adder *by);
void minifloat_unround(struct codec *c);

/* Return true if `by` can use sums by this rule in the formats of *sum. */
bool minifloat_may(const struct vec_sum *sum, enum vec_rule rule, const struct codec_adder *by);

#endif
