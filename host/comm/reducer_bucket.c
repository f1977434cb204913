/* reducer_bucket.c : a bucket of a step: its codes made, reduced over MPI, and decoded to means, range by range.
 *
 * Codes are made when an algorithm needs them and decoded as soon as they stand, so that casting and sending overlap. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/reducer_inside.h"
#include <string.h>

/* The largest magnitude of layer i, and with a guess its codes. */
static uint32_t scan_layer(const struct reducing *s, const struct codec *codec, int i)
{
    struct reducer *r = s->r;
    const size_t n = r->layers[i].n;
    if (r->force_fp32 || r->guesses[i] == NO_GUESS)
        return codec->ops->absmax(s->grads[i], n);
    return codec_scan_encode(codec, s->step, (uint32_t)i, (uint32_t)comm_rank(r->comm), s->grads[i], n, r->guesses[i],
                             r->codes + r->plans[NARROW].places[i]);
}

void reducer_scan(const struct reducing *s)
{
    struct reducer *r = s->r;
    const double start = clock_s();
    for (int i = 0; i < r->n_layers; i++) {
        const struct codec *codec = &r->codecs[r->force_fp32 || r->layers[i].fp32];
        r->own_exponents[i] = codec_exponent(codec, scan_layer(s, codec, i));
    }
    s->report->codec_s += clock_s() - start;
}

int reducer_max_mpi(struct reducer *r)
{
    memcpy(r->exponents, r->own_exponents, (size_t)r->n_layers);
    return comm_max_i8(r->comm, r->exponents, (size_t)r->n_layers);
}

bool reducer_all_finite(const struct reducer *r)
{
    return memchr(r->exponents, CODEC_NOT_FINITE, (size_t)r->n_layers) == NULL;
}

/* The part of layer i of bucket b that lies in elements at..at+n of the bucket: from..to of the layer's own, padding
 * included. False: none of it. */
static bool overlap(const struct reducer *r, const struct bucket *b, int i, size_t at, size_t n, size_t *from,
                    size_t *to)
{
    const size_t start = r->plans[r->force_fp32].starts[i];
    const size_t end = start + bucket_padded(&r->folds[b->fp32], r->layers[i].n);
    if (end <= at || start >= at + n)
        return false;
    *from = at > start ? at - start : 0;
    *to = (at + n < end ? at + n : end) - start;
    return true;
}

/* Were the codes of layer i made, rightly, before its shift was known? */
static bool guessed(const struct reducer *r, const struct bucket *b, int i)
{
    return !r->force_fp32 && codec_shift(&r->codecs[b->fp32], r->exponents[i]) == r->guesses[i];
}

/* Encodes what was not guessed; zero codes behind each layer. */
static void need(void *arg, size_t at, size_t n)
{
    struct bucket_flow *f = arg;
    const struct reducing *s = f->step;
    struct reducer *r = s->r;
    const struct bucket *b = f->bucket;
    const struct codec *codec = &r->codecs[b->fp32];
    const struct fold *fold = &r->folds[b->fp32];
    const double start = clock_s();
    for (int i = b->last; i > b->last - b->n_layers; i--) {
        size_t from, to;
        if (!overlap(r, b, i, at, n, &from, &to))
            continue;
        const size_t own = r->layers[i].n, end = to < own ? to : own, used = fold->ops->in_bytes(fold, end);
        uint8_t *codes = r->codes + r->plans[r->force_fp32].places[i];
        if (from < end && !guessed(r, b, i))
            codec_encode_part(codec, s->step, (uint32_t)i, (uint32_t)comm_rank(r->comm), s->grads[i], from, end - from,
                              codec_shift(codec, r->exponents[i]), codes);
        memset(codes + used, 0, fold->ops->in_bytes(fold, to) - used);
    }
    f->codec_s += clock_s() - start;
}

static void have(void *arg, size_t at, size_t n)
{
    struct bucket_flow *f = arg;
    struct reducer *r = f->step->r;
    const struct bucket *b = f->bucket;
    const struct codec *codec = &r->codecs[b->fp32];
    const struct fold *fold = &r->folds[b->fp32];
    const double start = clock_s();
    for (int i = b->last; i > b->last - b->n_layers; i--) {
        size_t from, to;
        if (!overlap(r, b, i, at, n, &from, &to) || from >= r->layers[i].n)
            continue;
        const size_t end = to < r->layers[i].n ? to : r->layers[i].n;
        const size_t place = fold->ops->out_bytes(fold, r->plans[r->force_fp32].starts[i] + from);
        codec_decode(codec, r->result + place, end - from, codec_shift(codec, r->exponents[i]),
                     f->step->grads[i] + from);
    }
    f->codec_s += clock_s() - start;
}

struct algo_flow bucket_flow(struct bucket_flow *b)
{
    return (struct algo_flow){need, have, b};
}

void bucket_encoded(const struct bucket_flow *f)
{
    struct reducer *r = f->step->r;
    for (int i = f->bucket->last; i > f->bucket->last - f->bucket->n_layers && !r->force_fp32; i--) {
        f->step->report->n_guessed += !f->step->report->n_redone && guessed(r, f->bucket, i);
        r->guesses[i] = codec_shift(&r->codecs[f->bucket->fp32], r->exponents[i]);
    }
}

int reducer_bucket_mpi(const struct reducing *s, int i)
{
    struct reducer *r = s->r;
    const struct bucket *b = &r->plans[r->force_fp32].buckets[i];
    const double start = clock_s();
    struct bucket_flow casting = {s, b, 0};
    struct algo_flow flow = bucket_flow(&casting);
    const bool whole = !r->algo->flows;
    if (whole)
        need(&casting, 0, b->n);
    const struct algo_call call = {.codec = &r->codecs[b->fp32],
                                   .fold = r->folds[b->fp32],
                                   .n = b->n,
                                   .codes = r->codes + r->plans[r->force_fp32].places[b->last],
                                   .result = r->result,
                                   .scratch = r->scratch,
                                   .group = r->group,
                                   .flow = whole ? NULL : &flow};
    TRY(r->algo->run(r->comm, &call));
    if (whole)
        have(&casting, 0, b->n);
    bucket_encoded(&casting);
    s->report->codec_s += casting.codec_s;
    s->report->comm_s += clock_s() - start - casting.codec_s;
    return 0;
}
