/* minifloat_spec.c : parses the options of a minifloat codec, and describes it. */
#include "base/err.h"
#include "base/text.h"
#include "base/opt/opt.h"
#include "codec/codec_minifloat.h"
#include "codec/codec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const scales[] = {
    [CODEC_NONE] = "none", [CODEC_APS] = "aps", [CODEC_APS_TIGHT] = "aps-tight"};
static const char *const rounds[] = {
    [MF_NEAREST] = "nearest", [MF_STOCHASTIC] = "stochastic", [MF_ZERO] = "zero"};

static int refuse(const char *option, const char *word, const char *want)
{
    char guess[OPT_GUESS];
    return ERR(-EINVAL, "unknown --%s \"%s\": need %s%s", option, word, want,
               opt_guess(word, want, guess));
}

static int read_const(const char *word, const char *k, int *shift)
{
    char *end;
    int exponent;
    double value = number_read(k, &end);
    bool number = end != k && *end == 0 && value > 0 && isfinite(value);
    if (!number || frexp(value, &exponent) != 0.5 || exponent - 1 < -149 || exponent - 1 > 127)
        return ERR(-EINVAL,
                   "bad --scale \"%s\": K of const:K must be a power of two from 2^-149 to 2^127, "
                   "such as const:1024",
                   word);
    *shift = exponent - 1;
    return 0;
}

static int read_quantile(const char *word, const char *rest, struct minifloat *m)
{
    m->scale = CODEC_QUANTILE;
    m->quantile = quantile_default();
    for (size_t n; rest; rest = rest[n] ? rest + n + 1 : NULL) {
        n = strcspn(rest, ",");
        if (quantile_read(rest, n, &m->quantile) <= 0)
            return ERR(-EINVAL, "bad --scale \"%s\": quantile: may be followed by %s", word,
                       quantile_ranges);
    }
    return 0;
}

/* word: of the option; rest: after its colon, or NULL */
static int read_group(const char *option, const char *word, const char *rest, struct mf_fmt fmt,
                      uint32_t *group)
{
    static const char *const lengths[] = {"16", "32", "64", "128"};
    char name[CODEC_NAME_BYTES];
    *group = 0;
    if (!rest)
        return 0;
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (strcmp(rest, lengths[i]) == 0)
            *group = (uint32_t)VEC_GROUP_MIN << i;
    if (!*group)
        return ERR(-EINVAL,
                   "bad %s \"%s\": need 16, 32, 64 or 128 elements per exponent after the colon, "
                   "such as %.*s:32",
                   option, word, (int)(rest - word - 1), word);
    if (fmt.e > VEC_GROUP_E)
        return ERR(-EINVAL,
                   "%s %s is impossible: format %s has more than the %d exponent bits that "
                   "exponents of groups allow",
                   option, word, codec_format_name(fmt, name), VEC_GROUP_E);
    return 0;
}

static int read_scale(const char *word, struct minifloat *m)
{
    const char *rest;
    if (word_has_name(word, "quantile", &rest))
        return read_quantile(word, rest, m);
    if (strncmp(word, "const:", 6) == 0) {
        m->scale = CODEC_CONST;
        return read_const(word, word + 6, &m->const_shift);
    }
    for (unsigned i = CODEC_APS; i <= CODEC_APS_TIGHT; i++)
        if (word_has_name(word, scales[i], &rest)) {
            m->scale = (enum codec_scale)i;
            return read_group("--scale", word, rest, m->sum.in, &m->group);
        }
    if (strcmp(word, scales[CODEC_NONE]) == 0)
        return 0;
    return refuse("scale", word, "none, const:K, aps[:G], aps-tight[:G] or quantile");
}

static int read_sum(const char *word, struct minifloat *m)
{
    m->sum_auto = strcmp(word, "auto") == 0;
    if (m->sum_auto)
        return 0;
    for (unsigned i = 0; i < VEC_RULES; i++)
        if (strcmp(word, codec_rule_name((enum vec_rule)i)) == 0) {
            m->sum.rule = (enum vec_rule)i;
            return 0;
        }
    return refuse("sum", word, "auto, exact, fp32, nearest, kahan or trunc");
}

/* The addends' own format counts as none, so that equivalent specs have equal descriptions. */
static int read_acc(const char *word, struct minifloat *m)
{
    struct mf_fmt acc;
    char in[CODEC_NAME_BYTES];
    if (strcmp(word, "auto") == 0)
        return 0;
    TRY(codec_format_parse("--acc-format", word, &acc));
    if (m->sum_auto || (m->sum.rule != VEC_NEAREST && m->sum.rule != VEC_KAHAN))
        return ERR(-EINVAL, "--acc-format %s needs --sum nearest or kahan, not %s", word,
                   m->sum_auto ? "auto" : codec_rule_name(m->sum.rule));
    if (!mf_holds(acc, m->sum.in) && m->scale != CODEC_NONE && m->scale != CODEC_CONST)
        return ERR(-EINVAL,
                   "--acc-format must represent every number of %s, which %s does not: need e%um%u "
                   "or more of both, or --scale none or const:K",
                   codec_format_name(m->sum.in, in), word, m->sum.in.e + mf_uses_top(m->sum.in),
                   m->sum.in.m);
    if (!mf_same(acc, m->sum.in))
        m->sum.acc = acc;
    return 0;
}

static int read_out(const char *word, struct minifloat *m)
{
    const char *colon = strchr(word, ':');
    char name[CODEC_NAME_BYTES];
    m->sum.out = m->sum.in;
    m->out_auto = strcmp(word, "auto") == 0;
    if (m->out_auto)
        return 0;
    const size_t n = colon ? (size_t)(colon - word) : strlen(word);
    if ((colon && n == 0) || strncmp(word, "auto:", 5) == 0)
        return ERR(-EINVAL, "unknown --out-format \"%s\": :G needs a format before it, as e2m3f:32",
                   word);
    if (n >= sizeof name)
        return codec_format_parse("--out-format", word, &m->sum.out);
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    TRY(codec_format_parse("--out-format", name, &m->sum.out));
    return read_group("--out-format", word, colon ? colon + 1 : NULL, m->sum.out,
                      &m->sum.out_group);
}

static int read_overflow(const char *word, struct minifloat *m)
{
    if (strcmp(word, "saturate") != 0 && strcmp(word, "inf") != 0)
        return refuse("overflow", word, "saturate or inf");
    m->sum.overflow = strcmp(word, "inf") == 0 ? MF_INF : MF_SATURATE;
    return 0;
}

static int read_round(const char *word, struct minifloat *m)
{
    for (unsigned i = 0; i < sizeof rounds / sizeof rounds[0]; i++)
        if (strcmp(word, rounds[i]) == 0) {
            m->round = (enum mf_round)i;
            return 0;
        }
    return refuse("round", word, "nearest, stochastic or zero");
}

int minifloat_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    struct minifloat m = {.round = MF_NEAREST};
    if (rest)
        return ERR(-EINVAL, "bad --codec \"%s\": give the format of minifloat by --format",
                   spec->codec);
    TRY(codec_format_parse("--format", spec->format ? spec->format : "e5m2", &m.sum.in));
    TRY(read_scale(spec->scale ? spec->scale : "none", &m));
    TRY(read_sum(spec->sum ? spec->sum : "auto", &m));
    TRY(read_acc(spec->acc_format ? spec->acc_format : "auto", &m));
    TRY(read_out(spec->out_format ? spec->out_format : "auto", &m));
    TRY(read_overflow(spec->overflow ? spec->overflow : "saturate", &m));
    TRY(read_round(spec->round ? spec->round : "nearest", &m));
    m.rescale = spec->rescale;
    if (m.rescale && m.group)
        return ERR(-EINVAL,
                   "--rescale is impossible with --scale %s: it adapts one exponent per layer",
                   spec->scale);
    if (m.rescale && m.scale != CODEC_APS)
        return ERR(-EINVAL,
                   "--rescale needs --scale aps: --scale %s finds no exponent that it could adapt",
                   spec->scale ? spec->scale : "none");
    if (m.scale == CODEC_QUANTILE && m.sum.overflow == MF_INF)
        return ERR(-EINVAL,
                   "--overflow inf is impossible with --scale %s: values above the quantile would "
                   "become inf in every step; use saturate",
                   spec->scale);
    minifloat_set(c, &m);
    return 0;
}

void minifloat_describe(const struct codec *c, struct text *to)
{
    const struct minifloat *m = minifloat_of(c);
    char name[CODEC_NAME_BYTES], out[CODEC_NAME_BYTES], acc[CODEC_NAME_BYTES], number[32];
    text_add(to, "%s, scale ", codec_format_name(m->sum.in, name));
    if (m->scale == CODEC_CONST) {
        number_print(number, sizeof number, 17, ldexp(1, m->const_shift));
        text_add(to, "const:%s", number);
    } else if (m->scale == CODEC_QUANTILE)
        text_add(to, "quantile:"), quantile_print(&m->quantile, to);
    else
        text_add(to, "%s", scales[m->scale]);
    if (m->group)
        text_add(to, ":%u", m->group);
    if (c->n_ranks)
        text_add(to, ", %s sums in %s", codec_rule_name(m->sum.rule),
                 codec_result_name(&m->sum, out));
    else
        text_add(to, ", %s sums in %s", m->sum_auto ? "auto" : codec_rule_name(m->sum.rule),
                 m->out_auto ? "auto" : codec_result_name(&m->sum, out));
    if (m->sum.acc.e)
        text_add(to, ", partial ones in %s", codec_format_name(m->sum.acc, acc));
    if (m->rescale)
        text_add(to, ", groups rescaled");
    if (m->round != MF_NEAREST)
        text_add(to, ", rounded %s", rounds[m->round]);
    if (m->sum.overflow != MF_SATURATE)
        text_add(to, ", overflow to inf");
}

static const struct {
    const char *name;
    struct mf_fmt fmt;
} formats[] = {
#define MF_FORMAT(NAME, name, e, m, flavour) {name, {e, m, flavour}},
#include "hls/arith/formats.def"
#undef MF_FORMAT
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static const char *const format_names = ""
#define MF_FORMAT(NAME, name, e, m, flavour) name " "
#include "hls/arith/formats.def"
#undef MF_FORMAT
    ;

static const char *const rules[VEC_RULES] = {"exact", "fp32", "nearest", "kahan", "trunc"};

const char *codec_result_name(const struct vec_sum *sum, char name[CODEC_NAME_BYTES])
{
    codec_format_name(sum->out, name);
    if (sum->out_group)
        snprintf(name + strlen(name), CODEC_NAME_BYTES - strlen(name), ":%u", sum->out_group);
    return name;
}

const char *codec_rule_name(enum vec_rule rule)
{
    return rules[rule];
}

static const char *exmy(struct mf_fmt fmt, char name[CODEC_NAME_BYTES])
{
    snprintf(name, CODEC_NAME_BYTES, "e%um%u%s", fmt.e, fmt.m, mf_suffix(fmt));
    return name;
}

const char *codec_format_name(struct mf_fmt fmt, char name[CODEC_NAME_BYTES])
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (mf_same(formats[i].fmt, fmt)) {
            snprintf(name, CODEC_NAME_BYTES, "%s", formats[i].name);
            return name;
        }
    return exmy(fmt, name);
}

/* Only names that exmy() writes are accepted: not e0m2, e05m2, e5m02 or e5m24. */
static bool read_exmy(const char *word, struct mf_fmt *out)
{
    char name[CODEC_NAME_BYTES];
    for (uint8_t flavour = MF_IEEE; flavour <= MF_NUMBERS; flavour++)
        for (uint8_t e = 1; e <= (flavour == MF_IEEE ? 8 : 7); e++)
            for (uint8_t m = flavour == MF_NO_INF; m <= 23; m++) {
                *out = (struct mf_fmt){e, m, flavour};
                if (strcmp(word, exmy(*out, name)) == 0)
                    return true;
            }
    return false;
}

/* Other programs' names. */
static const char *const others[][2] = {
    {"float", "fp32"},          {"single", "fp32"},
    {"float32", "fp32"},        {"half", "fp16"},
    {"float16", "fp16"},        {"bfloat16", "bf16"},
    {"fp8", "e4m3fn"},          {"fp8_e4m3", "e4m3fn"},
    {"fp8_e5m2", "e5m2"},       {"float8_e4m3fn", "e4m3fn"},
    {"float8_e4m3", "e4m3"},    {"float8_e5m2", "e5m2"},
    {"float8_e3m4", "e3m4"},    {"fp6_e2m3", "e2m3f"},
    {"fp6_e3m2", "e3m2f"},      {"float6_e2m3fn", "e2m3f"},
    {"float6_e3m2fn", "e3m2f"}, {"fp4", "e2m1f"},
    {"fp4_e2m1", "e2m1f"},      {"float4_e2m1fn", "e2m1f"},
};

/* names of formats that are codecs, with a scale for every `group` elements */
static const struct {
    const char *name, *codec, *format;
    int group;
} blocks[] = {
    {"mxfp8", "mx:e4m3", "e4m3fn", 32},
    {"mxfp6", "mx:e2m3", "e2m3f", 32},
    {"mxfp4", "mx:e2m1", "e2m1f", 32},
    {"nvfp4", "nvfp4", "e2m1f", 16},
};

static int refuse_format(const char *option, const char *word)
{
    char guess[OPT_GUESS];
    return ERR(
        -EINVAL,
        "unknown %s \"%s\": need one of %sor eXmY with X 1..8 and Y 0..23, or, with X up to 7, "
        "eXmYfn (no inf; Y from 1) or eXmYf (no inf, no nan)%s",
        option, word, format_names, opt_guess(word, format_names, guess));
}

static int read_other(const char *option, const char *word, struct mf_fmt *out)
{
    if (strcasecmp(word, "e4m3") == 0)
        return ERR(-EINVAL,
                   "unknown %s \"%s\": need e4m3fn (to 448, other programs' E4M3) or e4m3 (to 240)",
                   option, word);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(word, others[i][0]) == 0)
            return codec_format_parse(option, others[i][1], out);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strcasecmp(word, blocks[i].name) == 0)
            return ERR(-EINVAL,
                       "cannot use %s \"%s\", which has a scale for every %d elements: need "
                       "--codec %s, or %s with --scale aps-tight:%d, where ranks agree on them",
                       option, word, blocks[i].group, blocks[i].codec, blocks[i].format,
                       blocks[i].group);
    return refuse_format(option, word);
}

int codec_format_parse(const char *option, const char *word, struct mf_fmt *out)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (strcmp(word, formats[i].name) == 0) {
            *out = formats[i].fmt;
            return 0;
        }
    if (!read_exmy(word, out))
        return read_other(option, word, out);
    if (mf_max(*out) == 0)
        return ERR(-EINVAL,
                   "cannot use %s \"%s\": its only number is 0; the smallest formats are e1m1 and "
                   "e1m0f",
                   option, word);
    return 0;
}

int codec_format_parse_nan(const char *option, const char *word, struct mf_fmt *out)
{
    TRY(codec_format_parse(option, word, out));
    if (out->flavour == MF_NUMBERS)
        return ERR(
            -EINVAL,
            "cannot use %s \"%s\", which has no nan: a nan would become a number unseen; need "
            "eXmY or eXmYfn",
            option, word);
    return 0;
}
