/* codec.c : settles a codec for a job, finds a layer's exponent and shift, and runs a layer through
 * it. */
#include "codec/codec.h"
#include "base/err.h"
#include "base/text.h"
#include "hls/philox.h"
#include <assert.h>
#include <stdio.h>

#define EXACT_BITS_MAX 62
#define STAGE_CAST     0x63617374u /* "cast": names this use of random bits */

static const struct mf_fmt e5m2 = {5, 2, 0}, e4m3 = {4, 3, 0}, fp32 = {8, 23, 0};

/* 62 bits hold no sum of e > 5 anyway; e is there to be read. */
static bool fits_exact(struct mf_fmt f, int n_ranks)
{
    return f.e <= 5 && f.m <= 10 && mf_acc_bits(f, (unsigned)n_ranks) <= EXACT_BITS_MAX;
}

static int log2_up(int n)
{
    int log2 = 0;
    while ((int64_t)1 << log2 < n)
        log2++;
    return log2;
}

/* ---- settling: each of these refuses or fills in its part ---- */

/* The rules of a mask as "fp32, nearest". */
static const char *list_rules(unsigned rules, char text[64])
{
    struct text list = text_in(text, 64);
    for (unsigned i = 0; i < VEC_RULES; i++)
        if (rules >> i & 1)
            text_add(&list, "%s%s", list.n ? ", " : "", codec_rule_name((enum vec_rule)i));
    return text;
}

static int settle_auto(struct codec *c, unsigned allowed, const char *algo_name)
{
    static const enum vec_rule order[] = {VEC_EXACT, VEC_FP32, VEC_NEAREST};
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
        if (allowed >> order[i] & 1 && (order[i] != VEC_EXACT || fits_exact(c->fmt, c->n_ranks))) {
            c->rule = order[i];
            return 0;
        }
    char name[CODEC_NAME_BYTES], list[64];
    return ERR(-EINVAL, "cannot find a sum for format %s: algorithm \"%s\" adds by %s alone",
               codec_format_name(c->fmt, name), algo_name, list_rules(allowed, list));
}

static int check_exact(const struct codec *c)
{
    char name[CODEC_NAME_BYTES];
    if (!fits_exact(c->fmt, c->n_ranks))
        return ERR(-EINVAL,
                   "cannot add format %s of %d ranks exactly: its sums take %d bits; want at most "
                   "%d, e <= 5, m <= 10",
                   codec_format_name(c->fmt, name), c->n_ranks,
                   mf_acc_bits(c->fmt, (unsigned)c->n_ranks), EXACT_BITS_MAX);
    return 0;
}

static int check_trunc(const struct codec *c)
{
    char name[CODEC_NAME_BYTES];
    if (!mf_same(c->fmt, e5m2))
        return ERR(-EINVAL, "cannot add format %s by --sum trunc: it is a rule of e5m2",
                   codec_format_name(c->fmt, name));
    if (c->round != MF_NEAREST)
        return ERR(-EINVAL,
                   "cannot take --round with --sum trunc: its cast has a rounding of its own");
    if (c->overflow != MF_SATURATE)
        return ERR(-EINVAL, "cannot take --overflow inf with --sum trunc: it always saturates");
    return 0;
}

static int settle_rule(struct codec *c, unsigned allowed, const char *algo_name)
{
    char list[64];
    if (c->sum_auto)
        return settle_auto(c, allowed, algo_name);
    if (!(allowed >> c->rule & 1))
        return ERR(-EINVAL, "cannot add by --sum %s with algorithm \"%s\": it adds by %s",
                   codec_rule_name(c->rule), algo_name, list_rules(allowed, list));
    if (c->rule == VEC_EXACT)
        return check_exact(c);
    return c->rule == VEC_TRUNC ? check_trunc(c) : 0;
}

/* aps promises P*|g|*2^f <= 2^bias, so single values go up to 2^bias/P. Nothing is left of them
 * when that is at most half the smallest number, 2^(1-bias-m): when 2^(2*bias+m) <= P. */
static int check_scale(const struct codec *c)
{
    char name[CODEC_NAME_BYTES];
    int room = 2 * mf_bias(c->fmt) + c->fmt.m;
    if (c->scale == CODEC_APS && room < 31 && 1 << room <= c->n_ranks)
        return ERR(-EINVAL,
                   "cannot use --scale aps with format %s on %d ranks: it leaves room for %d; take "
                   "aps-tight",
                   codec_format_name(c->fmt, name), c->n_ranks, (1 << room) - 1);
    if (c->scale == CODEC_APS_TIGHT && c->rule != VEC_EXACT)
        return ERR(-EINVAL, "cannot use --scale aps-tight with --sum %s: it needs exact sums",
                   codec_rule_name(c->rule));
    return 0;
}

/* Formats of 4 bits and fewer lose less in e4m3 (bench/README.md); e4m3 reaches 240, their sums at
 * most 2^bias = 8 under aps and aps-tight, in steps of at least 2^-2-c, which e4m3's 2^-9 resolves
 * up to c = 7 (128 ranks). */
static struct mf_fmt auto_out(const struct codec *c)
{
    bool wide = c->rule == VEC_EXACT || c->rule == VEC_FP32;
    return mf_width(c->fmt) <= 4 && wide ? e4m3 : c->fmt;
}

static struct vec_sum sum_of(const struct codec *c)
{
    return (struct vec_sum){.rule = c->rule,
                            .overflow = c->overflow,
                            .in = c->fmt,
                            .out = c->out,
                            .out_shift = c->scale == CODEC_APS_TIGHT ? log2_up(c->n_ranks) : 0,
                            .n_ranks = c->n_ranks};
}

int codec_settle(struct codec *c, int n_ranks, unsigned rules_allowed, const char *algo_name)
{
    struct codec s = *c;
    if (n_ranks < 1)
        return ERR(-EINVAL, "cannot settle codec for %d ranks: need at least 1", n_ranks);
    s.n_ranks = n_ranks;
    TRY(settle_rule(&s, rules_allowed, algo_name));
    TRY(check_scale(&s));
    if (s.out_auto)
        s.out = auto_out(&s);
    s.sum = sum_of(&s);
    *c = s;
    return 0;
}

struct codec codec_fp32(const struct codec *c, unsigned rules_allowed)
{
    assert(rules_allowed & (1u << VEC_FP32 | 1u << VEC_NEAREST));
    struct codec f = *c;
    f.fmt = f.out = fp32;
    f.scale = CODEC_NONE;
    f.round = MF_NEAREST;
    f.rule = rules_allowed >> VEC_FP32 & 1 ? VEC_FP32 : VEC_NEAREST;
    f.sum = sum_of(&f);
    return f;
}

/* ---- a layer ---- */

static int clamp126(int e)
{
    return e > 126 ? 126 : e < -126 ? -126 : e;
}

int8_t codec_exponent(const struct codec *c, uint32_t absmax_bits)
{
    if (absmax_bits == 0)
        return CODEC_ALL_ZERO;
    if (absmax_bits >= 0x7f800000)
        return CODEC_NOT_FINITE;
    int e = c->scale == CODEC_APS_TIGHT ? mf_exp_tight(c->fmt, absmax_bits)
                                        : mf_exp_up_times(absmax_bits, (uint32_t)c->n_ranks);
    return (int8_t)clamp126(e);
}

int codec_shift(const struct codec *c, int8_t exponent)
{
    if (c->scale == CODEC_NONE)
        return 0;
    if (c->scale == CODEC_CONST)
        return c->const_shift;
    if (exponent == CODEC_ALL_ZERO || exponent == CODEC_NOT_FINITE)
        return 0;
    int top = mf_bias(c->fmt) + (c->scale == CODEC_APS_TIGHT ? c->fmt.fn : 0);
    return top - exponent;
}

uint64_t codec_key(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank)
{
    return philox_key(c->seed, (uint32_t)step, layer, rank, STAGE_CAST);
}

static struct vec_cast cast_of(const struct codec *c, uint64_t key)
{
    return (struct vec_cast){.fmt = c->fmt,
                             .round = c->round,
                             .overflow = c->overflow,
                             .trunc = c->rule == VEC_TRUNC,
                             .key = key};
}

void codec_encode(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank,
                  const float *x, size_t n, int shift, uint8_t *codes)
{
    const struct vec_cast cast = cast_of(c, codec_key(c, step, layer, rank));
    c->ops->encode(&cast, x, n, 0, shift, codes);
}

void codec_decode(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x)
{
    c->ops->decode(c->out, codes, n, c->sum.out_shift - shift, (float)c->n_ranks, x);
}

/* ---- many layers ---- */

struct vec_span codec_span(const struct codec *c, uint64_t key, const float *x, size_t at, size_t n,
                           size_t padded, int shift, uint8_t *codes)
{
    return (struct vec_span){.x = x + at,
                             .codes = codes + vec_bytes(c->fmt, at),
                             .n = n,
                             .padded = padded,
                             .at = at,
                             .key = key,
                             .shift = shift};
}

void codec_absmax_all(const struct codec *c, struct vec_span *spans, int n_spans)
{
    c->ops->absmax_all(c->ops, spans, n_spans);
}

void codec_encode_all(const struct codec *c, struct vec_span *spans, int n_spans)
{
    const struct vec_cast cast = cast_of(c, 0);
    c->ops->encode_all(c->ops, &cast, spans, n_spans);
}

void codec_scan_encode_all(const struct codec *c, struct vec_span *spans, int n_spans)
{
    const struct vec_cast cast = cast_of(c, 0);
    c->ops->scan_encode_all(c->ops, &cast, spans, n_spans);
}

struct vec_out codec_out(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x)
{
    return (struct vec_out){.x = x, .codes = codes, .n = n, .shift = c->sum.out_shift - shift};
}

void codec_decode_all(const struct codec *c, const struct vec_out *spans, int n_spans)
{
    c->ops->decode_all(c->ops, c->out, spans, n_spans, (float)c->n_ranks);
}
