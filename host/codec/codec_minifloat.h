/* codec_minifloat.h : the inside of a minifloat codec: for its own files, tests and benches. */
#ifndef CODEC_MINIFLOAT_H
#define CODEC_MINIFLOAT_H
#include "codec/codec_kind.h"
#include "codec/quantile.h"
#include <assert.h>
#include <string.h>

enum codec_scale { CODEC_NONE, CODEC_CONST, CODEC_APS, CODEC_APS_TIGHT, CODEC_QUANTILE };

struct minifloat {
    struct vec_sum sum; /* its formats are the codec's */
    bool out_auto, sum_auto;
    enum codec_scale scale;
    int const_shift; /* const:K, log2 K */
    enum mf_round round;
    struct quantile quantile; /* scale: quantile */
    bool rescale;             /* the sums of groups get an exponent of their own */
    int n_groups;             /* so many of them it leaves room for */
    /* Ranks whose codes are added before anything is scaled anew (of a quantile: rounded to less, or 1
     * where sums are exact); nodes, by which a quantile's node's sum is divided before it travels on,
     * or 1. */
    int share, n_nodes;
};

/* ---- fold_minifloat.c ---- */

extern const struct fold_ops minifloat_fold;

/* Of a codec of this kind, told by its fold: the table of the kind needs those who ask. */
static inline const struct minifloat *minifloat_of(const struct codec *c)
{
    assert(c->kind->fold == &minifloat_fold);
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

/* What partial sums whose exponent is e, in units of codes, are shifted by: so many of them as there
 * are groups then fit 2^bias, as the addends of a group did. */
static inline int minifloat_rescale_shift(const struct minifloat *m, int8_t e)
{
    return e == CODEC_ALL_ZERO || e == CODEC_NOT_FINITE ? 0 : mf_bias(m->sum.in) - e;
}

/* ---- minifloat_words.c, minifloat_settle.c: slots of its table (codec_kind.h) ---- */

int minifloat_parse(const struct codec_words *words, const char *rest, struct codec *c);
void minifloat_describe(const struct codec *c, struct text *to);
int minifloat_settle(struct codec *c, const struct codec_adder *by);

/* Would sums by this rule, of the formats of *sum, do for `by`? */
bool minifloat_may(const struct vec_sum *sum, enum vec_rule rule, const struct codec_adder *by);

#endif
