/* grad_stats.c : measures a step's gradients for --stats.
 *
 *     before   exponents of layers, maximum over ranks -> shifts -> counts, sum over ranks
 *              gradients -> fp64 sum on rank 0
 *     after    rank 0: means against fp64 means, updates against weights; writes the lines
 *
 * Works on pieces of vectors, to save memory with many ranks in one process. */
#include "app/train/grad_stats.h"
#include "app/train/grad_stats_inside.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/codec.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096 }; /* elements; a multiple of 8 */

static int open_lead(struct train *t, struct grad_stats *s)
{
    s->exact = buf_alloc(t->n_weights * sizeof *s->exact);
    s->own = buf_alloc((size_t)t->n_params * sizeof *s->own);
    s->all = buf_alloc((size_t)t->n_params * sizeof *s->all);
    if (!s->exact || !s->own || !s->all)
        return -ENOMEM;
    TRY(round_off_open(&s->layer.error));
    TRY(round_off_open(&s->network.error));
    TRY(grad_outputs_open(t, s));
    TRY(train_log_open(t, "stats", t->o->stats, &s->file));
    record_run(t, "stats", &s->file);
    return jsonl_end(&s->file);
}

int grad_stats_open(struct train *t)
{
    if (!t->o->stats)
        return 0;
    struct grad_stats *s = t->grad_stats = buf_alloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    s->piece = buf_alloc(PIECE * sizeof *s->piece);
    s->wide = buf_alloc(PIECE * sizeof *s->wide);
    s->exponents = buf_alloc((size_t)t->n_params);
    if (!s->piece || !s->wide || !s->exponents)
        return -ENOMEM;
    return t->rank == 0 ? open_lead(t, s) : 0;
}

void grad_stats_close(struct train *t)
{
    struct grad_stats *s = t->grad_stats;
    if (!s)
        return;
    (void)jsonl_close(&s->file);
    round_off_close(&s->layer.error);
    round_off_close(&s->network.error);
    free(s->exact), free(s->own), free(s->all), free(s->outputs);
    free(s->piece), free(s->wide), free(s->exponents);
    free(s);
    t->grad_stats = NULL;
}

bool grad_stats_due(const struct train *t)
{
    return t->o->stats && t->state.step % t->o->stats_every == 0;
}

/* Copies a piece of layer i from element `at` on; *k: its elements. */
static int fetch(struct train *t, const real *from, int i, size_t at, float *to, size_t *k)
{
    const size_t left = t->params[i].n - at;
    *k = left < PIECE ? left : PIECE;
    return nn_model_get(t->model, to, nn_model_at(t->model, from, t->params[i].offset + at), *k);
}

static int fetch_means(struct train *t, int i, size_t at, float *to, size_t *k)
{
    const size_t left = t->params[i].n - at;
    if (!t->means)
        return fetch(t, t->grads, i, at, to, k);
    *k = left < PIECE ? left : PIECE;
    t->nn->download(nn_model_ctx(t->model), to, t->means + t->params[i].offset + at,
                    *k * sizeof *to);
    return t->nn->wait(nn_model_ctx(t->model));
}

/* Ignores backend errors, which the training loop reports, to keep the ranks in step. */
static int find_exponents(struct train *t, struct grad_stats *s)
{
    for (int i = 0; i < t->n_params; i++) {
        uint32_t most = 0;
        for (size_t at = 0, k; at < t->params[i].n; at += k) {
            (void)fetch(t, t->grads, i, at, s->piece, &k);
            const uint32_t absmax = vec_best()->absmax(s->piece, k);
            most = absmax > most ? absmax : most;
        }
        s->exponents[i] = codec_exponent(reducer_codec(t->job.reducer, i), most);
    }
    return comm_max_i8(t->comm, s->exponents, (size_t)t->n_params);
}

/* Counts what the cast of a piece loses. Ranks agree on the exponents of its groups, if any. */
static int count_cast(struct train *t, struct grad_stats *s, int i, size_t k, size_t at)
{
    const struct codec *codec = reducer_codec(t->job.reducer, i);
    int8_t exponents[PIECE / VEC_GROUP_MIN] = {s->exponents[i]};
    struct codec_lost lost = {.underflow = 0};
    struct vec_scale scale;
    struct vec_cast cast;
    if (!codec_cast(codec, &cast))
        return 0;
    if (codec_groups(codec, &scale)) {
        struct vec_span span = {
            .x = s->piece, .n = k, .group = scale.group, .exponents = exponents};
        vec_best()->exponents_all(vec_best(), &scale, &span, 1);
        TRY(comm_max_i8(t->comm, exponents, codec_n_exponents(codec, k)));
    }
    cast.key = codec_key(codec, t->state.step, (uint32_t)i, (uint32_t)t->rank);
    codec_lost_by(&lost, codec, &cast, exponents, s->piece, k, at);
    s->counts.underflow += (double)lost.underflow;
    s->counts.saturate += (double)lost.saturated;
    return 0;
}

static int count_layer(struct train *t, struct grad_stats *s, int i)
{
    struct grad_counts *c = &s->counts;
    *c = (struct grad_counts){0};
    for (size_t at = 0, k; at < t->params[i].n; at += k) {
        (void)fetch(t, t->grads, i, at, s->piece, &k);
        grad_counts_add(c, s->piece, k);
        TRY(count_cast(t, s, i, k, at));
        for (size_t j = 0; j < k; j++)
            s->wide[j] = (double)s->piece[j];
        TRY(comm_sum_f64(t->comm, s->wide, k));
        if (t->rank == 0)
            memcpy(s->exact + t->params[i].offset + at, s->wide, k * sizeof *s->wide);
    }
    if (t->rank == 0)
        s->own[i] = *c;
    TRY(comm_sum_f64(t->comm, &c->zero, GRAD_COUNTS));
    if (t->rank == 0)
        s->all[i] = *c;
    return 0;
}

int grad_stats_before(struct train *t)
{
    if (!grad_stats_due(t))
        return 0;
    const double start_s = clock_s();
    if (t->rank == 0) {                                   /* ranks take turns with the network */
        (void)grad_outputs_look(t, t->grad_stats, PIECE); /* see find_exponents() */
        t->grad_stats->back_rc = back_stats_write(t, &t->grad_stats->file);
    }
    TRY(find_exponents(t, t->grad_stats));
    for (int i = 0; i < t->n_params; i++)
        TRY(count_layer(t, t->grad_stats, i));
    trace_add(t->trace, TRACE_MAIN, "statistics", (int64_t)t->state.step, start_s);
    return 0;
}

static void judge(const struct train *t, struct grad_stats *s, const double *sum, size_t k)
{
    for (size_t j = 0; j < k; j++)
        s->wide[j] = sum[j] / t->n_ranks;
    round_off_add(&s->layer.error, s->wide, s->piece, k);
    round_off_add(&s->network.error, s->wide, s->piece, k);
}

static double half_ulp(const struct train *t, float w)
{
    if (train_is_pure(t->o))
        return fabsf(w) < 0x1p-14f ? 0x1p-25 : ldexp(1, ilogbf(w) - 11);
    return w == 0 || fabsf(w) < 0x1p-126f ? 0x1p-150 : ldexp(1, ilogbf(w) - 24);
}

static int count_updates(struct train *t, struct grad_stats *s, int i, double lr)
{
    const real *update = optim_update(t->optim);
    const double rate = lr * (t->params[i].bias ? t->o->optim.bias_rate : 1);
    s->layer.updates = s->layer.lost = 0;
    for (size_t at = 0, k; at < t->params[i].n && update; at += k) {
        TRY(fetch(t, update, i, at, s->piece, &k));
        for (size_t j = 0; j < k; j++)
            s->wide[j] = rate * fabs((double)s->piece[j]);
        TRY(fetch(t, t->weights, i, at, s->piece, &k));
        for (size_t j = 0; j < k; j++) {
            s->layer.updates += s->wide[j] > 0;
            s->layer.lost += s->wide[j] > 0 && s->wide[j] < half_ulp(t, s->piece[j]);
        }
    }
    s->network.updates += s->layer.updates;
    s->network.lost += s->layer.lost;
    return 0;
}

static int judge_layer(struct train *t, struct grad_stats *s, int i, double lr, bool skipped)
{
    round_off_clear(&s->layer.error);
    s->layer.updates = s->layer.lost = 0;
    for (size_t at = 0, k; at < t->params[i].n && !skipped; at += k) {
        TRY(fetch_means(t, i, at, s->piece, &k));
        judge(t, s, s->exact + t->params[i].offset + at, k);
    }
    if (!skipped)
        TRY(count_updates(t, s, i, lr));
    return grad_stats_write_layer(t, s, i, skipped);
}

int grad_stats_after(struct train *t, double lr, const struct reducer_step *reduced, int *file_rc)
{
    struct grad_stats *s = t->grad_stats;
    *file_rc = 0;
    if (t->rank > 0 || !grad_stats_due(t))
        return 0;
    round_off_clear(&s->network.error);
    s->network.updates = s->network.lost = 0;
    *file_rc = s->back_rc;
    for (int i = 0; i < t->n_params && *file_rc == 0; i++)
        *file_rc = judge_layer(t, s, i, lr, reduced->skipped);
    if (*file_rc == 0)
        *file_rc = grad_stats_write_network(t, s, lr, reduced->skipped);
    if (*file_rc == 0)
        *file_rc = grad_outputs_write(t, s);
    return 0;
}

static_assert(sizeof(struct grad_counts) == GRAD_COUNTS * sizeof(double), "counts are doubles");

void grad_counts_add(struct grad_counts *c, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const uint32_t field = bits >> 23 & 255;
        if (bits << 1 == 0)
            c->zero++;
        else if (field == 255)
            c->not_finite++;
        else if (field > 0)
            c->bins[(int)field - 127 - GRAD_EXPONENT_MIN]++;
        else
            c->bins[ilogbf(x[i]) - GRAD_EXPONENT_MIN]++;
    }
}
