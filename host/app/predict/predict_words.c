/* predict_words.c : lists, ranks, speeds and times as a user writes them. */
#include "app/predict/predict.h"
#include "base/err.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int predict_words(const char *option, const char *text, struct predict_list *out)
{
    *out = (struct predict_list){.n = 0};
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        if (length == 0)
            return ERR(-EINVAL, "--%s '%s': want words with one comma between them", option, text);
        if (out->n == PREDICT_LIST || length >= PREDICT_WORD)
            return ERR(-EINVAL, "--%s '%s': too long: want %d words of fewer than %d letters",
                       option, text, PREDICT_LIST, PREDICT_WORD);
        memcpy(out->word[out->n++], at, length);
        at += length;
        if (!*at++)
            return 0;
    }
}

/* ---- ranks ---- */

static int one_rank(const char *text, const char *at, char **end, int *out)
{
    const long n = *at >= '0' && *at <= '9' ? strtol(at, end, 10) : 0;
    if (n < 1 || n > PREDICT_RANKS_MAX)
        return ERR(-EINVAL, "--ranks '%s': want 1 to %d: \"2..4096\", \"256\" or \"4,6,100\"", text,
                   PREDICT_RANKS_MAX);
    *out = (int)n;
    return 0;
}

int predict_ranks(const char *text, int *ranks, int *n)
{
    char *at;
    int last = 0;
    *n = 0;
    TRY(one_rank(text, text, &at, &ranks[(*n)++]));
    if (!strncmp(at, "..", 2)) {
        TRY(one_rank(text, at + 2, &at, &last));
        if (*at || last < ranks[0])
            return ERR(-EINVAL, "--ranks '%s': want FROM..TO, the larger one behind", text);
        for (int p = ranks[0]; p <= last / 2; ranks[(*n)++] = p *= 2)
            ;
        return 0;
    }
    while (*at == ',' && *n < PREDICT_RANKS)
        TRY(one_rank(text, at + 1, &at, &ranks[(*n)++]));
    return *at ? ERR(-EINVAL, "--ranks '%s': want \"2..4096\", \"256\" or \"4,6,100\"", text) : 0;
}

/* ---- numbers with a unit ---- */

struct unit {
    const char *name;
    double value;
};

/* False: no number above 0 with one of these units, or out of reason. */
static bool read_unit(const char *text, const struct unit *units, int n_units, double *out)
{
    char *end;
    const double x = *text >= '0' && *text <= '9' ? number_read(text, &end) : 0;
    for (int i = 0; i < n_units && x > 0; i++)
        if (!strcmp(end, units[i].name)) {
            *out = x * units[i].value;
            return isfinite(*out) && *out > 1e-15 && *out < 1e18;
        }
    return false;
}
#define READ_UNIT(text, units, out) \
    read_unit(text, units, (int)(sizeof(units) / sizeof *(units)), out)

int predict_rate(const char *option, const char *text, double *out)
{
    static const struct unit units[] = {{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
    static const struct unit bare[] = {{"", 1}};
    double number;
    if (READ_UNIT(text, units, out))
        return 0;
    if (READ_UNIT(text, bare, &number))
        return ERR(-EINVAL, "--%s '%s': has no unit: want K, M, G or T after it, as 10G", option,
                   text);
    return ERR(-EINVAL, "--%s '%s': want a speed above 0 as 10G, 2.5G or 100M", option, text);
}

int predict_time(const char *option, const char *text, double *out)
{
    static const struct unit units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    if (!strcmp(text, "0")) {
        *out = 0;
        return 0;
    }
    return READ_UNIT(text, units, out)
               ? 0
               : ERR(-EINVAL, "--%s '%s': want a time as 20us, 1.5ms, 2s or 0", option, text);
}

double predict_label_bps(const char *label)
{
    static const struct unit units[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
    char word[PREDICT_WORD];
    double bps;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(label, ", "), label);
    return READ_UNIT(word, units, &bps) ? bps : 0;
}
