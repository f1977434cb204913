/* round_spec.c : parses the specs of --quant and --loss-scale, and sets up pure fp16. */
#include "base/err.h"
#include "codec/codec.h"
#include "nn/round/round_ops.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

static const char *const names[ROUND_SPEC] = {"act", "weight", "error"};

static int refuse(const char *word)
{
    return ERR(
        -EINVAL,
        "unknown --quant \"%s\": need none, or at least one of act=F, weight=F and error=F, each "
        "at most once, optionally followed by overflow=saturate or inf: act=e4m3,error=e5m2",
        word);
}

static int read_part(const char *word, const char *part, size_t n, struct round_setup *s,
                     int *overflow)
{
    char value[CODEC_NAME_BYTES];
    const char *equals = memchr(part, '=', n);
    const size_t key = equals ? (size_t)(equals - part) : n, rest = n - key;
    if (!equals || rest < 2 || rest > sizeof value)
        return refuse(word);
    memcpy(value, equals + 1, rest - 1);
    value[rest - 1] = 0;
    if (key == 8 && !memcmp(part, "overflow", key)) {
        if (*overflow >= 0 || (strcmp(value, "saturate") && strcmp(value, "inf")))
            return refuse(word);
        *overflow = strcmp(value, "inf") ? MF_SATURATE : MF_INF;
        return 0;
    }
    for (int i = 0; i < ROUND_SPEC; i++)
        if (strlen(names[i]) == key && !memcmp(part, names[i], key) && !s->of[i].on) {
            s->of[i].on = true;
            return codec_format_parse_nan("--quant", value, &s->of[i].rule.fmt);
        }
    return refuse(word);
}

int round_spec(const char *word, struct round_setup *out)
{
    struct round_setup s = {0};
    int overflow = -1;
    bool any = false;
    if (!strcmp(word, "none"))
        return 0;
    for (const char *part = word;; part++) {
        const size_t n = strcspn(part, ",");
        TRY(read_part(word, part, n, &s, &overflow));
        part += n;
        if (!*part)
            break;
    }
    for (int i = 0; i < ROUND_SPEC; i++) {
        any |= s.of[i].on;
        s.of[i].rule.overflow = overflow == MF_INF ? MF_INF : MF_SATURATE;
    }
    if (!any)
        return refuse(word);
    *out = s;
    return 1;
}

const char round_pure_wide[] =
    "sums inside an operation: products (but with --gemm e5m10), norms, softmax, means over "
    "pixels, "
    "loss, LARS's norms, AdamW's means; up to the backward pass batch norm's mean and 1/std, "
    "LSTM's gates, cells";
const char round_pure_wide_cuda[] =
    "an LSTM's gates; attention's scores and their gradients; convolutions that cuDNN cannot add "
    "in half; sums of biases' gradients; an LSTM's gradients between steps; means with "
    "--reduce-in fp32";

void round_pure(struct round_setup *out)
{
    *out = (struct round_setup){0};
    for (int i = 0; i < ROUND_WHATS; i++) {
        out->of[i].on = i != ROUND_WEIGHT;
        out->of[i].rule = (struct round_rule){.fmt = {5, 10, 0}, .overflow = MF_INF};
    }
}

#define FIXED_MAX 0x1p24

static int scale_spec_refuse(const char *word)
{
    return ERR(-EINVAL,
               "bad --loss-scale %s: need auto, none, a power of two from 1 to 16777216, dynamic, "
               "or adaptive[:T,every,A,max] with T above 0 and up to 0.5, every 1 to 1e6, A and "
               "max 1 to 16777216: adaptive:1e-3,1,65504,65504",
               word);
}

/* Omitted numbers keep their defaults. */
static int read_adaptive(const char *word, const char *rest, struct scale_choice *c)
{
    struct {
        double value, low, high;
    } n[] = {{1e-3, 0, 0.5}, {1, 1, 1e6}, {65504, 1, FIXED_MAX}, {65504, 1, FIXED_MAX}};
    enum { T, EVERY, HIGHEST, MOST, NUMBERS };
    for (int i = 0; rest; i++) {
        if (i == NUMBERS)
            return scale_spec_refuse(word);
        const char *end = number_take(rest, &n[i].value);
        if (!end || (*end && *end != ',') || n[i].value < n[i].low || n[i].value > n[i].high)
            return scale_spec_refuse(word);
        rest = *end ? end + 1 : NULL;
    }
    if (n[T].value == 0 || floor(n[EVERY].value) != n[EVERY].value)
        return scale_spec_refuse(word);
    c->kind = SCALE_ADAPTIVE;
    c->adaptive = (struct scale_setup){
        .rule = {scale_tail(n[T].value), 0, 0, n[HIGHEST].value, n[MOST].value},
        .every = (uint32_t)n[EVERY].value};
    return 0;
}

int scale_spec(const char *word, struct scale_choice *out)
{
    struct scale_choice c = {.kind = SCALE_FIXED, .fixed = 1};
    const char *rest;
    double value;
    int exponent;
    if (!strcmp(word, "auto")) {
        c = (struct scale_choice){.kind = SCALE_AUTO};
    } else if (!strcmp(word, "dynamic")) {
        c = (struct scale_choice){.kind = SCALE_MOVING};
    } else if (word_has_name(word, "adaptive", &rest)) {
        c.fixed = 0;
        TRY(read_adaptive(word, rest, &c));
    } else if (strcmp(word, "none")) {
        if (!number_whole(word, &value) || value < 1 || value > FIXED_MAX ||
            frexp(value, &exponent) != 0.5)
            return scale_spec_refuse(word);
        c.fixed = value;
    }
    *out = c;
    return 0;
}

static double value_of(struct mf_fmt fmt, uint32_t code)
{
    const struct mf_num v = mf_unpack(fmt, code);
    return ldexp((double)v.sig, v.exp);
}

void scale_format(struct scale_rule *rule, struct mf_fmt fmt)
{
    rule->least = value_of(fmt, 1);
    rule->largest = value_of(fmt, mf_max(fmt));
}
