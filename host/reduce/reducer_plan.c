/* reducer_plan.c : which layer's codes lie where, and which buckets' exponents go in one message. */
#include "base/buf.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"

int reducer_make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes)
{
    struct plan *p = &r->plans[all_fp32];
    p->buckets = buf_alloc((size_t)r->n_layers * sizeof *p->buckets);
    p->places = buf_alloc((size_t)r->n_layers * sizeof *p->places);
    p->placed = buf_alloc((size_t)r->n_layers * sizeof *p->placed);
    p->bucket_of = buf_alloc((size_t)r->n_layers * sizeof *p->bucket_of);
    p->rank_of = buf_alloc((size_t)r->n_layers * sizeof *p->rank_of);
    p->rescaled = buf_alloc((size_t)r->n_layers);
    if (!p->rescaled || !p->buckets || !p->places || !p->placed || !p->bucket_of || !p->rank_of)
        return -ENOMEM;
    p->n_buckets = bucket_cut(r->layers, r->n_layers, r->codecs, all_fp32, bucket_bytes, p->buckets,
                              p->placed, p->bucket_of);
    for (int i = 0; i < p->n_buckets; i++) {
        struct bucket *b = &p->buckets[i];
        const struct fold *f = &b->fold;
        b->call.rescaled = p->rescaled + (b->call.layers - p->placed);
        const size_t place = all_fp32 ? 0 : (size_t)p->code_bytes;
        for (int k = 0; k < b->n_layers; k++) {
            const struct codec_layer *layer = &b->call.layers[k];
            p->rank_of[layer->index] = (int)(layer - p->placed);
            p->places[layer->index] = place + fold_in_at(f, layer->at);
        }
        p->code_bytes += fold_in_at(f, b->n);
    }
    return 0;
}

void reducer_span(const struct reducing *s, int i, size_t from, size_t to, int shift, int k)
{
    struct reducer *r = s->r;
    const struct plan *plan = &r->plans[r->force_fp32];
    const struct bucket *b = &plan->buckets[plan->bucket_of[i]];
    const struct codec_layer *layer = reducer_layer(r, i);
    const size_t end = to < layer->n ? to : layer->n;
    r->parts[k] = (struct codec_part){.layer = layer, .at = from};
    r->spans[k] = (struct vec_span){
        .x = codec_at(&r->codecs[b->fp32], s->grads[i], from),
        .type = r->codecs[b->fp32].type,
        .codes = r->codes + plan->places[i] + fold_in_at(&b->fold, layer->at + from) -
                 fold_in_at(&b->fold, layer->at),
        .n = end > from ? end - from : 0,
        .padded = to - from,
        .at = from,
        .key = codec_key(&r->codecs[b->fp32], s->step, layer->index, (uint32_t)comm_rank(r->comm)),
        .shift = shift};
}

int reducer_n_groups(const struct reducer *r)
{
    return r->overlap ? r->plans[r->force_fp32].n_buckets : 1;
}

struct group reducer_group(const struct reducer *r, int g)
{
    const struct plan *p = &r->plans[r->force_fp32];
    if (!r->overlap)
        return (struct group){.n_buckets = p->n_buckets, .n_layers = r->n_layers};
    const struct bucket *b = &p->buckets[g];
    return (struct group){.bucket = g,
                          .n_buckets = 1,
                          .first = (int)(b->call.layers - p->placed),
                          .n_layers = b->n_layers};
}

enum trace_row reducer_row(const struct reducer *r)
{
    return r->overlap ? TRACE_REDUCE : TRACE_MAIN;
}
