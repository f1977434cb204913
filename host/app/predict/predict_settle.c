/* predict_settle.c : resolves the options of an all-reduce for any number of ranks, like
 * a job. */
#include "app/predict/predict.h"
#include "base/err.h"
#include "offload/offload.h"
#include "offload/window/frame.h"
#include <string.h>

/* Refuses formats too narrow for unscaled gradients: trainings failed with e4m3 and e3m0, not with
 * e5m2 (bench/papers, bench/codec_accuracy). */
static int check_scale(const struct predict_options *o, const struct codec *codec)
{
    enum { LEAST_EXPONENT_BITS = 5 };
    const struct mf_fmt in = codec_sum(codec)->in;
    struct vec_cast cast;
    char name[CODEC_NAME_BYTES];
    if (in.e >= LEAST_EXPONENT_BITS || !codec_cast(codec, &cast) || codec_guess(codec) != 0)
        return 0;
    return ERR(-EINVAL,
               "cannot predict format %s with --scale %s: gradients leave its range and trainings "
               "fail; use aps or aps-tight",
               codec_format_name(in, name), o->scale);
}

bool predict_is_card(const char *algo)
{
    return !strcmp(algo, "offload") || !strcmp(algo, "offload-each");
}

/* A machine's ranks that add first count as one rank of the card. */
static int check_card(const struct predict_options *o, const struct predict_way *way, int n_ranks)
{
    char why[160];
    struct vec_sum near, all;
    const struct vec_sum *own = codec_card_sum(&way->codecs[0]);
    if (way->job.near_first && card_near(own, n_ranks, (int)o->near, false, &near, &all))
        return 0;
    return offload_check(own, n_ranks, why, sizeof why) < 0 ? ERR(-EINVAL, "%s", why) : 0;
}

int predict_settle(const struct predict_options *o, const char *algo, const char *type, int n_ranks,
                   struct predict_way *out)
{
    char format[PREDICT_WORD];
    struct predict_way way = {.job = {.by_card = predict_is_card(algo),
                                      .near_first = !strcmp(algo, "offload"),
                                      .chooses = !strcmp(algo, "auto")}};
    struct cost_job *job = &way.job;
    const char *to = strchr(type, '/');
    snprintf(format, sizeof format, "%.*s", (int)strcspn(type, "/"), type);
    /* fp32 is the baseline, to which scale and sum do not apply */
    const struct codec_spec plain = {.format = format},
                            narrow = {.format = format,
                                      .scale = o->scale,
                                      .sum = o->sum,
                                      .acc_format = o->acc_format,
                                      .out_format = to ? to + 1 : o->out_format};
    TRY(codec_parse(strcmp(type, "fp32") ? &narrow : &plain, &way.codecs[0]));
    TRY(algo_find(job->by_card ? "auto" : algo, n_ranks, &job->algo, &job->group));
    if (!job->algo->phases)
        return ERR(-EINVAL, "cannot predict \"%s\": MPI chooses its messages", job->algo->name);
    TRY(algo_settle(job->algo, job->group, n_ranks, &way.codecs[0]));
    TRY(check_scale(o, &way.codecs[0]));
    if (job->by_card)
        TRY(check_card(o, &way, n_ranks));
    const struct codec_adder by = algo_adder(job->algo, job->group);
    way.codecs[1] = codec_fp32(&way.codecs[0], &by);
    codec_describe(&way.codecs[0], way.rounding);
    *out = way;
    out->job.codecs = out->codecs;
    out->job.rates = out->rates;
    return 0;
}

static struct predict_group *group_of(struct predict_group *groups, int *n, const char *rounding)
{
    for (int i = 0; i < *n; i++)
        if (!strcmp(groups[i].rounding, rounding))
            return &groups[i];
    if (*n == PREDICT_LIST)
        return NULL;
    groups[*n] = (struct predict_group){.has = {false}};
    memcpy(groups[*n].rounding, rounding, CODEC_TEXT_BYTES);
    return &groups[(*n)++];
}

int predict_groups(const struct predict *p, const char *type,
                   struct predict_group out[PREDICT_LIST])
{
    struct predict_way way;
    int n = 0;
    for (int i = 0; i < p->algos.n; i++)
        for (int r = 0; r < p->n_ranks; r++) {
            err_hold();
            const int rc = predict_settle(p->o, p->algos.word[i], type, p->ranks[r], &way);
            err_release(false);
            struct predict_group *group = rc < 0 ? NULL : group_of(out, &n, way.rounding);
            if (group)
                group->has[i] = true;
        }
    return n;
}
