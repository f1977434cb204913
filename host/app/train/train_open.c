/* train_open.c : opens a training job in stages. */
#include "app/train/checkpoint.h"
#include "app/train/grad_dump.h"
#include "app/train/grad_stats.h"
#include "app/train/receipts.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

enum { EVAL_BATCH_MIN = 64 };

static int compare_options(struct train *t)
{
    char first[TRAIN_LINES_MAX];
    struct opt_difference differ;
    struct text lines = text_in(t->lines, sizeof t->lines);
    opt_lines(&train_command, t->o, 0, &lines);
    memcpy(first, t->lines, sizeof first);
    TRY(comm_bcast(t->comm, first, sizeof first, 0));
    if (lines.full)
        return ERR(-E2BIG, "the options together are longer than %d bytes", TRAIN_LINES_MAX);
    if (!opt_lines_differ(t->lines, first, &differ))
        return 0;
    return ERR(-EINVAL, "rank %d runs with other options: --%s '%s', rank 0 has '%s'", t->rank,
               differ.name, differ.mine, differ.theirs);
}

static int settle(struct train *t)
{
    const struct train_options *o = t->o;
    if (o->batch % (uint64_t)t->n_ranks)
        return ERR(-EINVAL,
                   "--batch %llu cannot be divided among %d ranks: it must be a multiple of %d",
                   (unsigned long long)o->batch, t->n_ranks, t->n_ranks);
    t->share = (int)(o->batch / (uint64_t)t->n_ranks);
    if (t->share % o->micro)
        return ERR(-EINVAL,
                   "--micro %lld does not divide the %d images of a rank: --batch must be a "
                   "multiple of %lld",
                   (long long)o->micro, t->share, (long long)o->micro * t->n_ranks);
    t->micro_share = t->share / (int)o->micro;
    t->eval_batch = t->micro_share > EVAL_BATCH_MIN ? t->micro_share : EVAL_BATCH_MIN;
    t->low_memory = o->memory && !strcmp(o->memory, "low");
    TRY(train_device_settle(t));
    t->setup.fewer =
        t->eval_batch > EVAL_BATCH_MIN ? "a smaller --batch or a larger --micro" : NULL;
    TRY(augment_spec(o->augment, &t->augment));
    return schedule_parse(o->schedule, &t->schedule);
}

static enum job_if job_if(const char *word, const char *yes)
{
    return !strcmp(word, "auto") ? JOB_AUTO : !strcmp(word, yes) ? JOB_YES : JOB_NO;
}

static int settle_job(struct train *t)
{
    const struct train_options *o = t->o;
    struct job_shard shard = {.on = false};
    if (train_is_sharded(o))
        TRY(shard_parse("rounded", o->gather, &shard));
    shard.releases = train_releases(o);
    const struct job_spec spec = {.codec = {.codec = o->codec,
                                            .format = o->format,
                                            .scale = o->scale,
                                            .sum = o->sum,
                                            .acc_format = o->acc_format,
                                            .out_format = o->out_format,
                                            .rescale = o->rescale,
                                            .overflow = o->overflow,
                                            .round = o->round},
                                  .quantise = train_only_kernels(o) ? "all" : o->quantise,
                                  .seed = o->seed,
                                  .algo = o->algo,
                                  .gpu = train_needs_cpu(o) ? JOB_NO : job_if(o->device, "cuda"),
                                  .layers = true,
                                  .halves = train_is_pure(o),
                                  .overlap = train_is_emulated(t) ? JOB_NO
                                             : shard.releases     ? JOB_YES
                                                                  : job_if(o->overlap, "on"),
                                  .bucket_bytes = o->bucket_bytes,
                                  .cards = {.where = o->offload,
                                            .xclbin = o->xclbin,
                                            .provider = o->fabric,
                                            .local = o->fabric_address,
                                            .slots = (int)o->card_slots,
                                            .group = o->card_group,
                                            .card_deadline_s = o->card_deadline,
                                            .deadline_s = o->deadline},
                                  .node_sum = o->node_sum,
                                  .shard = shard,
                                  .emulated = o->memory != NULL,
                                  .low_memory = t->low_memory};
    return job_settle(t->comm, &spec, &t->job);
}

static int open_data(struct train *t)
{
    const struct train_options *o = t->o;
    TRY(dataset_open(o->data, o->train_samples, &t->data));
    t->data_crc = dataset_crc(t->data);
    TRY(augment_fits(t->data, &t->augment));
    TRY(dataset_scale(t->data, (int)o->image));
    t->steps_per_epoch = t->data->n_train / o->batch;
    if (!t->steps_per_epoch)
        return ERR(-EINVAL, "--batch %llu is more than the %zu training images",
                   (unsigned long long)o->batch, t->data->n_train);
    t->n_steps = o->steps ? (uint64_t)o->steps : (uint64_t)o->epochs * t->steps_per_epoch;
    t->schedule.lr = o->lr;
    t->schedule.total_steps = (double)t->n_steps;
    t->schedule.warmup_from = o->warmup_from;
    t->schedule.warmup_steps = o->warmup * (double)t->steps_per_epoch;
    return 0;
}

/* File names of equal data may differ. */
static int same_data(struct train *t)
{
    const uint32_t crc = train_data_crc(t);
    return comm_check_equal(t->comm, &crc, sizeof crc, "what --data holds");
}

static int check_kernels(const struct train *t)
{
    bool some = !train_only_kernels(t->o);
    for (int i = 0; i < t->n_params; i++)
        some = some || t->params[i].kernel;
    return some ? 0
                : ERR(-EINVAL,
                      "--quantise conv leaves nothing to quantise: model '%s' has no convolutions",
                      t->o->model);
}

static int open_model(struct train *t)
{
    const struct train_options *o = t->o;
    const struct dataset *d = t->data;
    struct nn_target wants;
    nn_cpu_threads((int)o->threads);
    TRY(nn_model_wants(o->model, dataset_shape(d), d->n_classes, &wants));
    TRY(dataset_suits(t->data, o->model, wants));
    TRY(nn_model_open(t->nn, &t->setup, o->model, dataset_shape(d), d->n_classes, t->eval_batch,
                      o->seed, &t->model));
    t->params = nn_model_params(t->model, &t->n_params);
    TRY(check_kernels(t));
    t->weights = nn_model_weights(t->model, &t->n_weights);
    t->grads = nn_model_grads(t->model);
    t->stats = nn_model_stats(t->model, &t->n_stats);

    const struct dataset_augment augment = {.how = t->augment, .seed = o->seed};
    TRY(feed_open(t->model, d, &augment, t->eval_batch, &t->feed));
    t->order = buf_alloc(d->n_train * sizeof *t->order);
    t->host = buf_alloc((t->n_weights + t->n_stats) * sizeof *t->host);
    if (o->micro > 1 && !(t->micro_sum = t->nn->alloc(nn_model_ctx(t->model),
                                                      t->n_weights * train_weight_bytes(t))))
        return -ENOMEM;
    return t->order && t->host ? 0 : -ENOMEM;
}

static int open_own(struct train *t)
{
    TRY(train_emulate_join(t));
    t->layers = buf_alloc((size_t)t->n_params * sizeof *t->layers);
    t->own_stats = buf_alloc(t->n_stats * sizeof *t->own_stats);
    t->wide = buf_alloc(t->n_stats * sizeof *t->wide);
    const size_t n_classes = (size_t)t->data->n_classes;
    if (dataset_is_map(t->data) &&
        !(t->confusion = buf_alloc(n_classes * n_classes * sizeof *t->confusion)))
        return -ENOMEM;
    t->n_scales = nn_model_n_scales(t->model);
    t->scales = buf_alloc(t->n_scales * sizeof *t->scales);
    if (!t->layers || !t->own_stats || !t->wide || !t->scales)
        return -ENOMEM;
    nn_model_scales_get(t->model, t->scales);
    for (int i = 0; i < t->n_params; i++)
        t->layers[i] = nn_model_at(t->model, t->grads, t->params[i].offset);
    return train_means_open(t);
}

/* The caller frees the layers. */
static struct reducer_layer *layers_of(const struct train *t)
{
    struct reducer_layer *layers = buf_alloc((size_t)t->n_params * sizeof *layers);
    const bool kernels = train_only_kernels(t->o);
    for (int i = 0; i < t->n_params && layers; i++)
        layers[i] = (struct reducer_layer){.name = t->params[i].name,
                                           .n = t->params[i].n,
                                           .column = t->params[i].column,
                                           .stride = t->params[i].stride,
                                           .fp32 = (t->o->fp32_last_layer && t->params[i].last) ||
                                                   (kernels && !t->params[i].kernel)};
    return layers;
}

static int fits(struct train *t)
{
    if (t->owner || !train_is_emulated(t))
        return 0;
    struct reducer_layer *layers = layers_of(t);
    const int rc = layers ? train_emulate_fits(t, layers) : -ENOMEM;
    free(layers);
    return rc;
}

static int open_job(struct train *t)
{
    struct reducer_layer *layers = layers_of(t);
    const float **weights = buf_alloc((size_t)t->n_params * sizeof *weights);
    if (!layers || !weights)
        comm_abort(t->comm, -ENOMEM); /* others wait in job_open() */
    for (int i = 0; i < t->n_params; i++)
        weights[i] = nn_model_at(t->model, t->weights, t->params[i].offset);
    int rc = job_open(&t->job, layers, t->n_params);
    if (rc == 0) {
        reducer_set_weights(t->job.reducer, weights);
        reducer_set_means(t->job.reducer, t->mean_layers);
        train_shard_begin(t);
    }
    free(weights);
    free(layers);
    return rc;
}

static int count_fp32(struct train *t)
{
    struct reducer_step step;
    if (!t->job.shard.releases) /* released gradients and host are still zero */
        TRY(nn_model_put(t->model, t->grads, t->host, t->n_weights));
    reducer_force_fp32(t->job.reducer, true);
    TRY(reducer_run(t->job.reducer, 0, t->layers, &step));
    t->report.fp32_sent_bytes = step.sent_bytes + train_shard_fp32_bytes(t);
    return t->shard ? train_shard_gather(t, &step) : 0; /* differences need a first one */
}

int train_open(struct train *t)
{
    t->rank = comm_rank(t->comm);
    t->n_ranks = comm_n_ranks(t->comm);
    TRY(train_agree(t, compare_options(t)));
    TRY(train_agree(t, settle(t)));
    TRY(train_agree(t, settle_job(t)));
    TRY(train_agree(t, train_device_open(t)));
    TRY(train_agree(t, t->owner ? 0 : open_data(t)));
    TRY(train_agree(t, same_data(t)));
    TRY(train_agree(t, t->owner ? 0 : open_model(t)));
    if (t->o->init && !t->o->resume) /* a restarted run resumes */
        TRY(checkpoint_init(t));
    TRY(train_agree(t, t->owner ? 0 : train_shard_open(t)));
    TRY(train_agree(t, fits(t)));
    TRY(train_agree(t, open_own(t)));
    TRY(train_agree(t, open_job(t)));
    train_low_share(t);
    TRY(train_agree(t, t->low_memory ? 0 : count_fp32(t)));
    TRY(train_agree(t, train_trace_open(t)));
    TRY(train_agree(t, t->o->save ? checkpoint_check(t) : 0));
    TRY(train_agree(t, train_predict_check(t)));
    if (t->o->resume)
        TRY(checkpoint_load(t));
    const struct report_epoch *last = elastic_tested(t->elastic);
    t->tested = last;
    if (last)
        t->report.last = *last;
    if (t->rank == 0)
        train_run_id_set(t);
    if (t->elastic) /* rank 0 may die */
        TRY(comm_bcast(t->comm, t->run_id, sizeof t->run_id, 0));
    TRY(train_agree(t, t->o->dump_dir ? grad_dump_open(t) : 0));
    TRY(train_agree(t, grad_stats_open(t)));
    TRY(train_agree(t, receipts_open(t)));
    TRY(train_agree(t, report_open(t)));
    train_device_say(t);
    train_offload_say(t);
    return train_trace_start(t);
}

void train_close(struct train *t)
{
    report_close(t);
    grad_stats_close(t);
    receipts_close(t);
    grad_dump_close(t);
    job_close(&t->job);
    train_trace_close(t);
    free(t->confusion);
    free(t->scales);
    free(t->wide);
    free(t->own_stats);
    free(t->layers);
    train_means_close(t);
    train_emulate_leave(t);
    if (!t->owner) {
        free(t->host);
        free(t->order);
        feed_close(t->feed);
        optim_close(t->optim);
        train_shard_close(t);
        if (t->micro_sum)
            t->nn->free(nn_model_ctx(t->model), t->micro_sum);
        nn_model_close(t->model);
        dataset_close(t->data);
    }
    train_device_close(t);
}
