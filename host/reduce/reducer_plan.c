/* reducer_plan.c : which layer's codes lie where, and which buckets' exponents go in one message. */
#include "base/buf.h"
#include "base/err.h"
#include "reduce/reducer_inside.h"

int reducer_make_plan(struct reducer *r, bool all_fp32, size_t bucket_bytes)
{
    struct plan *p = &r->plans[all_fp32];
    p->buckets = buf_alloc((size_t)r->n_layers * sizeof *p->buckets);
    p->places = buf_alloc((size_t)r->n_layers * sizeof *p->places);
    p->starts = buf_alloc((size_t)r->n_layers * sizeof *p->starts);
    p->bucket_of = buf_alloc((size_t)r->n_layers * sizeof *p->bucket_of);
    if (!p->buckets || !p->places || !p->starts || !p->bucket_of)
        return -ENOMEM;
    p->n_buckets = bucket_cut(r->layers, r->n_layers, r->folds, all_fp32, bucket_bytes, p->buckets);
    for (int i = 0; i < p->n_buckets; i++) {
        const struct bucket *b = &p->buckets[i];
        const struct fold *f = &r->folds[b->fp32];
        const size_t place = all_fp32 ? 0 : (size_t)p->code_bytes;
        size_t at = 0;
        for (int l = b->last; l > b->last - b->n_layers; l--) {
            p->starts[l] = at;
            p->bucket_of[l] = i;
            p->places[l] = place + f->ops->in_bytes(f, at);
            at += bucket_padded(f, r->layers[l].n);
        }
        p->code_bytes += f->ops->in_bytes(f, b->n);
    }
    return 0;
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
    return (struct group){
        .bucket = g, .n_buckets = 1, .first = b->last - b->n_layers + 1, .n_layers = b->n_layers};
}

enum trace_row reducer_row(const struct reducer *r)
{
    return r->overlap ? TRACE_REDUCE : TRACE_MAIN;
}
