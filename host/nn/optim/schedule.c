/* schedule.c : computes the learning rate of a step. */
#include <math.h>
#include <string.h>
#include "base/err.h"
#include "base/opt/opt.h"
#include "base/text.h"
#include "nn/optim/optim.h"

enum { MAX_AT = sizeof((struct schedule *)0)->at / sizeof(double) };

/* Return the number of fractions, or -EINVAL. */
static int parse_fractions(const char *word, const char *list, double *at)
{
    int n = 0;
    for (const char *p = list;; p++) {
        double x;
        const char *end = number_take(p, &x);
        if (!end || (*end != ',' && *end != '\0'))
            return ERR(-EINVAL,
                       "bad schedule '%s': '%s' is not a list of fractions, such as 0.5,0.75", word,
                       p);
        if (x <= 0 || x >= 1 || (n > 0 && x <= at[n - 1]))
            return ERR(-EINVAL,
                       "bad schedule '%s': fractions must lie between 0 and 1 and increase", word);
        if (n == MAX_AT)
            return ERR(-EINVAL, "bad schedule '%s': at most %d fractions", word, (int)MAX_AT);
        at[n++] = x;
        p = end;
        if (*p == '\0')
            return n;
    }
}

/* ---- readers of the rest of a spec; on -EINVAL (reported) *out is unchanged ---- */

static int read_step(const char *word, const char *rest, struct schedule *out)
{
    double at[MAX_AT] = {0};
    const int n_at = parse_fractions(word, rest ? rest : "0.5,0.75", at);
    TRY(n_at);
    out->gamma = 0.1;
    out->n_at = n_at;
    memcpy(out->at, at, sizeof at);
    return 0;
}

static int read_poly(const char *word, const char *rest, struct schedule *out)
{
    double power;
    if (!rest || !number_whole(rest, &power) || power <= 0 || power > 100)
        return ERR(-EINVAL, "bad schedule '%s': need poly:P with 0 < P <= 100", word);
    out->power = power;
    return 0;
}

static int read_exp(const char *word, const char *rest, struct schedule *out)
{
    double factor, every;
    const char *slash = rest ? number_take(rest, &factor) : NULL;
    if (!slash || *slash != '/' || !number_whole(slash + 1, &every) || factor <= 0 || factor > 1 ||
        every < 1 || every > 1e12 || every != floor(every))
        return ERR(-EINVAL,
                   "bad schedule '%s': need exp:G/N with 0 < G <= 1 and N a number of steps", word);
    out->gamma = factor;
    out->every = every;
    return 0;
}

/* ---- rates at a step; done: fraction of the run after warm-up ---- */

static double rate_const(const struct schedule *s, double step, double done)
{
    (void)step, (void)done;
    return s->lr;
}

static double rate_step(const struct schedule *s, double step, double done)
{
    (void)done;
    double lr = s->lr;
    for (int i = 0; i < s->n_at; i++)
        if (step >= s->at[i] * s->total_steps)
            lr *= s->gamma;
    return lr;
}

static double rate_linear(const struct schedule *s, double step, double done)
{
    (void)step;
    return s->lr * (1 - done);
}

static double rate_cosine(const struct schedule *s, double step, double done)
{
    (void)step;
    return s->lr * (0.5 * (1 + cos(3.14159265358979323846 * done)));
}

static double rate_poly(const struct schedule *s, double step, double done)
{
    (void)step;
    return s->lr * pow(1 - done, s->power);
}

static double rate_exp(const struct schedule *s, double step, double done)
{
    (void)done;
    return s->lr * pow(s->gamma, floor(step / s->every));
}

/* SCHEDULE(name, rest of the spec, its reader or NULL, true if the rate
 * depends on the run's length, help) */
#define SCHEDULES                                                                  \
    SCHEDULE(const, "", NULL, false, "")                                           \
    SCHEDULE(step, "[:A,B...]", read_step, true,                                   \
             " (to a tenth at each of these fractions of the run: step:0.5,0.75)") \
    SCHEDULE(linear, "", NULL, true, " (to zero)")                                 \
    SCHEDULE(cosine, "", NULL, true, " (to zero)")                                 \
    SCHEDULE(poly, ":P", read_poly, true, " (times (1 - i/n)^P)")                  \
    SCHEDULE(exp, ":G/N", read_exp, false, " (times G after every N steps)")

static const struct schedule_kind {
    const char *name;
    int (*read)(const char *word, const char *rest, struct schedule *out);
    bool by_length;
    double (*rate)(const struct schedule *s, double step, double done);
} kinds[] = {
#define SCHEDULE(name, more, read, by_length, means) {#name, read, by_length, rate_##name},
    SCHEDULES
#undef SCHEDULE
};

#define SCHEDULE(name, more, read, by_length, means) " " #name more means ","
static const char words[] = SCHEDULES " after the warm-up";
const char schedule_help[] = "One of" SCHEDULES " after the warm-up.";
#undef SCHEDULE

static const struct schedule_kind *find(const char *word, const char **rest)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (word_has_name(word, kinds[i].name, rest))
            return &kinds[i];
    return NULL;
}

int schedule_parse(const char *word, struct schedule *out)
{
    const char *rest = NULL;
    const struct schedule_kind *kind = find(word, &rest);
    if (!kind || (rest && !kind->read))
        return ERR(-EINVAL, "unknown schedule '%s': need one of%s%s", word, words,
                   opt_guess(word, words, (char[OPT_GUESS]){0}));
    if (kind->read)
        TRY(kind->read(word, rest, out));
    out->kind = kind;
    return 0;
}

bool schedule_by_length(const struct schedule *s)
{
    return s->kind->by_length;
}

double schedule_lr(const struct schedule *s, double step)
{
    if (step < s->warmup_steps)
        return s->warmup_from + (s->lr - s->warmup_from) * fmin(1, (step + 1) / s->warmup_steps);
    const double length = s->total_steps - s->warmup_steps;
    const double done = length > 0 ? fmin(1, (step - s->warmup_steps) / length) : 1;
    return s->kind->rate(s, step, done);
}
