/* train_emulate.c : ranks of a training that are fibers of one process: what they have in common, and
 * what each has for itself.
 *
 *     the lead (rank 0): data, network, weights, velocities     every rank: gradients, statistics of the batch norms, sums,
 *                                                               codes, what its codec keeps
 *
 * Each runs the code of a real rank from train_open() to its end; a pass of the network does not hand
 * over, so the network serves one after the other. No rank begins its next step before all have met
 * behind this one's update. */
#include "app/train.h"
#include "base/err.h"
#include "base/memory.h"
#include "vec/gpu.h"
#include <stdio.h>

enum {
    STACK_BYTES = 96 << 10,  /* of a fiber, as far as it was seen to go */
    QUEUE_BYTES = 60,        /* of comm_virtual.h, for two ranks that ever wrote to each other */
    MESSAGE_BYTES = 18 * 40, /* of the list of what is under way, for each peer: direct */
};

bool train_is_emulated(const struct train *t)
{
    return comm_is_virtual(t->comm);
}

/* Bytes of one more rank: what a reducer takes, gradients and statistics, fiber and messages. */
struct rank_bytes {
    uint64_t host, gpu;
};

static int measure(const struct train *t, const struct reducer_layer *layers,
                   struct rank_bytes *out)
{
    struct reducer_bytes reducer;
    TRY(job_measure(&t->job, layers, t->n_params, &reducer));
    const uint64_t grads = t->n_weights * sizeof *t->grads + t->n_stats * sizeof *t->stats,
                   kept = grads + reducer.state;
    out->gpu = t->job.on_gpu ? kept : 0;
    out->host = reducer.codes + (t->job.on_gpu ? 0 : kept) + 3 * t->n_stats * sizeof *t->stats +
                sizeof *t + STACK_BYTES + (uint64_t)t->n_ranks * (QUEUE_BYTES + MESSAGE_BYTES);
    return 0;
}

/* where: what the memory is of. */
static int fits_in(const struct train *t, uint64_t each, uint64_t free_bytes, const char *where)
{
    char all_text[MEMORY_TEXT], each_text[MEMORY_TEXT], free_text[MEMORY_TEXT];
    memory_text((uint64_t)t->n_ranks * each, all_text);
    memory_text(each, each_text);
    memory_text(free_bytes, free_text);
    if ((uint64_t)t->n_ranks * each > free_bytes)
        return ERR(-ENOMEM,
                   "cannot emulate %d ranks of model '%s' at %s each: that is %s, and %s%s are "
                   "free: about %llu ranks would fit",
                   t->n_ranks, t->o->model, each_text, all_text, free_text, where,
                   (unsigned long long)(free_bytes / each));
    fprintf(stderr, "emulated: %d ranks in one process, %s each, %s in all%s\n", t->n_ranks,
            each_text, all_text, where);
    return 0;
}

int train_emulate_fits(struct train *t, const struct reducer_layer *layers)
{
    struct rank_bytes each;
    size_t free_bytes, all_bytes;
    TRY(measure(t, layers, &each));
    TRY(fits_in(t, each.host, memory_available(), ""));
    if (!t->job.on_gpu)
        return 0;
    gpu()->run->memory(&free_bytes, &all_bytes);
    return fits_in(t, each.gpu, free_bytes, " of the GPU");
}

static void borrow(struct train *t)
{
    const struct train *from = t->lead;
    t->data = from->data;
    t->order = from->order;
    t->feed = from->feed;
    t->model = from->model;
    t->params = from->params;
    t->n_params = from->n_params;
    t->weights = from->weights;
    t->n_weights = from->n_weights;
    t->n_stats = from->n_stats;
    t->host = from->host;
    t->micro_sum = from->micro_sum;
    t->optim = from->optim;
    t->schedule = from->schedule;
    t->steps_per_epoch = from->steps_per_epoch;
    t->n_steps = from->n_steps;
}

int train_emulate_join(struct train *t)
{
    if (!t->lead)
        return 0;
    borrow(t);
    void *ctx = nn_model_ctx(t->model);
    t->grads = t->nn->alloc(ctx, t->n_weights * sizeof *t->grads);
    t->stats = t->nn->alloc(ctx, t->n_stats * sizeof *t->stats);
    if (!t->grads || !t->stats)
        return -ENOMEM;
    real *start = t->host + t->n_weights; /* in front of it: zeros that are wanted still */
    TRY(nn_model_get(t->model, start, t->lead->stats, t->n_stats));
    return nn_model_put(t->model, t->stats, start, t->n_stats);
}

void train_emulate_leave(struct train *t)
{
    if (!t->lead || !t->model)
        return;
    t->nn->free(nn_model_ctx(t->model), t->grads);
    t->nn->free(nn_model_ctx(t->model), t->stats);
}

void train_emulate_turn(struct train *t)
{
    if (train_is_emulated(t))
        nn_model_use(t->model, t->grads, t->stats);
}

int train_emulate_update(struct train *t, double lr, bool skipped)
{
    TRY(comm_barrier(t->comm)); /* a codec may read weights to make means */
    if (!t->lead && !skipped)
        optim_step(t->optim, t->weights, t->grads, lr);
    return 0;
}

void train_emulate_time(struct train *t, struct report_step *step)
{
    struct reducer_step *reduced = &step->reduced;
    if (t->lead || !train_is_emulated(t))
        return;
    const double rest_s = step->seconds - t->computed_s - t->cast_s;
    reduced->codec_s = t->cast_s;
    reduced->comm_s = rest_s > 0 ? rest_s : 0;
    t->computed_s = t->cast_s = 0;
}
