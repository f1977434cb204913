/* reducer_short.c : a step that fits into one message: this rank's exponents of all layers, and codes made
 * with the shifts of the last step, to all ranks, each of which adds alone (algo.h: together).
 *
 *     | exponents of all layers | codes of all buckets |   ==gathered==>   P of them on every rank
 *
 * Then everybody knows the exponents over all ranks, and which shifts were guessed rightly: only buckets with
 * a layer whose shift is another travel once more, by the algorithm alone. Where guesses have lately been
 * wrong, exponents go first, as ever. The bits are the same: by either way codes are those of the agreed
 * shift, and sums are in rank order. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 20, LINE = 64 }; /* bytes: of a rank's message; what parts begin on */

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Codes of the narrow layers are casts by a shift that the last step's may be a guess of, and their sums
 * leave nothing on a rank. */
size_t reducer_short_bytes(const struct codec *codec, const struct algo *algo, int n_ranks,
                           int n_layers, uint64_t code_bytes)
{
    struct vec_cast cast;
    const uint64_t bytes = lines((size_t)n_layers) + lines(code_bytes);
    const bool may = algo->together && n_ranks > 1 && codec_cast(codec, &cast) &&
                     !codec_rescales(codec) && !codec_asks_max(codec, NULL);
    return may && bytes <= LONGEST ? bytes : 0;
}

void reducer_short_size(struct reducer *r)
{
    if (!r->low && !r->batches)
        r->parcel_bytes = reducer_short_bytes(&r->codecs[NARROW], r->algo, comm_n_ranks(r->comm),
                                              r->n_layers, r->plans[NARROW].code_bytes);
}

int reducer_short_open(struct reducer *r)
{
    const size_t p = (size_t)comm_n_ranks(r->comm);
    if (!r->parcel_bytes)
        return 0;
    r->parcels = buf_alloc((p + 1) * r->parcel_bytes);
    r->parcel_of = buf_alloc(2 * p * sizeof *r->parcel_of);
    return r->parcels && r->parcel_of ? 0 : -ENOMEM;
}

void reducer_short_close(struct reducer *r)
{
    free(r->parcels);
    free(r->parcel_of);
}

/* More than one of the last eight steps went twice, or would have. */
static bool missed_lately(const struct reducer *r)
{
    return (r->misses & (r->misses - 1)) != 0;
}

static bool has_guesses(const struct reducer *r)
{
    for (int i = 0; i < r->n_layers; i++)
        if (r->guesses[i] == CODEC_NO_GUESS)
            return false;
    return true;
}

bool reducer_is_short(const struct reducer *r)
{
    return r->parcels && !r->overlap && !r->force_fp32 && !r->core && !r->node &&
           !missed_lately(r) && has_guesses(r);
}

/* Are the codes that ranks have made of layer i, by the guess, right? Zeroes have one code by any shift. */
static bool is_right(const struct reducer *r, int i)
{
    const int8_t exponent = reducer_exponent(r, i);
    return exponent == CODEC_ALL_ZERO ||
           codec_shift(&r->codecs[r->layers[i].fp32], exponent) == r->guesses[i];
}

static bool is_bucket_right(const struct reducer *r, const struct bucket *b)
{
    for (int k = 0; k < b->n_layers; k++)
        if (!is_right(r, (int)b->call.layers[k].index))
            return false;
    return true;
}

void reducer_short_note(struct reducer *r)
{
    bool missed = false;
    if (r->force_fp32)
        return;
    for (int i = 0; i < r->n_layers; i++)
        missed = missed || (r->guesses[i] != CODEC_NO_GUESS && !is_right(r, i));
    r->misses = (uint8_t)(r->misses << 1 | missed);
}

/* Everybody's message. */
static int exchange(const struct reducing *s, const struct group *g)
{
    struct reducer *r = s->r;
    uint8_t *mine = r->parcels + (size_t)comm_n_ranks(r->comm) * r->parcel_bytes;
    const double start = clock_s();
    memcpy(mine, r->own_exponents, (size_t)r->n_layers);
    memcpy(mine + lines((size_t)r->n_layers), r->codes, (size_t)r->plans[NARROW].code_bytes);
    TRY(comm_all_gather(r->comm, mine, r->parcel_bytes, r->parcels, r->parcel_of));
    memcpy(r->exponents, r->parcel_of[0], (size_t)r->n_layers);
    for (int p = 1; p < comm_n_ranks(r->comm); p++)
        for (int i = 0; i < r->n_layers; i++) {
            const int8_t e = (int8_t)r->parcel_of[p][i];
            r->exponents[i] = e > r->exponents[i] ? e : r->exponents[i];
        }
    s->report->comm_s += clock_s() - start;
    trace_add(r->trace, reducer_row(r), "all-reduce", g->bucket, start);
    return 0;
}

/* The mean of a bucket whose codes all ranks have made with the right shifts. */
static void sum_parcels(const struct reducing *s, const struct bucket *b)
{
    struct reducer *r = s->r;
    const size_t at = lines((size_t)r->n_layers) + r->plans[NARROW].places[b->last];
    const uint8_t **parts = r->parcel_of + comm_n_ranks(r->comm);
    struct bucket_flow casting = {.step = s, .bucket = b};
    const double start = clock_s();
    for (int p = 0; p < comm_n_ranks(r->comm); p++)
        parts[p] = r->parcel_of[p] + at;
    b->fold.ops->sum(&b->fold, 0, parts, comm_n_ranks(r->comm), b->n, true, r->result);
    s->report->comm_s += clock_s() - start;
    bucket_decode(&casting);
    bucket_encoded(&casting);
    s->report->codec_s += casting.codec_s;
}

int reducer_step_short(const struct reducing *s, bool *finite)
{
    struct reducer *r = s->r;
    const struct plan *plan = &r->plans[NARROW];
    const struct group g = reducer_group(r, 0);
    TRY(reducer_scan(s, &g));
    TRY(exchange(s, &g));
    *finite = reducer_all_finite(r, &g);
    if (!*finite)
        return 0;
    reducer_lost(s, &g);
    reducer_short_note(r);
    for (int i = 0; i < plan->n_buckets; i++)
        if (is_bucket_right(r, &plan->buckets[i]))
            sum_parcels(s, &plan->buckets[i]);
        else
            TRY(reducer_bucket_mpi(s, i));
    return 0;
}
