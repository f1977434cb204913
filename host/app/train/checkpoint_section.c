/* checkpoint_section.c : copies sections of a checkpoint from and to a run. */
#include "app/train/checkpoint_section.h"
#include "app/train/train.h"
#include "base/err.h"
#include "vec/vec.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct position {
    uint64_t step, skipped, skipped_in_row;
    double loss_scale;        /* fp16 */
    uint64_t loss_scale_good; /* steps since the scale changed */
};

static size_t position_bytes(const struct train *t)
{
    (void)t;
    return sizeof(struct position);
}

static int position_get(struct train *t, int piece, void *to)
{
    (void)piece;
    const struct nn_loss_scale *scale = nn_model_loss_scale(t->model);
    const struct position p = {t->state.step, t->state.skipped, t->state.skipped_in_row,
                               scale->value, scale->n_good};
    memcpy(to, &p, sizeof p);
    return 0;
}

static int position_put(struct train *t, int piece, const void *from)
{
    (void)piece;
    struct position p;
    memcpy(&p, from, sizeof p);
    if (p.step > t->n_steps)
        return ERR(-EINVAL,
                   "cannot resume '%s': it has done %" PRIu64
                   " steps, this run ends after %" PRIu64,
                   t->o->resume, p.step, t->n_steps);
    if (p.skipped > p.step || p.skipped_in_row > p.skipped || p.loss_scale_good > UINT32_MAX ||
        !(p.loss_scale > 0 && isfinite(p.loss_scale)))
        return ERR(-EINVAL, "cannot resume '%s': its counters contradict each other", t->o->resume);
    t->state.step = p.step;
    t->state.skipped = p.skipped;
    t->state.skipped_in_row = p.skipped_in_row;
    nn_model_loss_scale(t->model)->value = p.loss_scale;
    nn_model_loss_scale(t->model)->n_good = (uint32_t)p.loss_scale_good;
    return 0;
}

static size_t weights_bytes(const struct train *t)
{
    return t->n_weights * sizeof(real);
}

static int weights_get(struct train *t, int piece, void *to)
{
    (void)piece;
    return nn_model_get(t->model, to, t->weights, t->n_weights);
}

/* Updates cannot repair inf and nan. A run's own state may hold them: it goes on as it would have
 * undisturbed. */
static bool may_resume(const struct train *t, const float *x, size_t n)
{
    return t->o->resumes_own || vec_best()->absmax(x, n) < 0x7f800000;
}

/* from: [n_weights], aligned */
static int check_finite(const struct train *t, const void *from, const char *what)
{
    const float *x = from;
    for (int i = 0; i < t->n_params; i++)
        if (!may_resume(t, x + t->params[i].offset, t->params[i].n))
            return ERR(-EINVAL, "cannot resume '%s': the %s of layer \"%s\" hold inf or nan",
                       t->o->resume, what, t->params[i].name);
    return 0;
}

static int weights_put(struct train *t, int piece, const void *from)
{
    (void)piece;
    TRY(check_finite(t, from, "weights"));
    return nn_model_put(t->model, t->weights, from, t->n_weights);
}

static int states_pieces(const struct train *t)
{
    return t->shard ? train_shard_pieces(t) : optim_n_states(t->optim);
}

static size_t states_bytes(const struct train *t)
{
    return states_pieces(t) > 0 ? weights_bytes(t) : 0;
}

static int states_get(struct train *t, int piece, void *to)
{
    if (t->shard)
        return train_shard_get(t, piece, to);
    return to ? nn_model_get(t->model, to, optim_state(t->optim, piece), t->n_weights) : 0;
}

static int states_put(struct train *t, int piece, const void *from)
{
    const int n_states = optim_n_states(t->optim);
    TRY(check_finite(t, from,
                     piece == n_states ? "owners' weights"
                     : n_states > 1    ? "states"
                                       : "velocities"));
    TRY(t->shard ? train_shard_put(t, piece, from)
                 : nn_model_put(t->model, optim_state(t->optim, piece), from, t->n_weights));
    /* the section "progress" was loaded before */
    optim_resume(t->optim, t->state.step - t->state.skipped);
    return 0;
}

static size_t sums_bytes(const struct train *t)
{
    return sizeof t->state.sums;
}

static int sums_get(struct train *t, int piece, void *to)
{
    (void)piece;
    memcpy(to, &t->state.sums, sizeof t->state.sums);
    return 0;
}

static int sums_put(struct train *t, int piece, const void *from)
{
    (void)piece;
    memcpy(&t->state.sums, from, sizeof t->state.sums);
    return 0;
}

static size_t stats_bytes(const struct train *t)
{
    return t->n_stats * sizeof(real);
}

static int stats_get(struct train *t, int piece, void *to)
{
    (void)piece;
    return nn_model_get(t->model, to, t->stats, t->n_stats);
}

static int stats_put(struct train *t, int piece, const void *from)
{
    (void)piece;
    if (t->n_stats && !may_resume(t, from, t->n_stats))
        return ERR(-EINVAL,
                   "cannot resume '%s': the batch-norm statistics of rank %d hold inf or nan",
                   t->o->resume, t->rank);
    return nn_model_put(t->model, t->stats, from, t->n_stats);
}

static size_t scales_bytes(const struct train *t)
{
    return t->n_scales * sizeof *t->scales;
}

static int scales_get(struct train *t, int piece, void *to)
{
    (void)piece;
    memcpy(to, t->scales, scales_bytes(t));
    return 0;
}

static int scales_put(struct train *t, int piece, const void *from)
{
    (void)piece;
    int exponent;
    memcpy(t->scales, from, scales_bytes(t));
    for (size_t i = 0; i < t->n_scales; i++)
        if (!(t->scales[i] > 0 && isfinite(t->scales[i]) &&
              frexpf(t->scales[i], &exponent) == 0.5F))
            return ERR(-EINVAL, "cannot resume '%s': a layer's scale is %.9g, not a power of two",
                       t->o->resume, (double)t->scales[i]);
    return 0;
}

static size_t codec_bytes(const struct train *t)
{
    return reducer_state_bytes(t->job.reducer);
}

static int codec_get(struct train *t, int piece, void *to)
{
    (void)piece;
    return reducer_state_get(t->job.reducer, to);
}

static int codec_put(struct train *t, int piece, const void *from)
{
    (void)piece;
    TRY(reducer_state_check(t->job.reducer, from));
    return reducer_state_put(t->job.reducer, from);
}

const struct checkpoint_section checkpoint_sections[] = {
    {.name = "progress", .bytes = position_bytes, .get = position_get, .put = position_put},
    {.name = "weights",
     .in_common = true,
     .bytes = weights_bytes,
     .get = weights_get,
     .put = weights_put},
    /* holds all optimiser states, not only velocities; older files need this name */
    {.name = "velocities",
     .in_common = true,
     .by_all = true,
     .n_pieces = states_pieces,
     .bytes = states_bytes,
     .get = states_get,
     .put = states_put},
    {.name = "sums", .per_rank = true, .bytes = sums_bytes, .get = sums_get, .put = sums_put},
    {.name = "statistics",
     .per_rank = true,
     .bytes = stats_bytes,
     .get = stats_get,
     .put = stats_put},
    {.name = "scales",
     .per_rank = true,
     .bytes = scales_bytes,
     .get = scales_get,
     .put = scales_put},
    {.name = "codec", .per_rank = true, .bytes = codec_bytes, .get = codec_get, .put = codec_put},
};
const int checkpoint_n_sections = sizeof checkpoint_sections / sizeof *checkpoint_sections;
