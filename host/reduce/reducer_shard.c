/* reducer_shard.c : gives each rank the means of its own range of the layers' elements.
 *
 *     layers       | 0 a a a a a a b | 1 b b b b c c | 2 c c |     ranges of ranks a, b and c
 *     a bucket     | 0 a a a a a a b | 2 c c |                     units of 4 elements:
 *                    ======= =======                                a's range
 *                            =======                                b's range
 *                                      =====                        c's range
 *
 * Every rank sums all units that its range touches: a and b both sum the second unit. It is decoded
 * to `edges`, and each rank copies its own elements. */
#include "base/buf.h"
#include "base/err.h"
#include "reduce/reducer_shard.h"
#include <stdlib.h>

/* Elements [from, end) of layer i are in the range of `rank`; from == end: none. */
static struct algo_range owned(const struct reducer *r, int rank, int i)
{
    const struct shard *s = r->shard;
    const size_t at = s->layer_at[i], n = r->layers[i].n;
    const size_t from = s->start[rank] > at ? s->start[rank] : at;
    const size_t end = s->start[rank + 1] < at + n ? s->start[rank + 1] : at + n;
    if (from >= end)
        return (struct algo_range){.n = 0};
    return (struct algo_range){.at = from - at, .n = end - from};
}

int shard_open(struct reducer *r, const size_t *range)
{
    const int n_ranks = comm_n_ranks(r->comm);
    size_t all = 0, ranges = 0;
    struct shard *s = r->shard = buf_alloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    s->start = buf_alloc(((size_t)n_ranks + 1) * sizeof *s->start);
    s->layer_at = buf_alloc((size_t)r->n_layers * sizeof *s->layer_at);
    if (!s->start || !s->layer_at)
        return -ENOMEM;
    for (int i = 0; i < r->n_layers; all += r->layers[i++].n)
        s->layer_at[i] = all;
    for (int k = 0; k < n_ranks; k++) {
        if (range[k] > all - ranges)
            return ERR(
                -EINVAL,
                "cannot cut %zu elements into the ranks' ranges: those of ranks 0 to %d have "
                "more",
                all, k);
        ranges += range[k];
        s->start[k + 1] = ranges;
    }
    if (ranges != all)
        return ERR(-EINVAL, "cannot cut %zu elements into the ranks' ranges: all together have %zu",
                   all, ranges);
    return 0;
}

void shard_close(struct reducer *r)
{
    struct shard *s = r->shard;
    const struct vec_ops *ops = r->codecs[NARROW].ops;
    if (!s)
        return;
    ops->free_floats(s->edges);
    ops->free(s->values);
    free(s->ranges[NARROW]);
    free(s->ranges[FP32]);
    free(s->start);
    free(s->layer_at);
    free(s);
    r->shard = NULL;
}

void shard_turn(struct plan *p)
{
    for (struct bucket *b = p->buckets; b < p->buckets + p->n_buckets; b++) {
        struct codec_layer *l = p->placed + (b->call.layers - p->placed);
        size_t at = 0;
        for (int i = 0, k = b->n_layers - 1; i < k; i++, k--) {
            const struct codec_layer kept = l[i];
            l[i] = l[k];
            l[k] = kept;
        }
        for (int i = 0; i < b->n_layers; at += bucket_padded(&b->op, l[i++].n))
            l[i].at = at;
    }
}

/* The range of `rank` in a bucket: whole units. */
static struct algo_range range_of(const struct reducer *r, const struct bucket *b, int rank)
{
    struct algo_range sum = {.n = 0};
    for (int k = 0; k < b->n_layers; k++) {
        const struct codec_layer *l = &b->call.layers[k];
        const struct algo_range own = owned(r, rank, (int)l->index);
        const size_t at = l->at + own.at / b->op.unit * b->op.unit;
        if (own.n == 0)
            continue;
        if (sum.n == 0)
            sum.at = at;
        sum.n = l->at + bucket_padded(&b->op, own.at + own.n) - sum.at;
    }
    return sum;
}

static int cut_plan(struct reducer *r, bool all_fp32)
{
    const struct plan *p = &r->plans[all_fp32];
    const int n_ranks = comm_n_ranks(r->comm);
    struct algo_range *ranges = buf_alloc((size_t)p->n_buckets * (size_t)n_ranks * sizeof *ranges);
    if (!ranges)
        return -ENOMEM;
    r->shard->ranges[all_fp32] = ranges;
    for (int i = 0; i < p->n_buckets; i++) {
        if (p->buckets[i].op.unit > r->shard->unit)
            r->shard->unit = p->buckets[i].op.unit;
        for (int k = 0; k < n_ranks; k++)
            *ranges++ = range_of(r, &p->buckets[i], k);
    }
    return 0;
}

size_t shard_longest(const struct reducer *r, bool all_fp32, int bucket)
{
    const int n_ranks = comm_n_ranks(r->comm);
    return algo_cut_longest(r->shard->ranges[all_fp32] + (size_t)bucket * (size_t)n_ranks, n_ranks);
}

static int make_values(struct reducer *r)
{
    struct plan *p = &r->plans[NARROW];
    size_t most = 0;
    if (!codec_adds_values(&r->codecs[NARROW]))
        return 0;
    for (int i = 0; i < p->n_buckets; i++) {
        const size_t n = shard_longest(r, false, i);
        most = n > most ? n : most;
    }
    r->shard->values = r->codecs[NARROW].ops->alloc(most * sizeof *r->shard->values);
    for (int i = 0; i < p->n_buckets; i++)
        p->buckets[i].call.values = r->shard->values;
    return r->shard->values ? 0 : -ENOMEM;
}

int shard_cut(struct reducer *r, bool owns)
{
    struct shard *s = r->shard;
    TRY(cut_plan(r, false));
    TRY(cut_plan(r, true));
    if (!owns)
        return 0;
    s->edges = r->codecs[NARROW].ops->alloc_floats(SHARD_OUTS * s->unit * sizeof *s->edges);
    return s->edges ? make_values(r) : -ENOMEM;
}

const struct algo_range *shard_ranges(const struct reducer *r, const struct bucket *b)
{
    const struct plan *p = reducer_plan(r);
    return r->shard->ranges[r->force_fp32] + (b - p->buckets) * comm_n_ranks(r->comm);
}

struct algo_range reducer_range(const struct reducer *r, int rank)
{
    const size_t *start = r->shard->start + rank;
    return (struct algo_range){.at = start[0], .n = start[1] - start[0]};
}

void reducer_set_shard(struct reducer *r, float *shard)
{
    r->shard->to = shard;
}

void bucket_out(const struct bucket_flow *f, int i, size_t from, size_t end, void *to, int k)
{
    struct reducer *r = f->r;
    const struct bucket *b = f->bucket;
    const struct codec *codec = &r->codecs[b->fp32];
    const struct codec_layer *layer = reducer_layer(r, i);
    struct vec_scale scale = {.group = 0};
    const bool groups = codec_groups(codec, &scale);
    const int shift = codec_shift(codec, groups ? 0 : reducer_exponent(r, i)) +
                      codec_rescaled(codec, b->call.rescaled[layer - b->call.layers]);
    const size_t first = r->shard ? shard_ranges(r, b)[comm_rank(r->comm)].at : 0;
    const size_t place =
        reduce_op_out_at(&b->op, layer->at + from) - reduce_op_out_at(&b->op, first);
    r->parts[k] = (struct codec_part){.layer = layer, .at = from};
    r->outs[k] = codec_out(codec, r->result + place, end - from, shift, to);
    if (groups) {
        r->outs[k].group = scale.group;
        r->outs[k].lead = (uint32_t)(from % scale.group);
        r->outs[k].exponents = r->exponents + reducer_exponent_at(r, i) + from / scale.group;
    }
    if (r->means || r->shard)
        r->outs[k].type = VEC_FLOAT;
}

/* Decodes the unit from `at` on to an edge, of which elements [from, end) are this rank's. */
static void add_edge(const struct bucket_flow *f, int i, size_t at, size_t from, size_t end,
                     float *to, int k)
{
    const struct reducer *r = f->r;
    struct shard *s = r->shard;
    const size_t unit_end = at + f->bucket->op.unit, n = r->layers[i].n;
    float *edge = s->edges + (size_t)s->n_edges * s->unit;
    s->edge[s->n_edges++] = (struct edge){.to = to, .skip = from - at, .n = end - from};
    bucket_out(f, i, at, unit_end < n ? unit_end : n, edge, k);
}

int shard_outs(const struct bucket_flow *f, int i, size_t from, size_t end, int k)
{
    const struct reducer *r = f->r;
    const struct shard *s = r->shard;
    const size_t unit = f->bucket->op.unit, n = r->layers[i].n;
    const int rank = comm_rank(r->comm);
    const struct algo_range own = owned(r, rank, i);
    const size_t own_end = own.at + own.n;
    size_t at = own.at > from ? own.at : from;
    end = own_end < end ? own_end : end;
    if (at >= end)
        return k;
    float *to = s->to + (s->layer_at[i] + at - s->start[rank]);
    if (at % unit) {
        const size_t skipped = at / unit * unit, next = skipped + unit;
        const size_t stop = next < end ? next : end;
        add_edge(f, i, skipped, at, stop, to, k++);
        to += stop - at;
        at = stop;
    }
    const size_t whole = end == n ? end : end / unit * unit;
    if (at < whole) {
        bucket_out(f, i, at, whole, to, k++);
        to += whole - at;
        at = whole;
    }
    if (at < end)
        add_edge(f, i, at, at, end, to, k++);
    return k;
}

void shard_copy_edges(struct reducer *r)
{
    struct shard *s = r->shard;
    for (int i = 0; i < s->n_edges; i++)
        r->codecs[NARROW].ops->copy(s->edge[i].to, s->edges + (size_t)i * s->unit + s->edge[i].skip,
                                    s->edge[i].n * sizeof *s->edges);
    s->n_edges = 0;
}
