/* train_emulate.c : runs ranks of a training as fibers of one process that share the network.
 *
 *     shared, owned by the process's lowest rank: data, network, weights, velocities
 *     each rank's own: gradients (not with --memory low), batch-norm statistics, sums, codes, state
 *                      of its codec */
#include "app/train/receipts.h"
#include "app/train/train.h"
#include "base/err.h"
#include "base/memory.h"
#include "vec/gpu/gpu.h"

enum {
    STACK_BYTES = 96 << 10,  /* of a fiber's stack that is touched; measured */
    QUEUE_BYTES = 5 * 12,    /* for each pair that communicated: a struct virtual_queue per tag */
    LAYER_BYTES = 1 << 10,   /* per layer, in the plans of a reducer */
    MESSAGE_BYTES = 18 * 40, /* in flight to each peer, with `direct` */
};

bool train_is_emulated(const struct train *t)
{
    return comm_is_virtual(t->comm);
}

/* memory of one more rank */
struct rank_bytes {
    uint64_t host, gpu;
    uint64_t common; /* once for all ranks; low memory only */
};

static int measure(const struct train *t, const struct reducer_layer *layers,
                   struct rank_bytes *out)
{
    struct reducer_bytes reducer;
    TRY(job_measure(&t->job, layers, t->n_params, &reducer));
    const uint64_t means = train_has_means(t) ? sizeof(real) : 0, /* bytes per weight */
        grads = t->low_memory ? 0 : t->n_weights * (train_weight_bytes(t) + means),
                   kept = grads + t->n_stats * train_weight_bytes(t) + reducer.state;
    out->common = reducer.common;
    out->gpu = t->job.on_gpu ? kept : 0;
    out->host = reducer.codes + (t->job.on_gpu ? 0 : kept) + 3 * t->n_stats * sizeof *t->stats +
                sizeof *t + STACK_BYTES + LAYER_BYTES * (uint64_t)t->n_params +
                (uint64_t)t->n_ranks * (QUEUE_BYTES + MESSAGE_BYTES);
    return 0;
}

static int fits_in(const struct train *t, uint64_t each, uint64_t common, uint64_t free_bytes,
                   const char *where)
{
    const int n = comm_n_here(t->comm);
    const uint64_t all = (uint64_t)n * each + common,
                   room = free_bytes > common ? free_bytes - common : 0;
    char all_text[MEMORY_TEXT], each_text[MEMORY_TEXT], free_text[MEMORY_TEXT];
    memory_text(all, all_text);
    memory_text(each, each_text);
    memory_text(free_bytes, free_text);
    if (all > free_bytes)
        return ERR(-ENOMEM,
                   "cannot run %d ranks of model '%s' in this process, %s each: they need %s, but "
                   "%s%s are free, enough for about %llu ranks%s",
                   n, t->o->model, each_text, all_text, free_text, where,
                   (unsigned long long)(room / each),
                   t->low_memory || !t->o->memory ? "" : "; or use --memory low");
    if (t->rank > 0 || t->o->wanted)
        return 0;
    if (t->o->memory)
        err_note("emulated: %d ranks in one process, %s each, %s in all%s", n, each_text, all_text,
                 where);
    else
        err_note("blocks: %d of %d in this process, %s each, %s in all%s", n, t->n_ranks, each_text,
                 all_text, where);
    return 0;
}

static int check_low(const struct train *t)
{
    if (t->low_memory && t->job.algo->needs && (t->o->first_epochs_fp32 || t->o->first_steps_fp32))
        return ERR(-EINVAL,
                   "\"%s\" does not add the first steps' fp32 in rank order, as --memory low "
                   "needs: use direct or gather",
                   t->job.algo->name);
    return 0;
}

int train_emulate_fits(struct train *t, const struct reducer_layer *layers)
{
    struct rank_bytes each;
    size_t free_bytes, all_bytes;
    TRY(check_low(t));
    TRY(measure(t, layers, &each));
    TRY(fits_in(t, each.host, each.common, memory_available(), ""));
    if (!each.gpu)
        return 0;
    gpu()->run->memory(&free_bytes, &all_bytes);
    return fits_in(t, each.gpu, 0, free_bytes, " of the GPU");
}

static void borrow(struct train *t)
{
    const struct train *from = t->owner;
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

static int open_spare(struct train *t)
{
    t->spare_stats = t->nn->alloc(nn_model_ctx(t->model), t->n_stats * train_weight_bytes(t));
    return t->spare_stats ? 0 : -ENOMEM;
}

int train_emulate_join(struct train *t)
{
    if (!t->owner)
        return t->low_memory ? open_spare(t) : 0;
    borrow(t);
    void *ctx = nn_model_ctx(t->model);
    t->grads =
        t->low_memory ? t->owner->grads : t->nn->alloc(ctx, t->n_weights * train_weight_bytes(t));
    t->stats = t->nn->alloc(ctx, t->n_stats * train_weight_bytes(t));
    if (!t->grads || !t->stats)
        return -ENOMEM;
    /* the weights' part of host must stay zero for count_fp32() */
    real *start = t->host + t->n_weights;
    TRY(nn_model_get(t->model, start, t->owner->stats, t->n_stats));
    return nn_model_put(t->model, t->stats, start, t->n_stats);
}

void train_emulate_leave(struct train *t)
{
    void *ctx = t->model ? nn_model_ctx(t->model) : NULL;
    if (ctx && t->owner && !t->low_memory)
        t->nn->free(ctx, t->grads);
    if (ctx && t->owner)
        t->nn->free(ctx, t->stats);
    if (ctx && t->spare_stats)
        t->nn->free(ctx, t->spare_stats);
}

void train_emulate_turn(struct train *t)
{
    const struct train *owner = t->owner ? t->owner : t;
    if (train_is_emulated(t))
        nn_model_use(t->model, t->grads, t->again ? owner->spare_stats : t->stats);
}

int train_emulate_update(struct train *t, double lr, bool skipped)
{
    TRY(comm_barrier(t->comm)); /* codecs may read weights for means */
    if (!t->owner && !skipped) {
        train_narrow_means(t, 0, t->n_params);
        receipts_means(t, 0, t->n_params);
        optim_step(t->optim, t->weights, train_means(t), lr);
    }
    return 0;
}

void train_emulate_time(struct train *t, struct report_step *step)
{
    struct reducer_step *reduced = &step->reduced;
    if (t->owner || !train_is_emulated(t))
        return;
    const double rest_s = step->seconds - t->computed_s - t->cast_s - step->input_s;
    reduced->codec_s = t->cast_s;
    reduced->comm_s = rest_s > 0 ? rest_s : 0;
    t->computed_s = t->cast_s = 0;
}
