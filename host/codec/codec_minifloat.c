/* codec_minifloat.c : casts to minifloats with a power-of-two scale per layer and step. Source: APS
 * paper, Algorithm 1. */
#include "codec/codec_minifloat.h"

static const struct vec_sum *sum(const struct codec *c)
{
    return &minifloat_of(c)->sum;
}

struct codec codec_fp32(const struct codec *c, const struct codec_adder *by)
{
    const struct mf_fmt fp32 = mf_fp32();
    const bool narrow = c->kind->op == &minifloat_reduce_op;
    struct minifloat m = {.sum = {.overflow = narrow ? sum(c)->overflow : MF_SATURATE,
                                  .in = fp32,
                                  .out = fp32,
                                  .n_ranks = c->n_ranks},
                          .round = MF_NEAREST,
                          .share = c->n_ranks,
                          .n_groups = 1};
    m.sum.rule = minifloat_may(&m.sum, VEC_FP32, by) ? VEC_FP32 : VEC_NEAREST;
    assert(minifloat_may(&m.sum, m.sum.rule, by));
    struct codec f = *c;
    f.kind = &codec_minifloat;
    memset(f.own, 0, sizeof f.own);
    minifloat_set(&f, &m);
    return f;
}

/* The result is E = ceil(log2(P * max)), or t for aps-tight. K replaces P if sums of groups are
 * rescaled. */
static int exponent(const struct codec *c, uint32_t absmax_bits)
{
    const struct minifloat *m = minifloat_of(c);
    return m->scale == CODEC_APS_TIGHT ? mf_exp_tight(m->sum.in, absmax_bits)
                                       : mf_exp_up_times(absmax_bits, (uint32_t)m->share);
}

/* README.md has the formulas. */
static int shift(const struct codec *c, int8_t e)
{
    const struct minifloat *m = minifloat_of(c);
    if (m->scale == CODEC_NONE || m->scale == CODEC_QUANTILE)
        return 0;
    if (m->scale == CODEC_CONST)
        return m->const_shift;
    if (e == CODEC_ALL_ZERO || e == CODEC_NOT_FINITE)
        return 0;
    return vec_aps_top(m->sum.in, m->scale == CODEC_APS_TIGHT) - e;
}

static bool groups(const struct codec *c, struct vec_scale *out)
{
    const struct minifloat *m = minifloat_of(c);
    *out = (struct vec_scale){.fmt = m->sum.in,
                              .tight = m->scale == CODEC_APS_TIGHT,
                              .times = (uint32_t)m->share,
                              .group = m->group};
    return m->group;
}

static bool rescales(const struct codec *c)
{
    return minifloat_of(c)->rescale;
}

static int rescaled(const struct codec *c, int8_t e)
{
    return rescales(c) ? minifloat_rescale_shift(minifloat_of(c), e) : 0;
}

static int guess(const struct codec *c)
{
    const enum codec_scale scale = minifloat_of(c)->scale;
    return scale == CODEC_APS || scale == CODEC_APS_TIGHT ? CODEC_NO_GUESS : shift(c, 0);
}

/* In every format, the codes of 8 elements are whole bytes. Lengths of groups are powers of two. */
static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)layer;
    const uint32_t group = minifloat_of(c)->group, block = sum(c)->out_group;
    return group > block ? group : block ? block : 8;
}

static bool by_quantile(const struct codec *c)
{
    return minifloat_of(c)->scale == CODEC_QUANTILE;
}

static bool cast_of(const struct codec *c, struct vec_cast *out)
{
    if (by_quantile(c))
        return false;
    *out = minifloat_cast(minifloat_of(c));
    return true;
}

static bool asks_max(const struct codec *c, const struct codec_layer *layer)
{
    return by_quantile(c) && quantile_asks_max(c, layer);
}

static size_t state_bytes(const struct codec *c, const struct codec_layer *layer)
{
    return by_quantile(c) ? quantile_state_bytes(c, layer) : 0;
}

static void absmax(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    if (by_quantile(c))
        quantile_absmax(c, spans, parts, n_spans);
    else
        codec_absmax_x(c, spans, parts, n_spans);
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    const struct vec_cast cast = minifloat_cast(minifloat_of(c));
    if (by_quantile(c))
        quantile_encode(c, spans, parts, n_spans);
    else
        c->ops->encode_all(c->ops, &cast, spans, n_spans);
}

static void scan_encode(const struct codec *c, struct vec_span *spans,
                        const struct codec_part *parts, int n_spans)
{
    const struct vec_cast cast = minifloat_cast(minifloat_of(c));
    if (by_quantile(c))
        quantile_scan_encode(c, spans, parts, n_spans);
    else
        c->ops->scan_encode_all(c->ops, &cast, spans, n_spans);
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    if (by_quantile(c))
        quantile_decode(c, outs, parts, n_outs);
    else
        c->ops->decode_all(c->ops, sum(c)->out, outs, n_outs, codec_divisor(c));
}

static bool gives_sums(const struct codec *c)
{
    return !by_quantile(c); /* a quantile adds shares of a mean */
}

const struct codec_kind codec_minifloat = {
    .name = "minifloat",
    .help = "each gradient becomes a small float, as set by --format, --scale, --sum, "
            "--acc-format, --out-format, --rescale, --overflow and --round",
    .parse = minifloat_parse,
    .asks_max = asks_max,
    .sums = REDUCE_PARTS | REDUCE_WIDE | REDUCE_NODES,
    .settle = minifloat_settle,
    .describe = minifloat_describe,
    .sum = sum,
    .cast = cast_of,
    .exponent = exponent,
    .shift = shift,
    .guess = guess,
    .groups = groups,
    .rescaled = rescaled,
    .rescales = rescales,
    .unit = unit,
    .state_bytes = state_bytes,
    .state_on_host = true,
    .absmax = absmax,
    .encode = encode,
    .scan_encode = scan_encode,
    .decode = decode,
    .gives_sums = gives_sums,
    .op = &minifloat_reduce_op,
    .unround = minifloat_unround,
};
