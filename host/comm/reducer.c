/* reducer.c : the lazy all-reduce of a step: exponents first, in one message, then bucket by bucket.
 *
 *     gradients --absmax--> exponents --max over ranks--> shifts
 *     gradients --encode, each layer with its shift--> codes --algo--> result --decode--> means, in place
 *
 * Reading the gradients is what both lines cost, so the first one encodes as well, with the shift of the last step
 * (without aps it is always known). Only layers whose shift turns out to be another are encoded again: the bits are
 * those of two passes. So the codes of all buckets stand at once; where all layers travel in fp32 that would be too
 * much memory, and buckets take turns in one place.
 *
 * A bucket's codes are made and its means decoded while it travels (reducer_bucket.c). Where there is another way than MPI
 * (a card), narrow buckets take that (reducer_way.c). */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "comm/reducer_inside.h"
#include <stdlib.h>
#include <string.h>

/* ---- opening: everything a step needs is allocated here ---- */

static int copy_layers(struct reducer *r, const struct reducer_layer *layers)
{
    const size_t n = (size_t)r->n_layers;
    r->layers = buf_alloc(n * sizeof *r->layers);
    r->exponents = buf_alloc(n);
    r->own_exponents = buf_alloc(n);
    r->guesses = buf_alloc(n * sizeof *r->guesses);
    r->failed_words = (n + 2 + 63) / 64;
    r->failed = buf_alloc(r->failed_words * sizeof *r->failed);
    if (!r->layers || !r->exponents || !r->own_exponents || !r->guesses || !r->failed)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (layers[i].n == 0)
            return ERR(-EINVAL, "cannot reduce layer \"%s\": it has no elements",
                       layers[i].name ? layers[i].name : "?");
        r->layers[i] = layers[i];
        r->fp32_bytes += 4 * (uint64_t)layers[i].n;
        const struct codec *codec = &r->codecs[layers[i].fp32];
        const bool scaled = codec->scale == CODEC_APS || codec->scale == CODEC_APS_TIGHT;
        r->guesses[i] = scaled ? NO_GUESS : codec_shift(codec, 0);
    }
    return 0;
}

static int make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes)
{
    struct plan *p = &r->plans[all_fp32];
    p->buckets = buf_alloc((size_t)r->n_layers * sizeof *p->buckets);
    p->places = buf_alloc((size_t)r->n_layers * sizeof *p->places);
    p->starts = buf_alloc((size_t)r->n_layers * sizeof *p->starts);
    if (!p->buckets || !p->places || !p->starts)
        return -ENOMEM;
    p->n_buckets = bucket_cut(r->layers, r->n_layers, r->folds, all_fp32, bucket_bytes, p->buckets);
    for (int i = 0; i < p->n_buckets; i++) {
        const struct bucket *b = &p->buckets[i];
        const struct fold *f = &r->folds[b->fp32];
        const size_t place = all_fp32 ? 0 : (size_t)p->code_bytes;
        size_t at = 0;
        for (int l = b->last; l > b->last - b->n_layers; l--) {
            p->starts[l] = at;
            p->places[l] = place + f->ops->in_bytes(f, at);
            at += bucket_padded(f, r->layers[l].n);
        }
        p->code_bytes += f->ops->in_bytes(f, b->n);
    }
    return 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Buffers for both plans. */
static int make_buffers(struct reducer *r)
{
    size_t codes = (size_t)r->plans[NARROW].code_bytes, result = 0, scratch = 0;
    for (int p = 0; p < 2; p++) {
        for (int i = 0; i < r->plans[p].n_buckets; i++) {
            const struct bucket *b = &r->plans[p].buckets[i];
            const struct fold *f = &r->folds[b->fp32];
            codes = larger(codes, f->ops->in_bytes(f, b->n));
            result = larger(result, f->ops->out_bytes(f, b->n));
            scratch = larger(scratch, r->algo->scratch_bytes(f, b->n, comm_n_ranks(r->comm), r->group));
        }
    }
    r->codes = buf_alloc(codes);
    r->result = buf_alloc(result);
    r->scratch = buf_alloc(scratch);
    return r->codes && r->result && r->scratch ? 0 : -ENOMEM;
}

static int make(struct reducer *r, size_t bucket_bytes, const struct reducer_layer *layers)
{
    const int n_ranks = comm_n_ranks(r->comm);
    if (r->n_layers < 1 || bucket_bytes == 0)
        return ERR(-EINVAL, "cannot reduce %d layers in buckets of %zu bytes: need at least 1 of both", r->n_layers,
                   bucket_bytes);
    if (r->codecs[NARROW].n_ranks != n_ranks)
        return ERR(-EINVAL, "cannot reduce over %d ranks: the codec was settled for %d", n_ranks,
                   r->codecs[NARROW].n_ranks);
    for (int i = 0; i < 2 && r->algo->check; i++)
        TRY(r->algo->check(&r->codecs[i], n_ranks, r->group));
    TRY(copy_layers(r, layers));
    TRY(make_plan(r, false, bucket_bytes));
    TRY(make_plan(r, true, bucket_bytes));
    return make_buffers(r);
}

int reducer_open(struct comm *c, const struct codec *codec, const struct algo *algo, int group, size_t bucket_bytes,
                 const struct reducer_layer *layers, int n_layers, struct reducer **out)
{
    struct reducer *r = buf_alloc(sizeof *r);
    if (!r)
        return -ENOMEM;
    r->comm = c;
    r->codecs[NARROW] = *codec;
    r->codecs[FP32] = codec_fp32(codec, algo_rules(algo, (struct mf_fmt){.e = 8, .m = 23}));
    r->folds[NARROW] = codec_fold(&r->codecs[NARROW]);
    r->folds[FP32] = codec_fold(&r->codecs[FP32]);
    r->algo = algo;
    r->group = group;
    r->n_layers = n_layers;
    int rc = make(r, bucket_bytes, layers);
    if (rc < 0) {
        reducer_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void reducer_close(struct reducer *r)
{
    if (!r)
        return;
    for (int i = 0; i < 2; i++) {
        free(r->plans[i].buckets);
        free(r->plans[i].places);
        free(r->plans[i].starts);
    }
    free(r->layers);
    free(r->exponents);
    free(r->own_exponents);
    free(r->guesses);
    free(r->failed);
    free(r->codes);
    free(r->result);
    free(r->scratch);
    free(r);
}

void reducer_force_fp32(struct reducer *r, bool on)
{
    r->force_fp32 = on;
}

void reducer_set_way(struct reducer *r, const struct way_ops *ops, void *arg)
{
    r->way = ops;
    r->way_arg = arg;
}

/* ---- a step ---- */

static int step_mpi(const struct reducing *s, bool *finite)
{
    struct reducer *r = s->r;
    const double start = clock_s();
    TRY(reducer_max_mpi(r));
    s->report->comm_s += clock_s() - start;
    *finite = reducer_all_finite(r);
    for (int i = 0; i < r->plans[r->force_fp32].n_buckets && *finite; i++)
        TRY(reducer_bucket_mpi(s, i));
    return 0;
}

/* Is there a way for this step's narrow buckets? 1, 0, or a negative errno. */
static int way_is_open(const struct reducer *r)
{
    bool narrow = false;
    for (int i = 0; i < r->n_layers; i++)
        narrow = narrow || !r->layers[i].fp32;
    return r->way && narrow && !r->force_fp32 ? r->way->begin(r->way_arg) : 0;
}

static uint64_t sent(const struct reducer *r)
{
    return comm_counted(r->comm).sent_bytes + (r->way ? r->way->counted(r->way_arg).sent_bytes : 0);
}

int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report)
{
    const uint64_t sent_before = sent(r);
    struct reducer_step done = {.code_bytes = r->plans[r->force_fp32].code_bytes, .fp32_bytes = r->fp32_bytes};
    const struct reducing s = {r, step, grads, &done};
    bool finite = false;
    const double start = clock_s();
    int open = way_is_open(r);
    TRY(open);
    done.comm_s = clock_s() - start;
    reducer_scan(&s);
    TRY(open ? reducer_step_way(&s, &finite) : step_mpi(&s, &finite));
    done.skipped = !finite;
    done.by_way = open && !done.n_redone;
    done.sent_bytes = sent(r) - sent_before;
    *report = done;
    return 0;
}
