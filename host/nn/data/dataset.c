/* dataset.c : opens data sets by their specs, and shuffles samples. */
#include "nn/data/dataset.h"
#include "base/crc.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "base/text.h"
#include "nn/data/sources.h"
#include "hls/arith/draw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *more, *means;
    enum nn_form form;
    enum nn_target_kind target;
    int (*load)(const char *arg, struct dataset *d);
} sources[] = {
#define SOURCE(name, more, form, target, means) {#name, more, means, form, target, name##_load},
#include "nn/data/sources.def"
#undef SOURCE
};

#define SOURCE(name, more, form, target, means) ", " #name more
static const char specs[] =
#include "nn/data/sources.def"
    ;
#undef SOURCE

#define SOURCE(name, more, form, target, means) " " #name more " (" means "),"
const char dataset_help[] =
    "One of"
#include "nn/data/sources.def"
    " each except imagefolder loaded or generated completely before the run.";
#undef SOURCE

enum { SOURCE_GUESS = 384 };

/* The last part of a path may name a known data set (mnist), which suggests its source (idx). */
static const char *guess_source(const char *spec, char guess[SOURCE_GUESS])
{
    enum { N = sizeof sources / sizeof *sources, SHORTEST = 3 };
    const char *known[N], *nearest;
    char word[OPT_GUESS];
    const bool is_path = strchr(spec, '/') && !strchr(spec, ':');
    size_t end = strcspn(spec, ":"), begin;
    while (is_path && end > 1 && spec[end - 1] == '/')
        end--;
    for (begin = end; is_path && begin > 0 && spec[begin - 1] != '/';)
        begin--;
    begin = is_path ? begin : 0;
    snprintf(word, sizeof word, "%.*s", (int)(end - begin), spec + begin);
    for (int i = 0; i < N; i++)
        known[i] = sources[i].name;
    nearest = *word ? opt_nearest(word, known, N) : NULL;
    *guess = 0;
    for (int i = 0; i < N; i++)
        if (nearest == known[i] ||
            (!nearest && strlen(word) >= SHORTEST && strcasestr(sources[i].means, word) && !*guess))
            snprintf(guess, SOURCE_GUESS, ": did you mean '%s%s%s'?", known[i],
                     is_path && *sources[i].more == ':' ? ":" : sources[i].more,
                     is_path && *sources[i].more == ':' ? spec : "");
    return guess;
}

static int load(const char *spec, struct dataset *d)
{
    const char *arg;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const char *name = sources[i].name, *more = sources[i].more;
        if (!word_has_name(spec, name, &arg))
            continue;
        if (*more == ':' && (!arg || !*arg))
            return ERR(-EINVAL, "data set '%s' lacks its %s: need %s%s", spec, more + 1, name,
                       more);
        return sources[i].load(arg, d);
    }
    return ERR(-EINVAL, "unknown data set '%s': need one of %s%s", spec, specs + 2,
               guess_source(spec, (char[SOURCE_GUESS]){0}));
}

static uint32_t crc_list(uint32_t crc, const void *list, size_t n, size_t item)
{
    return list ? crc_more(crc, list, n * item) : crc;
}

uint32_t dataset_crc(const struct dataset *d)
{
    const size_t pixels = (size_t)d->h * (size_t)d->w, bytes = pixels * (size_t)d->c;
    const uint64_t sizes[] = {(uint64_t)d->h, (uint64_t)d->w, (uint64_t)d->c,
                              d->n_train,     d->n_test,      (uint64_t)d->n_classes};
    uint32_t crc = crc_of(sizes, sizeof sizes);
    crc = crc_list(crc, d->train_x, d->n_train, bytes);
    crc = crc_list(crc, d->test_x, d->n_test, bytes);
    crc = crc_list(crc, d->train_y, d->n_train, sizeof *d->train_y);
    crc = crc_list(crc, d->test_y, d->n_test, sizeof *d->test_y);
    crc = crc_list(crc, d->train_map, d->n_train, pixels);
    crc = crc_list(crc, d->test_map, d->n_test, pixels);
    return d->samples->crc ? d->samples->crc(d, crc) : crc;
}

int dataset_failed(const struct dataset *d)
{
    return d->samples->failed ? d->samples->failed(d) : 0;
}

int dataset_open(const char *spec, size_t subset, struct dataset **out)
{
    struct dataset *d = calloc(1, sizeof *d);
    if (!d)
        return ERR(-ENOMEM, "cannot allocate the data set");
    d->name = strdup(spec);
    int rc = d->name ? load(spec, d) : ERR(-ENOMEM, "cannot allocate the data set's name");
    if (rc == 0)
        rc = d->samples->settle(d, subset);
    if (rc < 0) {
        dataset_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

struct nn_target dataset_target(const struct dataset *d)
{
    const int n[NN_TARGET_KINDS] = {
        [NN_CLASS] = 1, [NN_DENSE] = d->h * d->w, [NN_TRANSCRIPT] = d->n_transcript};
    return (struct nn_target){d->samples->target, n[d->samples->target]};
}

bool dataset_is_map(const struct dataset *d)
{
    return d->samples->target == NN_DENSE && d->w > 1;
}

const char *const dataset_targets[NN_TARGET_KINDS] = {
    [NN_CLASS] = "one label per sample",
    [NN_DENSE] = "a label per pixel or time step",
    [NN_TRANSCRIPT] = "transcripts",
};

void dataset_specs(enum nn_form form, enum nn_target_kind target, struct text *out)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (sources[i].form == form && sources[i].target == target)
            text_add(out, ", %s%s", sources[i].name, sources[i].more);
}

int dataset_suits(struct dataset *d, const char *model, struct nn_target wants)
{
    const struct nn_target has = dataset_target(d);
    char list[256];
    struct text others = text_in(list, sizeof list);
    dataset_specs(d->w == 1 ? NN_SEQUENCES : NN_IMAGES, wants.kind, &others);
    if (has.kind != wants.kind && others.n == 0)
        return ERR(-EINVAL,
                   "data set '%s' has %s, but network '%s' needs %s: choose another network",
                   d->name, dataset_targets[has.kind], model, dataset_targets[wants.kind]);
    if (has.kind != wants.kind)
        return ERR(-EINVAL, "data set '%s' has %s, but network '%s' needs %s: choose one of%s",
                   d->name, dataset_targets[has.kind], model, dataset_targets[wants.kind],
                   list + (others.n > 0));
    if (has.kind == NN_TRANSCRIPT ? has.n > wants.n : has.n != wants.n)
        return ERR(-EINVAL, "data set '%s' has %d labels per sample, but network '%s' takes %d",
                   d->name, has.n, model, wants.n);
    d->n_transcript = has.kind == NN_TRANSCRIPT ? wants.n : 0;
    return 0;
}

void dataset_close(struct dataset *d)
{
    if (!d)
        return;
    free(d->train_x);
    free(d->train_y);
    free(d->test_x);
    free(d->test_y);
    free(d->train_map);
    free(d->test_map);
    if (d->samples && d->samples->close)
        d->samples->close(d);
    free(d->name);
    free(d);
}

void dataset_batch(const struct dataset *d, bool test, const uint32_t *index, int n,
                   const struct dataset_augment *augment, real *x, int32_t *labels,
                   int32_t *lengths)
{
    d->samples->to_real(d, test, index, n, augment, x);
    d->samples->labels(d, test, index, n, augment, labels, lengths);
}

/* Inside-out Fisher-Yates needs no earlier order, so epochs are independent. */
void dataset_order(uint64_t seed, uint64_t epoch, size_t n, uint32_t *order)
{
    struct draw draw = draw_open(seed, DRAW_ORDER, epoch, 0);
    for (size_t i = 0; i < n; i++) {
        uint32_t j = draw_below(&draw, (uint32_t)i + 1);
        order[i] = (uint32_t)i; /* for j == i */
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}
