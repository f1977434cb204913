/* train_core.c : --reduce-on rtl[:LAYERS]: sums of chosen layers go through a simulated card as well, and
 * must be the ranks' own. */
#include "app/train/train_core.h"
#include "app/files/sim_sum.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/word.h"
#include <stdlib.h>
#include <string.h>

struct train_core {
    struct sim_sum *card;
    struct reducer_core core;
    bool *layers; /* [n_params] */
};

/* "rtl", "model" or either with ":NAME,NAME...". *names: behind the colon, NULL for all. Returns the card's
 * model, NULL for another word. */
static const char *model_of(const char *word, const char **names)
{
    if (word_has_name(word, "rtl", names))
        return "rtl";
    return word_has_name(word, "model", names) ? "c" : NULL;
}

/* The layers of one name. Returns 0 or -EINVAL with a line. */
static int choose(const struct train *t, const char *name, size_t n, bool *layers)
{
    int n_found = 0;
    for (int i = 0; i < t->n_params; i++)
        if (word_is_part(t->params[i].name, name, n))
            layers[i] = ++n_found;
    return n_found
               ? 0
               : ERR(-EINVAL,
                     "--reduce-on: model '%s' has no layer '%.*s': the first is '%s', the last "
                     "'%s'",
                     t->o->model, (int)n, name, t->params[0].name, t->params[t->n_params - 1].name);
}

static int choose_all(const struct train *t, const char *names, bool *layers)
{
    for (int i = 0; i < t->n_params && !*names; i++)
        layers[i] = true;
    for (const char *at = names; *at;) {
        const size_t n = strcspn(at, ",");
        TRY(choose(t, at, n, layers));
        at += n + (at[n] == ',');
    }
    return 0;
}

/* What travels in fp32 does not go there: some of these layers must not, in some step. */
static int check_narrow(const struct train *t, const bool *layers)
{
    const struct train_options *o = t->o;
    if (o->first_steps_fp32 >= t->n_steps ||
        (uint64_t)o->first_epochs_fp32 * t->steps_per_epoch >= t->n_steps)
        return ERR(-EINVAL,
                   "--reduce-on %s would add nothing: all %llu steps travel in fp32 "
                   "(--first-steps-fp32, --first-epochs-fp32)",
                   o->reduce_on, (unsigned long long)t->n_steps);
    for (int i = 0; i < t->n_params; i++)
        if (layers[i] && codec_tag(reducer_codec(t->job.reducer, i)) == codec_tag(&t->job.codec))
            return 0;
    return ERR(-EINVAL,
               "--reduce-on %s would add nothing: these layers travel in fp32 (--fp32-last-layer, "
               "--quantise large)",
               o->reduce_on);
}

static int add(void *arg, const uint8_t *const *parts, size_t n, uint8_t *sums)
{
    return sim_sum_add(arg, parts, n, sums);
}

/* Codes of the longest layer, padded. */
static int open_core(struct train_core *c, const struct train *t, const struct vec_sum *sum)
{
    enum { PADDING = 4096 }; /* more than any unit of minifloats */
    size_t most = 0;
    for (int i = 0; i < t->n_params; i++)
        most = t->params[i].n > most ? t->params[i].n : most;
    c->core = (struct reducer_core){.add = add,
                                    .arg = c->card,
                                    .layers = c->layers,
                                    .parts = buf_alloc((size_t)t->n_ranks * sizeof *c->core.parts),
                                    .sums = buf_alloc(vec_bytes(sum->out, most + PADDING))};
    return c->core.parts && c->core.sums ? 0 : -ENOMEM;
}

int train_core_open(struct train *t)
{
    char text[CODEC_TEXT_BYTES];
    const char *names, *word = t->o->reduce_on;
    if (t->lead || !word || !strcmp(word, "cpu"))
        return 0;
    const char *model = model_of(word, &names);
    const struct vec_sum *sum = codec_card_sum(&t->job.codec);
    if (!model)
        return ERR(-EINVAL,
                   "cannot read --reduce-on '%s': want cpu, rtl or model, or rtl:NAME,NAME...",
                   word);
    if (t->low_memory)
        return ERR(-EINVAL, "--reduce-on %s needs the codes of all ranks at once: --memory full",
                   word);
    if (!sum)
        return ERR(-EINVAL, "--reduce-on %s: a card cannot add codes of %s", word,
                   codec_describe(&t->job.codec, text));
    t->core = buf_alloc(sizeof *t->core);
    if (!t->core)
        return -ENOMEM;
    t->core->layers = buf_alloc((size_t)t->n_params * sizeof *t->core->layers);
    if (!t->core->layers)
        return -ENOMEM;
    TRY(choose_all(t, names ? names : "", t->core->layers));
    TRY(check_narrow(t, t->core->layers));
    TRY(sim_sum_open(sum, t->n_ranks, "ranks", model, NULL, &t->core->card));
    return open_core(t->core, t, sum);
}

void train_core_close(struct train_core *c)
{
    if (!c)
        return;
    sim_sum_close(c->card);
    free(c->core.parts);
    free(c->core.sums);
    free(c->layers);
    free(c);
}

void train_core_join(struct train *t)
{
    struct train_core *c = t->lead ? t->lead->core : t->core;
    if (c)
        reducer_set_core(t->job.reducer, &c->core);
}

void train_core_print(const struct train *t)
{
    char line[320];
    struct text said = text_in(line, sizeof line);
    if (!t->core)
        return;
    sim_sum_describe(t->core->card, &said);
    printf("reduced on     %llu sums of layers, the same bytes as the ranks'; %s\n",
           (unsigned long long)t->core->core.n_sums, line);
}
