/* format_name.c : names of formats and of rules of adding, there and back. */
#include "base/err.h"
#include "base/opt/opt.h"
#include "codec/codec.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    struct mf_fmt fmt;
} formats[] = {
#define MF_FORMAT(NAME, name, e, m, fn) {name, {e, m, fn}},
#include "hls/arith/formats.def"
#undef MF_FORMAT
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static const char *const format_names = ""
#define MF_FORMAT(NAME, name, e, m, fn) name " "
#include "hls/arith/formats.def"
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

/* As opt_guess(), also for the names that other programs use. */
static const char *guess_format(const char *word, char guess[OPT_GUESS])
{
    static const char *const others[][2] = {{"fp8", "e4m3' or 'e5m2"}, {"float8", "e4m3' or 'e5m2"},
                                            {"float16", "fp16"},       {"half", "fp16"},
                                            {"bfloat16", "bf16"},      {"float32", "fp32"},
                                            {"float", "fp32"},         {"single", "fp32"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(word, others[i][0]) == 0) {
            snprintf(guess, OPT_GUESS, ": did you mean '%s'?", others[i][1]);
            return guess;
        }
    const char *line = strrchr(word, '_'); /* float8_e4m3fn */
    return opt_guess(line ? line + 1 : word, format_names, guess);
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
    char guess[OPT_GUESS];
    return ERR(-EINVAL, "unknown %s \"%s\": want one of %sor eXmY with X 1..8 and Y 0..23%s",
               option, word, format_names, guess_format(word, guess));
}
