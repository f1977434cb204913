/* codec_words.c : the user's words to a codec, and names back. */
#include "base/err.h"
#include "base/number.h"
#include "codec/codec.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    struct mf_fmt fmt;
} formats[] = {
#define MF_FORMAT(NAME, name, e, m, fn) {name, {e, m, fn}},
#include "hls/formats.def"
#undef MF_FORMAT
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static const char *const format_names = ""
#define MF_FORMAT(NAME, name, e, m, fn) name " "
#include "hls/formats.def"
#undef MF_FORMAT
    ;

static const char *const rules[VEC_RULES] = {"exact", "fp32", "nearest", "kahan", "trunc"};

const char *codec_rule_name(enum vec_rule rule)
{
    return rules[rule];
}

const char *codec_format_name(struct mf_fmt fmt, char name[CODEC_NAME_BYTES])
{
    snprintf(name, CODEC_NAME_BYTES, "e%um%u%s", fmt.e, fmt.m, fmt.fn ? "fn" : "");
    for (size_t i = 0; i < N_FORMATS; i++)
        if (mf_same(formats[i].fmt, fmt))
            snprintf(name, CODEC_NAME_BYTES, "%s", formats[i].name);
    return name;
}

/* Just the words that codec_format_name() writes: e0m2, e05m2, e5m02 and e5m24 are none. */
static bool read_exmy(const char *word, struct mf_fmt *out)
{
    for (unsigned e = 1; e <= 8; e++)
        for (unsigned m = 0; m <= 23; m++) {
            char name[CODEC_NAME_BYTES];
            snprintf(name, sizeof name, "e%um%u", e, m);
            if (strcmp(word, name) == 0) {
                *out = (struct mf_fmt){(uint8_t)e, (uint8_t)m, 0};
                return true;
            }
        }
    return false;
}

int codec_format_parse(const char *option, const char *word, struct mf_fmt *out)
{
    if (strcmp(word, "e1m0") == 0)
        return ERR(-EINVAL,
                   "cannot use %s \"%s\": it has no number but 0; the smallest format is e1m1",
                   option, word);
    for (size_t i = 0; i < N_FORMATS; i++)
        if (strcmp(word, formats[i].name) == 0) {
            *out = formats[i].fmt;
            return 0;
        }
    if (read_exmy(word, out))
        return 0;
    return ERR(-EINVAL, "unknown %s \"%s\": want one of %sor eXmY with X 1..8 and Y 0..23", option,
               word, format_names);
}

/* K of const:K; log2 K to *shift. */
static int read_const(const char *word, const char *k, int *shift)
{
    char *end;
    int exponent;
    double value = number_read(k, &end);
    bool number = end != k && *end == 0 && value > 0 && isfinite(value);
    if (!number || frexp(value, &exponent) != 0.5 || exponent - 1 < -149 || exponent - 1 > 127)
        return ERR(-EINVAL,
                   "bad --scale \"%s\": K of const:K is a power of two from 2^-149 to 2^127, as "
                   "const:1024",
                   word);
    *shift = exponent - 1;
    return 0;
}

static int read_scale(const char *word, struct codec *c)
{
    static const char *const scales[] = {
        [CODEC_NONE] = "none", [CODEC_APS] = "aps", [CODEC_APS_TIGHT] = "aps-tight"};
    if (strncmp(word, "const:", 6) == 0) {
        c->scale = CODEC_CONST;
        return read_const(word, word + 6, &c->const_shift);
    }
    for (unsigned i = 0; i < sizeof scales / sizeof scales[0]; i++)
        if (scales[i] && strcmp(word, scales[i]) == 0) {
            c->scale = (enum codec_scale)i;
            return 0;
        }
    return ERR(-EINVAL, "unknown --scale \"%s\": want none, const:K, aps or aps-tight", word);
}

static int read_sum(const char *word, struct codec *c)
{
    c->sum_auto = strcmp(word, "auto") == 0;
    if (c->sum_auto)
        return 0;
    for (unsigned i = 0; i < VEC_RULES; i++)
        if (strcmp(word, rules[i]) == 0) {
            c->rule = (enum vec_rule)i;
            return 0;
        }
    return ERR(-EINVAL, "unknown --sum \"%s\": want auto, exact, fp32, nearest, kahan or trunc",
               word);
}

static int read_out(const char *word, struct codec *c)
{
    c->out = c->fmt;
    c->out_auto = strcmp(word, "auto") == 0;
    return c->out_auto ? 0 : codec_format_parse("--out-format", word, &c->out);
}

static int read_overflow(const char *word, struct codec *c)
{
    if (strcmp(word, "saturate") != 0 && strcmp(word, "inf") != 0)
        return ERR(-EINVAL, "unknown --overflow \"%s\": want saturate or inf", word);
    c->overflow = strcmp(word, "inf") == 0 ? MF_INF : MF_SATURATE;
    return 0;
}

static int read_round(const char *word, struct codec *c)
{
    static const char *const rounds[] = {
        [MF_NEAREST] = "nearest", [MF_STOCHASTIC] = "stochastic", [MF_ZERO] = "zero"};
    for (unsigned i = 0; i < sizeof rounds / sizeof rounds[0]; i++)
        if (strcmp(word, rounds[i]) == 0) {
            c->round = (enum mf_round)i;
            return 0;
        }
    return ERR(-EINVAL, "unknown --round \"%s\": want nearest, stochastic or zero", word);
}

int codec_parse(const struct codec_words *words, struct codec *out)
{
    struct codec c = {.ops = vec_best()};
    TRY(vec_best_check());
    TRY(codec_format_parse("--format", words->format ? words->format : "e5m2", &c.fmt));
    TRY(read_scale(words->scale ? words->scale : "none", &c));
    TRY(read_sum(words->sum ? words->sum : "auto", &c));
    TRY(read_out(words->out_format ? words->out_format : "auto", &c));
    TRY(read_overflow(words->overflow ? words->overflow : "saturate", &c));
    TRY(read_round(words->round ? words->round : "nearest", &c));
    *out = c;
    return 0;
}
