/* minifloat_settle.c : replaces `auto` in a minifloat codec's options, and refuses what P ranks or
 * the algorithm cannot do. */
#include "base/bits.h"
#include "base/err.h"
#include "codec/codec_minifloat.h"
#include <stdio.h>

#define EXACT_BITS_MAX 62

static const struct mf_fmt e5m2 = {5, 2, 0}, e4m3 = {4, 3, 0};

/* nearest and trunc round every partial sum to the format. */
static const unsigned has[VEC_RULES] = {[VEC_EXACT] = REDUCE_WIDE,
                                        [VEC_NEAREST] = REDUCE_PARTS | REDUCE_NODES,
                                        [VEC_TRUNC] = REDUCE_PARTS | REDUCE_NODES};

bool minifloat_may(const struct vec_sum *sum, enum vec_rule rule, const struct codec_adder *by)
{
    struct vec_sum asked = *sum;
    asked.rule = rule;
    return (!by->needs || by->needs & has[rule]) && (!by->adds || by->adds(&asked));
}

/* The test of e is redundant: e > 5 never fits 62 bits. */
static bool fits_exact(struct mf_fmt f, int n_ranks)
{
    return f.e <= 5 && mf_acc_bits(f, (unsigned)n_ranks) <= EXACT_BITS_MAX;
}

/* Sums in fp32 of formats with m > 10 are as good and faster, but depend on the order. */
static bool prefers_exact(const struct minifloat *m)
{
    return fits_exact(m->sum.in, m->sum.n_ranks) &&
           (m->sum.in.m <= 10 || m->scale == CODEC_APS_TIGHT);
}

static const char *list_rules(const struct vec_sum *sum, const struct codec_adder *by,
                              char text[64])
{
    struct text list = text_in(text, 64);
    for (unsigned i = 0; i < VEC_RULES; i++)
        if (minifloat_may(sum, (enum vec_rule)i, by))
            text_add(&list, "%s%s", list.n ? ", " : "", codec_rule_name((enum vec_rule)i));
    return text;
}

static int settle_auto(struct minifloat *m, const struct codec_adder *by)
{
    static const enum vec_rule order[] = {VEC_EXACT, VEC_FP32, VEC_NEAREST};
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
        if (minifloat_may(&m->sum, order[i], by) && (order[i] != VEC_EXACT || prefers_exact(m))) {
            m->sum.rule = order[i];
            return 0;
        }
    char name[CODEC_NAME_BYTES], list[64];
    return ERR(-EINVAL, "cannot find a sum for format %s: algorithm \"%s\" adds only by %s",
               codec_format_name(m->sum.in, name), by->name, list_rules(&m->sum, by, list));
}

/* before: start of the line, with a colon, or "" */
static int check_exact(const struct minifloat *m, const char *before)
{
    char name[CODEC_NAME_BYTES];
    if (mf_same(m->sum.in, mf_fp32()))
        return ERR(-EINVAL,
                   "%scannot add format fp32 exactly: use format e3m23 with scale aps-tight:32, "
                   "whose sums have smaller errors than those of fp32",
                   before);
    if (!fits_exact(m->sum.in, m->sum.n_ranks))
        return ERR(-EINVAL,
                   "%scannot add format %s of %d ranks exactly: the sums take %d bits; need at "
                   "most %d, and e <= 5",
                   before, codec_format_name(m->sum.in, name), m->sum.n_ranks,
                   mf_acc_bits(m->sum.in, (unsigned)m->sum.n_ranks), EXACT_BITS_MAX);
    return 0;
}

static int check_trunc(const struct minifloat *m)
{
    char name[CODEC_NAME_BYTES];
    if (!mf_same(m->sum.in, e5m2))
        return ERR(-EINVAL, "--sum trunc cannot add format %s: it needs e5m2",
                   codec_format_name(m->sum.in, name));
    if (m->round != MF_NEAREST)
        return ERR(-EINVAL, "--round has no effect with --sum trunc, whose cast has its own "
                            "rounding: leave it out");
    if (m->sum.overflow != MF_SATURATE)
        return ERR(-EINVAL,
                   "--overflow inf is impossible with --sum trunc, which always saturates");
    return 0;
}

static int settle_rule(struct minifloat *m, const struct codec_adder *by)
{
    char list[64], name[CODEC_NAME_BYTES];
    if (m->sum.acc.e && by->adds)
        return ERR(-EINVAL,
                   "--acc-format %s is impossible with algorithm \"%s\", which adds in the format "
                   "it sends; need direct, gather, gather-sum, ring, group-master or group-scatter",
                   codec_format_name(m->sum.acc, name), by->name);
    if (list_rules(&m->sum, by, list)[0] == '\0')
        return ERR(-EINVAL, "algorithm \"%s\" cannot add %s: need %s", by->name,
                   codec_format_name(m->sum.in, name), by->takes ? by->takes : "another format");
    if (m->sum_auto)
        return settle_auto(m, by);
    if (!minifloat_may(&m->sum, m->sum.rule, by))
        return ERR(-EINVAL, "cannot add by --sum %s with algorithm \"%s\", which adds by %s",
                   codec_rule_name(m->sum.rule), by->name, list);
    if (m->sum.rule == VEC_EXACT)
        return check_exact(m, "");
    return m->sum.rule == VEC_TRUNC ? check_trunc(m) : 0;
}

/* Refuse other sums than exact ones, with the cause. before: why exact ones are needed, and ": " */
static int need_exact(const struct minifloat *m, const struct codec_adder *by, const char *before)
{
    char list[64];
    if (m->sum.rule == VEC_EXACT)
        return 0;
    if (!m->sum_auto)
        return ERR(-EINVAL, "%s--sum %s is impossible", before, codec_rule_name(m->sum.rule));
    if (!minifloat_may(&m->sum, VEC_EXACT, by))
        return ERR(-EINVAL,
                   "%salgorithm \"%s\" adds only by %s; need direct, gather or group-scatter:K",
                   before, by->name, list_rules(&m->sum, by, list));
    TRY(check_exact(m, before));
    return ERR(-EINVAL, "%suse --sum exact", before); /* see prefers_exact() */
}

/* aps guarantees P*|g|*2^f <= 2^top, so a value is at most 2^top/P. All values become 0 if this is
 * at most half the smallest number: 2^(top+bias+m) <= P. */
static int check_scale(const struct minifloat *m, const struct codec_adder *by)
{
    char name[CODEC_NAME_BYTES];
    int room = vec_aps_top(m->sum.in, false) + mf_bias(m->sum.in) + m->sum.in.m;
    const int added = m->share > m->n_groups ? m->share : m->n_groups;
    if (m->scale == CODEC_APS && room < 31 && 1 << room <= added)
        return ERR(-EINVAL,
                   "--scale aps with format %s has no room for %d ranks, only for %d; use %s",
                   codec_format_name(m->sum.in, name), added, (1 << room) - 1,
                   m->sum.rule == VEC_EXACT ? "aps-tight" : "a format with more bits");
    return m->scale == CODEC_APS_TIGHT ? need_exact(m, by, "--scale aps-tight needs exact sums: ")
                                       : 0;
}

/* Formats of at most 4 bits lose less with sums in e4m3 (bench/README.md). Under aps and aps-tight
 * such sums are at most 2^bias = 8, in steps of at least 2^-2-c. e4m3, whose largest number is 240,
 * resolves these with its 2^-9 up to c = 7 (128 ranks). */
static struct mf_fmt auto_out(const struct vec_sum *sum)
{
    bool wide = sum->rule == VEC_EXACT || sum->rule == VEC_FP32 || sum->acc.e;
    return mf_width(sum->in) <= 4 && wide ? e4m3 : sum->in;
}

static void settle_quantile(struct minifloat *m, const struct codec *c,
                            const struct codec_adder *by)
{
    const bool exact = m->sum.rule == VEC_EXACT;
    const int node = by->node && by->node < c->n_ranks ? by->node : c->n_ranks;
    m->share = exact ? 1 : node;
    m->n_nodes = exact ? 1 : c->n_ranks / node;
    m->sum.out_shift = exact ? log2_up(c->n_ranks) : 0;
}

static int settle_groups(struct minifloat *m, const struct codec *c, const struct codec_adder *by)
{
    m->share = c->n_ranks;
    m->n_groups = 1;
    if (!m->rescale)
        return 0;
    if (m->sum.rule != VEC_NEAREST)
        return ERR(-EINVAL,
                   "--rescale has no effect with --sum %s, which does not cast sums again between "
                   "groups; need --sum nearest",
                   codec_rule_name(m->sum.rule));
    if (by->group < 2 || by->group >= c->n_ranks || c->n_ranks % by->group)
        return ERR(-EINVAL,
                   "--rescale is impossible with algorithm \"%s\"%s: need group-master:K or "
                   "group-scatter:K with K of at least 2 and at least 2 groups of the %d ranks",
                   by->name, by->group ? " in such groups" : "", c->n_ranks);
    m->share = by->group;
    m->n_groups = c->n_ranks / by->group;
    return 0;
}

/* Formats with few exponent bits have no binades to spare for the sum's head-room. */
enum { BLOCKS_E = 3 };
static int settle_out(struct minifloat *m, const struct codec_adder *by)
{
    char name[CODEC_NAME_BYTES], before[96];
    if (m->out_auto) {
        m->sum.out = auto_out(&m->sum);
        m->sum.out_group = m->sum.rule == VEC_EXACT && m->sum.out.e <= BLOCKS_E ? m->group : 0;
    }
    snprintf(before, sizeof before, "--out-format %s needs exact sums, which give its exponents: ",
             codec_result_name(&m->sum, name));
    if (m->sum.out_group)
        TRY(need_exact(m, by, before));
    if (m->sum.out_group && m->scale == CODEC_QUANTILE)
        return ERR(-EINVAL, "--out-format %s is impossible with --scale quantile",
                   codec_result_name(&m->sum, name));
    return 0;
}

int minifloat_settle(struct codec *c, const struct codec_adder *by)
{
    struct minifloat m = *minifloat_of(c);
    m.sum.n_ranks = c->n_ranks;
    TRY(settle_rule(&m, by));
    TRY(settle_groups(&m, c, by));
    TRY(check_scale(&m, by));
    TRY(settle_out(&m, by));
    m.sum.out_shift = m.scale == CODEC_APS_TIGHT && !m.sum.out_group ? log2_up(c->n_ranks) : 0;
    if (m.scale == CODEC_QUANTILE)
        settle_quantile(&m, c, by);
    minifloat_set(c, &m);
    return 0;
}

void minifloat_unround(struct codec *c)
{
    struct minifloat m = *minifloat_of(c);
    m.sum.out = mf_fp32();
    m.sum.out_group = 0;
    m.out_auto = false;
    minifloat_set(c, &m);
}
