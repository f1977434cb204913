/* reducer_bucket.c : encodes a bucket, reduces it over MPI and decodes it to means, range by range,
 * so that casting and sending overlap. A batching backend (GPU) casts the bucket at once. */
#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"
#include "reduce/reducer_shard.h"
#include "base/buf.h"

/* [*from, *to) is the part of layer i, padding included, in [at, at + n) of bucket b. */
static bool part_of(const struct reducer *r, const struct bucket *b, int i, size_t at, size_t n,
                    size_t *from, size_t *to)
{
    const size_t start = reducer_layer(r, i)->at;
    const size_t end = start + bucket_padded(&b->op, r->layers[i].n);
    if (end <= at || start >= at + n)
        return false;
    *from = at > start ? at - start : 0;
    *to = (at + n < end ? at + n : end) - start;
    return true;
}

/* True if codes are made: by reducer_scan(), or on a failed card path. */
static bool are_coded(const struct reducer *r, const struct bucket *b, int i)
{
    if (r->low || r->force_fp32)
        return false;
    const struct codec *codec = &r->codecs[b->fp32];
    return codec_has_groups(codec) || codec_asks_max(codec, reducer_layer(r, i))
               ? b->coded
               : codec_shift(codec, reducer_exponent(r, i)) == r->guesses[i];
}

static int number_of(const struct bucket_flow *f)
{
    const struct reducer *r = f->r;
    return (int)(f->bucket - reducer_plan(r)->buckets);
}

static void cast_since(struct bucket_flow *f, const char *name, double start)
{
    const struct reducer *r = f->r;
    f->codec_s += clock_s() - start;
    trace_add(r->trace, reducer_row(r), name, number_of(f), start);
}

/* Padding gets zero codes. */
static void encode(struct bucket_flow *f, size_t at, size_t n)
{
    struct reducer *r = f->r;
    const struct bucket *b = f->bucket;
    const struct codec *codec = &r->codecs[b->fp32];
    const double start = clock_s();
    int n_spans = 0;
    for (int k = 0; k < b->n_layers; k++) {
        const int i = (int)b->call.layers[k].index;
        size_t from, to;
        if (!part_of(r, b, i, at, n, &from, &to) || are_coded(r, b, i))
            continue;
        reducer_span(r, i, from, to, codec_shift(codec, reducer_exponent(r, i)), r->exponents,
                     n_spans++);
    }
    if (!n_spans)
        return;
    codec_encode_all(codec, r->spans, r->parts, n_spans);
    cast_since(f, "encode", start);
}

static void decode(struct bucket_flow *f, size_t at, size_t n)
{
    struct reducer *r = f->r;
    const struct bucket *b = f->bucket;
    const struct codec *codec = &r->codecs[b->fp32];
    const double start = clock_s();
    int n_spans = 0;
    if (r->once && comm_lowest_here(r->comm, comm_rank(r->comm)) != comm_rank(r->comm))
        return;
    for (int k = 0; k < b->n_layers; k++) {
        const int i = (int)b->call.layers[k].index;
        size_t from, to;
        if (!part_of(r, b, i, at, n, &from, &to) || from >= r->layers[i].n)
            continue;
        const struct codec_layer *layer = reducer_layer(r, i);
        const size_t end = to < layer->n ? to : layer->n;
        if (r->shard)
            n_spans = shard_outs(f, i, from, end, n_spans);
        else
            bucket_out(f, i, from, end,
                       r->means ? r->means[i] + from : codec_at(codec, r->grads[i], from),
                       n_spans++);
    }
    codec_decode_all(codec, r->outs, r->parts, n_spans);
    if (r->shard)
        shard_copy_edges(r);
    cast_since(f, "decode", start);
}

/* need() and have() of struct algo_flow (comm/algo/algo.h). */
static void need(void *arg, size_t at, size_t n)
{
    struct bucket_flow *f = arg;
    if (!f->r->batches)
        encode(f, at, n);
    else if (!f->made)
        encode(f, 0, f->bucket->n);
    f->made = true;
}

static void have(void *arg, size_t at, size_t n)
{
    struct bucket_flow *f = arg;
    if (!f->r->batches)
        decode(f, at, n);
}

struct algo_flow bucket_flow(struct bucket_flow *b)
{
    return (struct algo_flow){need, have, b};
}

static void show(const struct reducer *r, const struct bucket *b, const uint8_t *codes)
{
    for (int k = 0; k < b->n_layers && r->seen; k++) {
        const struct codec_layer *layer = &b->call.layers[k];
        const size_t at = reduce_op_in_at(&b->op, layer->at),
                     end = reduce_op_in_at(&b->op, layer->at + bucket_padded(&b->op, layer->n));
        r->seen(r->seen_ctx, (int)layer->index, codes + at, end - at);
    }
}

void bucket_encoded(const struct bucket_flow *f, const uint8_t *codes)
{
    struct reducer *r = f->r;
    struct bucket *b = &reducer_plan(r)->buckets[number_of(f)];
    show(r, b, codes);
    const bool guesses = !r->force_fp32 && !codec_has_groups(&r->codecs[b->fp32]);
    for (int k = 0; k < b->n_layers && guesses; k++) {
        const int i = (int)b->call.layers[k].index;
        r->done.n_guessed += !b->coded && are_coded(r, b, i);
        if (r->guesses[i] == CODEC_NO_GUESS || reducer_exponent(r, i) != CODEC_ALL_ZERO)
            r->guesses[i] = codec_shift(&r->codecs[b->fp32], reducer_exponent(r, i));
    }
    b->coded = true;
}

void bucket_summed(struct bucket_flow *f)
{
    if (f->r->batches)
        decode(f, 0, f->bucket->n);
}

void bucket_decode(struct bucket_flow *f)
{
    decode(f, 0, f->bucket->n);
}

void reducer_release(struct reducer *r, int first, int n)
{
    for (int i = first, k; i < first + n; i = k) {
        size_t elements = r->layers[i].n;
        for (k = i + 1; k < first + n && r->grads[k] == r->grads[i] + elements; k++)
            elements += r->layers[k].n;
        memory_release(r->grads[i], elements * sizeof *r->grads[i]);
    }
}

/* Layers are in forward order (shard_turn()). */
static void release_bucket(struct reducer *r, int number)
{
    const struct bucket *b = &reducer_plan(r)->buckets[number];
    for (int k = 0, n; k < b->n_layers; k += n) {
        const struct codec_layer *l = b->call.layers + k;
        for (n = 1; k + n < b->n_layers && l[n].index == l->index + (uint32_t)n; n++)
            ;
        reducer_release(r, (int)l->index, n);
    }
    overlap_released(r->overlap, number + 1);
}

int reducer_bucket_mpi(struct reducer *r, int i)
{
    const struct bucket *b = &reducer_plan(r)->buckets[i];
    const double start = clock_s();
    struct bucket_flow casting = {.r = r, .bucket = b};
    struct algo_flow flow = bucket_flow(&casting);
    const bool whole = !r->algo->flows || r->batches;
    if (whole)
        encode(&casting, 0, b->n);
    const struct algo_call call = {.codec = &r->codecs[b->fp32],
                                   .op = b->op,
                                   .n = b->n,
                                   .codes =
                                       r->codes + reducer_plan(r)->places[b->call.layers->index],
                                   .result = r->result,
                                   .once = r->once,
                                   .scratch = r->scratch,
                                   .group = r->group,
                                   .cut = r->shard ? shard_ranges(r, b) : NULL,
                                   .flow = whole ? NULL : &flow,
                                   .buffers = &r->buffers,
                                   .node = b->fp32 ? NULL : r->node};
    const double travels = clock_s();
    TRY(r->algo->run(r->comm, &call));
    trace_add_bytes(r->trace, reducer_row(r), "all-reduce", i,
                    (int64_t)reduce_op_in_at(&b->op, b->n), travels);
    if (whole)
        decode(&casting, 0, b->n);
    bucket_encoded(&casting, call.codes);
    if (r->releases)
        release_bucket(r, i);
    r->done.codec_s += casting.codec_s;
    r->done.comm_s += clock_s() - start - casting.codec_s;
    return 0;
}

int reducer_make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes)
{
    struct plan *p = &r->plans[all_fp32];
    p->buckets = buf_alloc((size_t)r->n_layers * sizeof *p->buckets);
    p->places = buf_alloc((size_t)r->n_layers * sizeof *p->places);
    p->placed = buf_alloc((size_t)r->n_layers * sizeof *p->placed);
    p->bucket_of = buf_alloc((size_t)r->n_layers * sizeof *p->bucket_of);
    p->rank_of = buf_alloc((size_t)r->n_layers * sizeof *p->rank_of);
    p->rescaled = buf_alloc((size_t)r->n_layers);
    p->exponent_at = buf_alloc(((size_t)r->n_layers + 1) * sizeof *p->exponent_at);
    if (!p->exponent_at || !p->rescaled || !p->buckets || !p->places || !p->placed ||
        !p->bucket_of || !p->rank_of)
        return -ENOMEM;
    p->n_buckets = bucket_cut(r->layers, r->n_layers, r->codecs, all_fp32, bucket_bytes, p->buckets,
                              p->placed, p->bucket_of);
    if (r->shard)
        shard_turn(p);
    for (int i = 0; i < p->n_buckets; i++) {
        struct bucket *b = &p->buckets[i];
        const struct reduce_op *f = &b->op;
        b->op.message_bytes = comm_message_bytes(r->comm);
        b->call.rescaled = p->rescaled + (b->call.layers - p->placed);
        const size_t place = all_fp32 || r->releases ? 0 : (size_t)p->code_bytes;
        for (int k = 0; k < b->n_layers; k++) {
            const struct codec_layer *layer = &b->call.layers[k];
            p->rank_of[layer->index] = (int)(layer - p->placed);
            p->exponent_at[layer - p->placed + 1] =
                p->exponent_at[layer - p->placed] +
                codec_n_exponents(&r->codecs[b->fp32], layer->n);
            p->places[layer->index] = place + reduce_op_in_at(f, layer->at);
        }
        p->code_bytes += reduce_op_in_at(f, b->n);
    }
    return 0;
}

void reducer_span(struct reducer *r, int i, size_t from, size_t to, int shift, int8_t *exponents,
                  int k)
{
    const struct plan *plan = reducer_plan(r);
    const struct bucket *b = &plan->buckets[plan->bucket_of[i]];
    const struct codec_layer *layer = reducer_layer(r, i);
    const size_t end = to < layer->n ? to : layer->n;
    struct vec_scale scale;
    r->parts[k] = (struct codec_part){.layer = layer, .at = from};
    r->spans[k] = (struct vec_span){
        .x = codec_at(&r->codecs[b->fp32], r->grads[i], from),
        .type = r->codecs[b->fp32].type,
        .codes = r->codes + plan->places[i] + reduce_op_in_at(&b->op, layer->at + from) -
                 reduce_op_in_at(&b->op, layer->at),
        .n = end > from ? end - from : 0,
        .padded = to - from,
        .at = from,
        .key = codec_key(&r->codecs[b->fp32], r->step, layer->index, (uint32_t)comm_rank(r->comm)),
        .shift = shift};
    if (codec_groups(&r->codecs[b->fp32], &scale)) {
        r->spans[k].shift = codec_shift(&r->codecs[b->fp32], 0);
        r->spans[k].group = scale.group;
        r->spans[k].exponents = exponents + reducer_exponent_at(r, i) + from / scale.group;
    }
}

int reducer_n_groups(const struct reducer *r)
{
    return r->overlap || r->releases ? reducer_plan(r)->n_buckets : 1;
}

struct group reducer_group(const struct reducer *r, int g)
{
    const struct plan *p = reducer_plan(r);
    if (!r->overlap && !r->releases)
        return (struct group){.n_buckets = p->n_buckets,
                              .n_layers = r->n_layers,
                              .n_exponents = p->exponent_at[r->n_layers]};
    const struct bucket *b = &p->buckets[g];
    const int first = (int)(b->call.layers - p->placed), end = first + b->n_layers;
    return (struct group){.bucket = g,
                          .n_buckets = 1,
                          .first = first,
                          .n_layers = b->n_layers,
                          .at = p->exponent_at[first],
                          .n_exponents = p->exponent_at[end] - p->exponent_at[first]};
}

enum trace_row reducer_row(const struct reducer *r)
{
    return r->overlap ? TRACE_REDUCE : TRACE_MAIN;
}
