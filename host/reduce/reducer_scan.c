/* reducer_scan.c : runs the first half of a step: finds and agrees on exponents, and encodes with
 * guessed shifts. */
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include <string.h>

/* Takes the exponent and the maximum of span `at`. */
static void note_absmax(struct reducer *r, const struct codec *codec, int at)
{
    const struct plan *plan = reducer_plan(r);
    const ptrdiff_t i = r->parts[at].layer - plan->placed;
    int8_t *to = &r->own_exponents[plan->exponent_at[i]];
    *to = codec_exponent(codec, r->spans[at].absmax);
    if (*to != CODEC_NOT_FINITE && codec_asks_max(codec, r->parts[at].layer))
        *to = CODEC_MAX_FOLLOWS;
    memcpy(&r->own_maxima[i], &r->spans[at].absmax, sizeof *r->own_maxima);
}

/* Spans with a guessed shift fill r->spans from the front, others from the end. */
static void scan_kind(struct reducer *r, const struct group *g, int kind)
{
    const struct codec *codec = &r->codecs[kind];
    const struct plan *plan = reducer_plan(r);
    int n_guessed = 0, n_rest = 0;
    struct vec_scale scale;
    const bool groups = codec_groups(codec, &scale);
    for (int k = g->first; k < g->first + g->n_layers; k++) {
        const int i = (int)plan->placed[k].index;
        if ((r->force_fp32 || r->layers[i].fp32) != kind)
            continue;
        const bool guess = !r->low && !r->force_fp32 &&
                           !codec_asks_max(codec, reducer_layer(r, i)) &&
                           r->guesses[i] != CODEC_NO_GUESS;
        const int at = guess ? n_guessed++ : r->n_layers - ++n_rest;
        const struct reduce_op *op = &plan->buckets[plan->bucket_of[i]].op;
        reducer_span(r, i, 0, bucket_padded(op, r->layers[i].n), guess ? r->guesses[i] : 0,
                     r->own_exponents, at);
    }
    const int first_rest = r->n_layers - n_rest;
    if (groups)
        codec_exponents_all(codec, r->spans + first_rest, n_rest);
    if (n_guessed)
        codec_scan_encode_all(codec, r->spans, r->parts, n_guessed);
    if (n_rest && !groups)
        codec_absmax_all(codec, r->spans + first_rest, r->parts + first_rest, n_rest);
    for (int at = 0; at < r->n_layers && !groups; at++)
        if (at < n_guessed || at >= first_rest)
            note_absmax(r, codec, at);
}

int reducer_scan(struct reducer *r, const struct group *g)
{
    TRY(overlap_await(r->overlap, g->bucket));
    TRY(reducer_await_streams(r, g));
    const double start = clock_s();
    scan_kind(r, g, NARROW);
    scan_kind(r, g, FP32);
    r->done.codec_s += clock_s() - start;
    trace_add(r->trace, reducer_row(r), "scan", g->bucket, start);
    return 0;
}

double reducer_max_begin(struct reducer *r, const struct group *g)
{
    overlap_rest(r->overlap);
    memcpy(r->exponents + g->at, r->own_exponents + g->at, g->n_exponents);
    return clock_s();
}

void reducer_max_end(struct reducer *r, const struct group *g, double start)
{
    const double took = clock_s() - start;
    r->max_s += took;
    r->done.comm_s += took;
    r->done.exponents_s += took;
    trace_add(r->trace, reducer_row(r), "exponents", g->bucket, start);
    overlap_work(r->overlap);
}

bool reducer_maxima_follow(const struct reducer *r, const struct group *g)
{
    return !r->force_fp32 && codec_asks_max(&r->codecs[NARROW], NULL) && reducer_all_finite(r, g) &&
           memchr(r->exponents + g->at, CODEC_MAX_FOLLOWS, g->n_exponents);
}

void reducer_take_maxima(struct reducer *r, const struct group *g)
{
    for (int i = g->first; i < g->first + g->n_layers; i++) {
        struct codec_layer *layer = &r->plans[NARROW].placed[i];
        layer->own_max = r->own_maxima[i];
        layer->max = r->maxima[i];
    }
}

static int share_maxima(struct reducer *r, const struct group *g)
{
    const size_t n = (size_t)g->n_layers;
    if (!reducer_maxima_follow(r, g))
        return 0;
    memcpy(r->maxima + g->first, r->own_maxima + g->first, n * sizeof *r->maxima);
    TRY(comm_max_f32(r->comm, r->maxima + g->first, n));
    reducer_take_maxima(r, g);
    return 0;
}

int reducer_max_mpi(struct reducer *r, const struct group *g)
{
    const double start = reducer_max_begin(r, g);
    TRY(comm_max_i8(r->comm, r->exponents + g->at, g->n_exponents));
    TRY(share_maxima(r, g));
    reducer_max_end(r, g, start);
    return 0;
}

bool reducer_all_finite(const struct reducer *r, const struct group *g)
{
    return memchr(r->exponents + g->at, CODEC_NOT_FINITE, g->n_exponents) == NULL;
}
