/* codec_relgrad.c : divides gradients by their weights and sends the ratios in e5m2.
 *
 *    D = g / (|w| + eps)     quantile of D, not of g     mean: as in quantile.h, * (|w| + eps)
 *    of=gradient: D = g
 *
 * group-scatter:K has the paper's two stages, native one (a packed MPI_Op). All ranks must have the
 * same weights (nc_layer.weights), except with of=gradient. Source: fp8 paper, Algorithm 1. */
#include "base/err.h"
#include "base/text.h"
#include "codec/codec_minifloat.h"

static const struct mf_fmt e5m2 = {5, 2, 0};

static int read_word(const char *at, size_t n, struct quantile *q, bool *weights)
{
    if (word_is(at, n, "of=weights") || word_is(at, n, "of=gradient")) {
        *weights = word_is(at, n, "of=weights");
        return 1;
    }
    if (n > 4 && memcmp(at, "eps=", 4) == 0) {
        char *end;
        q->eps = number_read(at + 4, &end);
        return end == at + n && q->eps >= 1e-30 && q->eps <= 1e30 ? 1 : -EINVAL;
    }
    return quantile_read(at, n, q);
}

static int read_sum(const char *word, struct minifloat *m)
{
    static const enum vec_rule rules[] = {VEC_TRUNC, VEC_NEAREST, VEC_EXACT};
    m->sum.rule = VEC_TRUNC;
    if (!word || strcmp(word, "auto") == 0)
        return 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(word, codec_rule_name(rules[i])) == 0) {
            m->sum.rule = rules[i];
            return 0;
        }
    return ERR(-EINVAL, "--codec relgrad cannot add with --sum %s: need trunc, nearest or exact",
               word);
}

static int relgrad_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    struct codec_spec others = *spec;
    bool weights = true;
    struct minifloat m = {.sum = {.overflow = MF_SATURATE, .in = e5m2, .out = e5m2},
                          .scale = CODEC_QUANTILE,
                          .round = MF_NEAREST,
                          .quantile = quantile_default()};
    others.sum = NULL;
    TRY(codec_no_format(&others, "relgrad"));
    TRY(read_sum(spec->sum, &m));
    for (size_t n; rest; rest = rest[n] ? rest + n + 1 : NULL) {
        n = strcspn(rest, ",");
        if (read_word(rest, n, &m.quantile, &weights) <= 0)
            return ERR(-EINVAL,
                       "bad --codec \"%s\": relgrad: may be followed by eps=X, 1e-30 to 1e30, %s, "
                       "of=weights or of=gradient",
                       spec->codec, quantile_ranges);
    }
    if (!weights && m.quantile.eps > 0)
        return ERR(-EINVAL, "bad --codec \"%s\": eps=X has no effect with of=gradient",
                   spec->codec);
    if (weights && m.quantile.eps == 0)
        m.quantile.eps = 1e-5;
    minifloat_set(c, &m);
    return 0;
}

static void relgrad_describe(const struct codec *c, struct text *to)
{
    const struct minifloat *m = minifloat_of(c);
    text_add(to, "relgrad:");
    if (m->quantile.eps > 0)
        quantile_print_real("eps=", m->quantile.eps, to), text_add(to, ",");
    quantile_print(&m->quantile, to);
    text_add(to, ",of=%s, %s sums", m->quantile.eps > 0 ? "weights" : "gradient",
             codec_rule_name(m->sum.rule));
}

static bool asks_weights(const struct codec *c)
{
    return minifloat_of(c)->quantile.eps > 0;
}

static const struct vec_sum *sum(const struct codec *c)
{
    return &minifloat_of(c)->sum;
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return 8;
}

const struct codec_kind codec_relgrad = {
    .name = "relgrad",
    .help =
        "relgrad[:OPTION=X,...]: e5m2 of g / (|w| + eps), scaled so that the quantile q of "
        "`samples` elements becomes the largest number, found anew after `every` steps. Options: "
        "eps (1e-5), q (0.95), every (100), samples (1024); of=gradient: of g itself, without "
        "eps. --sum auto is trunc; nearest and exact are possible",
    .parse = relgrad_parse,
    .asks_max = quantile_asks_max,
    .asks_weights = asks_weights,
    .sums = REDUCE_WIDE | REDUCE_NODES, /* part() divides, which is wrong for the hops of a ring */
    .settle = minifloat_settle,
    .describe = relgrad_describe,
    .sum = sum,
    .unit = unit,
    .state_bytes = quantile_state_bytes,
    .state_on_host = true,
    .absmax = quantile_absmax,
    .encode = quantile_encode,
    .scan_encode = quantile_scan_encode,
    .decode = quantile_decode,
    .op = &minifloat_reduce_op,
    .unround = minifloat_unround,
};
