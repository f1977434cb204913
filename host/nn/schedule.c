/* schedule.c : the learning rate of a step: warm-up, then constant, steps, a line to zero, or half
 * a cosine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/number.h"
#include "nn/optim.h"

enum { MAX_AT = sizeof((struct schedule *)0)->at / sizeof(double) };

/* "0.5,0.75" -> at, ascending, each in (0, 1). Returns how many or -EINVAL. */
static int parse_fractions(const char *word, const char *list, double *at)
{
    int n = 0;
    for (const char *p = list;; p++) {
        char *end;
        double x = number_read(p, &end);
        if (end == p || (*end != ',' && *end != '\0'))
            return ERR(-EINVAL, "cannot read schedule '%s': '%s' is no list of numbers", word, p);
        if (!(x > 0 && x < 1) || (n > 0 && x <= at[n - 1]))
            return ERR(-EINVAL,
                       "cannot take schedule '%s': fractions must lie between 0 and 1 and grow",
                       word);
        if (n == MAX_AT)
            return ERR(-EINVAL, "cannot take schedule '%s': more than %d fractions", word,
                       (int)MAX_AT);
        at[n++] = x;
        p = end;
        if (*p == '\0')
            return n;
    }
}

int schedule_parse(const char *word, struct schedule *out)
{
    enum schedule_kind kind;
    double at[MAX_AT] = {0};
    int n_at = 0;
    if (strcmp(word, "const") == 0) {
        kind = SCHEDULE_CONST;
    } else if (strcmp(word, "linear") == 0) {
        kind = SCHEDULE_LINEAR;
    } else if (strcmp(word, "cosine") == 0) {
        kind = SCHEDULE_COSINE;
    } else if (strcmp(word, "step") == 0 || strncmp(word, "step:", 5) == 0) {
        kind = SCHEDULE_STEP;
        n_at = parse_fractions(word, word[4] ? word + 5 : "0.5,0.75", at);
        TRY(n_at);
    } else {
        return ERR(-EINVAL, "unknown schedule '%s': const, step[:0.5,0.75], linear, cosine", word);
    }
    out->kind = kind;
    out->n_at = n_at;
    out->gamma = 0.1;
    for (int i = 0; i < n_at; i++)
        out->at[i] = at[i];
    return 0;
}

double schedule_lr(const struct schedule *s, double step)
{
    if (step < s->warmup_steps)
        return s->lr * fmin(1, (step + 1) / s->warmup_steps);
    double length = s->total_steps - s->warmup_steps;
    double done = length > 0 ? fmin(1, (step - s->warmup_steps) / length) : 1;
    double lr = s->lr;
    switch (s->kind) {
    case SCHEDULE_CONST:
        break;
    case SCHEDULE_STEP:
        for (int i = 0; i < s->n_at; i++)
            if (step >= s->at[i] * s->total_steps)
                lr *= s->gamma;
        break;
    case SCHEDULE_LINEAR:
        lr *= 1 - done;
        break;
    case SCHEDULE_COSINE:
        lr *= 0.5 * (1 + cos(3.14159265358979323846 * done));
        break;
    }
    return lr;
}
