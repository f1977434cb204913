/* train_shard.c : keeps only a range of the optimiser's states on each rank (ZeRO, stage 1;
 * Rajbhandari et al. 2020).
 *
 *     all gradients =reduce-scatter=> means of the range --optimiser--> weights of the range
 *     weights of the range =all-gather=> all weights */
#include "app/train/train_shard.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

struct train_shard {
    size_t n;                /* elements of this rank's range of all layers, end to end */
    struct nn_param *params; /* [n_params] layers in the range, cut to it; offset: in the range */
    int n_params;
    /* [n], in backend memory; weights: in fp32, whatever --gather sends */
    real *means, *weights;
    real **all;  /* [train.n_params] the layers' weights */
    float *host; /* [elements of the longest range] */
};

static size_t count(const struct train *t)
{
    size_t n = 0;
    for (int i = 0; i < t->n_params; i++)
        n += t->params[i].n;
    return n;
}

/* The part of a layer inside a range: element `at` of the model's arrays is element `in` of the
 * range's. */
struct part {
    int layer;
    size_t at, in, n;
};
typedef void part_fn(void *arg, const struct part *part);

/* Calls each(), unless NULL, for the parts of a rank's range. Returns their number. */
static int parts_of(const struct train *t, int rank, part_fn *each, void *arg)
{
    const size_t all = count(t);
    size_t from = 0, layer_at = 0;
    int n_parts = 0;
    for (int r = 0; r < rank; r++)
        from += shard_equal(all, t->n_ranks, r);
    const size_t end = from + shard_equal(all, t->n_ranks, rank);
    for (int i = 0; i < t->n_params; layer_at += t->params[i++].n) {
        const size_t layer_end = layer_at + t->params[i].n;
        const size_t first = from > layer_at ? from : layer_at,
                     last = end < layer_end ? end : layer_end;
        if (first >= last)
            continue;
        n_parts++;
        if (each)
            each(arg, &(struct part){.layer = i,
                                     .at = t->params[i].offset + (first - layer_at),
                                     .in = first - from,
                                     .n = last - first});
    }
    return n_parts;
}

static void add_param(void *arg, const struct part *part)
{
    struct train *t = arg;
    struct nn_param *to = &t->shard->params[t->shard->n_params++];
    *to = t->params[part->layer];
    to->offset = part->in;
    to->n = part->n;
}

struct copy {
    float *model, *range;
    bool out; /* from the range */
};
static void copy_part(void *arg, const struct part *part)
{
    const struct copy *c = arg;
    if (c->out)
        memcpy(c->model + part->at, c->range + part->in, part->n * sizeof(float));
    else
        memcpy(c->range + part->in, c->model + part->at, part->n * sizeof(float));
}

/* model: [n_weights], in host memory */
static int put_range(struct train *t, real *to, const float *model)
{
    struct train_shard *s = t->shard;
    (void)parts_of(t, t->rank, copy_part,
                   &(struct copy){(float *)(uintptr_t)model, s->host, false});
    return nn_model_put(t->model, to, s->host, s->n);
}

/* A failure comes back from later calls too. */
static void get_part(void *arg, const struct part *part)
{
    struct train *t = arg;
    (void)nn_model_get(t->model, t->shard->host + part->in,
                       nn_model_at(t->model, t->weights, part->at), part->n);
}

static int put_weights(struct train *t)
{
    struct train_shard *s = t->shard;
    (void)parts_of(t, t->rank, get_part, t);
    return nn_model_put(t->model, s->weights, s->host, s->n);
}

int train_shard_open(struct train *t)
{
    struct optim_options o = t->o->optim;
    o.real_grads = train_has_means(t);
    if (!train_is_sharded(t->o))
        return optim_open(t->nn, nn_model_ctx(t->model), &o, t->params, t->n_params, t->n_weights,
                          &t->optim);
    struct train_shard *s = t->shard = buf_alloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    if (train_releases(t->o))
        memory_release(t->grads, t->n_weights * sizeof *t->grads);
    s->n = shard_equal(count(t), t->n_ranks, t->rank);
    s->params = buf_alloc((size_t)parts_of(t, t->rank, NULL, NULL) * sizeof *s->params);
    s->means = t->nn->alloc(nn_model_ctx(t->model), (s->n + 1) * sizeof *s->means);
    s->weights = t->nn->alloc(nn_model_ctx(t->model), (s->n + 1) * sizeof *s->weights);
    s->all = buf_alloc((size_t)t->n_params * sizeof *s->all);
    s->host = buf_alloc(shard_equal(count(t), t->n_ranks, 0) * sizeof *s->host);
    if (!s->params || !s->means || !s->weights || !s->all || !s->host)
        return -ENOMEM;
    (void)parts_of(t, t->rank, add_param, t);
    for (int i = 0; i < t->n_params; i++)
        s->all[i] = nn_model_at(t->model, t->weights, t->params[i].offset);
    TRY(put_weights(t));
    return optim_open(t->nn, nn_model_ctx(t->model), &o, s->params, s->n_params, s->n, &t->optim);
}

void train_shard_close(struct train *t)
{
    struct train_shard *s = t->shard;
    if (!s)
        return;
    free(s->params);
    t->nn->free(nn_model_ctx(t->model), s->means);
    t->nn->free(nn_model_ctx(t->model), s->weights);
    free(s->all);
    free(s->host);
    free(s);
}

void train_shard_begin(struct train *t)
{
    if (t->shard)
        reducer_set_shard(t->job.reducer, t->shard->n ? t->shard->means : NULL);
}

int train_shard_gather(struct train *t, struct reducer_step *step)
{
    struct train_shard *s = t->shard;
    struct reducer_step gathered;
    reducer_set_shard(t->job.reducer, s->n ? s->weights : NULL);
    TRY(reducer_gather_here(t->job.reducer, s->all, &gathered));
    train_shard_begin(t);
    step->sent_bytes += gathered.sent_bytes;
    step->code_bytes += gathered.code_bytes;
    step->fp32_bytes += gathered.fp32_bytes;
    step->comm_s += gathered.comm_s;
    step->codec_s += gathered.codec_s;
    step->exposed_s += gathered.comm_s + gathered.codec_s;
    step->waited_s += gathered.waited_s;
    return 0;
}

int train_shard_update(struct train *t, double lr, struct reducer_step *step)
{
    if (step->skipped)
        return 0;
    const double start_s = clock_s();
    optim_step(t->optim, t->shard->weights, t->shard->means, lr);
    TRY(t->nn->wait(nn_model_ctx(t->model)));
    trace_add(t->trace, TRACE_MAIN, "update", -1, start_s);
    const double gather_s = clock_s();
    TRY(train_shard_gather(t, step));
    trace_add(t->trace, TRACE_MAIN, "gather", -1, gather_s);
    return 0;
}

uint64_t train_shard_fp32_bytes(const struct train *t)
{
    return t->shard ? (uint64_t)t->shard->n * sizeof(float) * (uint64_t)(t->n_ranks - 1) : 0;
}

size_t train_optimizer_bytes(enum optim_kind kind, size_t n, bool sharded, size_t weight_bytes)
{
    return ((size_t)optimisers[kind].n_states + (sharded ? 2 : 0)) * n * weight_bytes;
}

size_t train_shard_memory(const struct train *t)
{
    return train_optimizer_bytes(t->o->optim.kind, t->shard ? t->shard->n : t->n_weights, t->shard,
                                 train_weight_bytes(t));
}

/* ---- checkpoints: arrays of all ranks, as without shards; the last is that of weights ---- */

int train_shard_pieces(const struct train *t)
{
    return optim_n_states(t->optim) + (strcmp(t->o->gather, "fp32") != 0);
}

static real *array_of(struct train *t, int i)
{
    return i < optim_n_states(t->optim) ? optim_state(t->optim, i) : t->shard->weights;
}

int train_shard_get(struct train *t, int i, void *to)
{
    const size_t all = count(t);
    float *host = t->shard->host;
    TRY(nn_model_get(t->model, host, array_of(t, i), t->shard->n));
    if (t->rank > 0)
        return comm_pass(t->comm, t->rank, 0, host, t->shard->n * sizeof *host);
    memset(to, 0, t->n_weights * sizeof *host);
    for (int r = 0; r < t->n_ranks; r++) {
        if (r > 0)
            TRY(comm_pass(t->comm, r, 0, host, shard_equal(all, t->n_ranks, r) * sizeof *host));
        (void)parts_of(t, r, copy_part, &(struct copy){to, host, true});
    }
    return 0;
}

int train_shard_put(struct train *t, int i, const void *from)
{
    if (i == 0)
        TRY(put_weights(t));
    return put_range(t, array_of(t, i), from);
}
