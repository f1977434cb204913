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
 * The two halves, agree_exponents() and reduce_bucket(), share nothing else: a bucket may be reduced by other means (a
 * card) or from another thread as soon as the exponents stand. */
#include "comm/reducer.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "comm/bucket.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* One way to cut the layers: as configured, or all fp32. */
struct plan {
    struct bucket *buckets; /* [n_buckets], room for n_layers */
    int n_buckets;
    size_t *places;      /* [n_layers] byte of `codes` at which a layer's codes begin */
    uint64_t code_bytes; /* of all buckets */
};

enum { NO_GUESS = INT_MIN };

enum { NARROW, FP32 }; /* what a bucket travels in; bucket.fp32 says which */

struct reducer {
    struct comm *comm;
    struct codec codecs[2];
    struct fold folds[2];
    const struct algo *algo;
    int group;
    struct reducer_layer *layers; /* [n_layers] */
    int n_layers;
    uint64_t fp32_bytes;
    struct plan plans[2]; /* layers as configured, all layers in fp32 */
    bool force_fp32;      /* which of them is in use */
    int8_t *exponents;    /* [n_layers] of this step */
    int *guesses;         /* [n_layers] shift of the last step's codes, or NO_GUESS; not for forced fp32 */
    uint8_t *codes;       /* of all buckets as configured, or of the largest one in forced fp32 */
    uint8_t *result;      /* of the largest bucket; buckets take turns */
    void *scratch;
};

/* ---- opening: everything a step needs is allocated here ---- */

static int copy_layers(struct reducer *r, const struct reducer_layer *layers)
{
    const size_t n = (size_t)r->n_layers;
    r->layers = buf_alloc(n * sizeof *r->layers);
    r->exponents = buf_alloc(n);
    r->guesses = buf_alloc(n * sizeof *r->guesses);
    if (!r->layers || !r->exponents || !r->guesses)
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
    if (!p->buckets || !p->places)
        return -ENOMEM;
    p->n_buckets = bucket_cut(r->layers, r->n_layers, r->folds, all_fp32, bucket_bytes, p->buckets);
    for (int i = 0; i < p->n_buckets; i++) {
        const struct bucket *b = &p->buckets[i];
        const struct fold *f = &r->folds[b->fp32];
        size_t at = all_fp32 ? 0 : (size_t)p->code_bytes;
        for (int l = b->last; l > b->last - b->n_layers; l--) {
            p->places[l] = at;
            at += f->ops->in_bytes(f, bucket_padded(f, r->layers[l].n));
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
    }
    free(r->layers);
    free(r->exponents);
    free(r->guesses);
    free(r->codes);
    free(r->result);
    free(r->scratch);
    free(r);
}

void reducer_force_fp32(struct reducer *r, bool on)
{
    r->force_fp32 = on;
}

/* ---- a step ---- */

/* The largest magnitude of layer i, and with a guess its codes. */
static uint32_t scan_layer(struct reducer *r, const struct codec *codec, int i, uint64_t step, const float *grad)
{
    const size_t n = r->layers[i].n;
    if (r->force_fp32 || r->guesses[i] == NO_GUESS)
        return codec->ops->absmax(grad, n);
    return codec_scan_encode(codec, step, (uint32_t)i, (uint32_t)comm_rank(r->comm), grad, n, r->guesses[i],
                             r->codes + r->plans[NARROW].places[i]);
}

/* Every layer's largest magnitude, as the exponent all ranks agree on. finite: false when some rank has inf or nan. */
static int agree_exponents(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report,
                           bool *finite)
{
    const double start = clock_s();
    for (int i = 0; i < r->n_layers; i++) {
        const struct codec *codec = &r->codecs[r->force_fp32 || r->layers[i].fp32];
        r->exponents[i] = codec_exponent(codec, scan_layer(r, codec, i, step, grads[i]));
    }
    const double middle = clock_s();
    TRY(comm_max_i8(r->comm, r->exponents, (size_t)r->n_layers));
    *finite = memchr(r->exponents, CODEC_NOT_FINITE, (size_t)r->n_layers) == NULL;
    report->codec_s += middle - start;
    report->comm_s += clock_s() - middle;
    return 0;
}

/* Encodes what was not guessed; zero codes behind each layer. */
static void encode_bucket(struct reducer *r, const struct bucket *b, uint64_t step, float *const *grads,
                          struct reducer_step *report)
{
    const struct codec *codec = &r->codecs[b->fp32];
    const struct fold *f = &r->folds[b->fp32];
    for (int i = b->last; i > b->last - b->n_layers; i--) {
        const size_t n = r->layers[i].n, used = f->ops->in_bytes(f, n),
                     taken = f->ops->in_bytes(f, bucket_padded(f, n));
        uint8_t *at = r->codes + r->plans[r->force_fp32].places[i];
        const int shift = codec_shift(codec, r->exponents[i]);
        const bool guessed = !r->force_fp32 && shift == r->guesses[i];
        if (!guessed)
            codec_encode(codec, step, (uint32_t)i, (uint32_t)comm_rank(r->comm), grads[i], n, shift, at);
        if (!r->force_fp32)
            r->guesses[i] = shift;
        report->n_guessed += guessed;
        memset(at + used, 0, taken - used);
    }
}

static void decode_bucket(const struct reducer *r, const struct bucket *b, float *const *grads)
{
    const struct codec *codec = &r->codecs[b->fp32];
    const struct fold *f = &r->folds[b->fp32];
    const uint8_t *at = r->result;
    for (int i = b->last; i > b->last - b->n_layers; i--) {
        codec_decode(codec, at, r->layers[i].n, codec_shift(codec, r->exponents[i]), grads[i]);
        at += f->ops->out_bytes(f, bucket_padded(f, r->layers[i].n));
    }
}

static int reduce_bucket(struct reducer *r, const struct bucket *b, uint64_t step, float *const *grads,
                         struct reducer_step *report)
{
    const double start = clock_s();
    encode_bucket(r, b, step, grads, report);
    const double encoded = clock_s();
    const struct algo_call call = {.codec = &r->codecs[b->fp32],
                                   .fold = r->folds[b->fp32],
                                   .n = b->n,
                                   .codes = r->codes + r->plans[r->force_fp32].places[b->last],
                                   .result = r->result,
                                   .scratch = r->scratch,
                                   .group = r->group};
    TRY(r->algo->run(r->comm, &call));
    const double reduced = clock_s();
    decode_bucket(r, b, grads);
    report->comm_s += reduced - encoded;
    report->codec_s += encoded - start + clock_s() - reduced;
    return 0;
}

int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report)
{
    const struct plan *plan = &r->plans[r->force_fp32];
    const uint64_t sent_before = comm_counted(r->comm).sent_bytes;
    struct reducer_step s = {.code_bytes = plan->code_bytes, .fp32_bytes = r->fp32_bytes};
    bool finite;
    TRY(agree_exponents(r, step, grads, &s, &finite));
    s.skipped = !finite;
    for (int i = 0; i < plan->n_buckets && finite; i++)
        TRY(reduce_bucket(r, &plan->buckets[i], step, grads, &s));
    s.sent_bytes = comm_counted(r->comm).sent_bytes - sent_before;
    *report = s;
    return 0;
}
