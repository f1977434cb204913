/* scale_words.c : --loss-scale's word. */
#include "nn/round/scale_words.h"
#include "base/err.h"
#include "base/number.h"
#include "base/word.h"
#include <math.h>

#define FIXED_MOST 0x1p24

static int refuse(const char *word)
{
    return ERR(-EINVAL,
               "cannot take --loss-scale %s: want auto, none, a power of two from 1 to 16777216, "
               "dynamic, or adaptive[:T,every,A,max] with T above 0 and up to 0.5, every 1 to 1e6, "
               "A and max 1 to 16777216: adaptive:1e-3,1,65504,65504",
               word);
}

/* The numbers behind the colon, in the order of the word; those that are left out stay. */
static int read_adaptive(const char *word, const char *rest, struct scale_choice *c)
{
    struct {
        double value, low, high;
    } n[] = {{1e-3, 0, 0.5}, {1, 1, 1e6}, {65504, 1, FIXED_MOST}, {65504, 1, FIXED_MOST}};
    enum { T, EVERY, HIGHEST, MOST, NUMBERS };
    for (int i = 0; rest; i++) {
        char *end;
        if (i == NUMBERS)
            return refuse(word);
        n[i].value = number_read(rest, &end);
        if (end == rest || (*end && *end != ',') || !(n[i].value >= n[i].low) ||
            n[i].value > n[i].high)
            return refuse(word);
        rest = *end ? end + 1 : NULL;
    }
    if (n[T].value == 0 || floor(n[EVERY].value) != n[EVERY].value)
        return refuse(word);
    c->kind = SCALE_ADAPTIVE;
    c->adaptive = (struct scale_setup){
        .rule = {scale_tail(n[T].value), 0, 0, n[HIGHEST].value, n[MOST].value},
        .every = (uint32_t)n[EVERY].value};
    return 0;
}

int scale_words(const char *word, struct scale_choice *out)
{
    struct scale_choice c = {.kind = SCALE_FIXED, .fixed = 1};
    const char *rest;
    char *end;
    const double value = number_read(word, &end);
    int exponent;
    if (!strcmp(word, "auto")) {
        c = (struct scale_choice){.kind = SCALE_AUTO};
    } else if (!strcmp(word, "dynamic")) {
        c = (struct scale_choice){.kind = SCALE_MOVING};
    } else if (word_has_name(word, "adaptive", &rest)) {
        c.fixed = 0;
        TRY(read_adaptive(word, rest, &c));
    } else if (strcmp(word, "none")) {
        if (end == word || *end || !(value >= 1 && value <= FIXED_MOST) ||
            frexp(value, &exponent) != 0.5)
            return refuse(word);
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
