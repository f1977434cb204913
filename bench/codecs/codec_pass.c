/* codec_pass.c : passes a gradient through a codec and back on one rank, in steps to be timed. */
#include "codec_pass.h"
#include "base/buf.h"
#include "codec/codec_kind.h"
#include <string.h>

/* A layer's bytes in codes, sums and state, or the offsets of its first bytes. */
struct codec_places {
    size_t code, sum, state;
};

static struct reduce_op codec_pass_reduce_op(struct codec_call *call, const struct codec_layer *l)
{
    call->layers = l;
    call->n_layers = 1;
    return codec_reduce_op(call);
}

/* Returns the bytes of layer i, padded. */
static struct codec_places codec_pass_bytes(struct codec_pass *p, int i)
{
    struct codec_call call = {.codec = p->codec};
    const struct reduce_op op = codec_pass_reduce_op(&call, &p->layers[i]);
    struct vec_span *s = &p->spans[i];
    s->padded = (s->n + op.unit - 1) / op.unit * op.unit;
    return (struct codec_places){reduce_op_in_at(&op, s->padded), reduce_op_out_at(&op, s->padded),
                                 codec_state_bytes(p->codec, &p->layers[i])};
}

int codec_pass_open(struct codec_pass *p, const struct codec *codec, const struct dump *d,
                    int copies, const float *x, const float *weights, float *out)
{
    const int n = copies * d->n_layers;
    *p = (struct codec_pass){.codec = codec, .n = n};
    struct codec_places all = {0, 0, 0};
    p->layers = buf_alloc((size_t)n * sizeof *p->layers);
    p->parts = buf_alloc((size_t)n * sizeof *p->parts);
    p->spans = buf_alloc((size_t)n * sizeof *p->spans);
    p->outs = buf_alloc((size_t)n * sizeof *p->outs);
    if (!p->layers || !p->parts || !p->spans || !p->outs)
        return -ENOMEM;
    for (int i = 0; i < n; i++) {
        const struct dump_layer *l = &d->layers[i % d->n_layers];
        const size_t at = (size_t)(i / d->n_layers) * d->n + l->offset;
        p->layers[i] = (struct codec_layer){.index = (uint32_t)i,
                                            .n = l->n,
                                            .column = l->column,
                                            .stride = l->stride,
                                            .weights = weights ? weights + l->offset : NULL};
        p->parts[i] = (struct codec_part){.layer = &p->layers[i]};
        p->spans[i] = (struct vec_span){.x = x + at, .n = l->n};
        p->outs[i] = (struct vec_out){.x = out + at};
        const struct codec_places more = codec_pass_bytes(p, i);
        all.code += more.code, all.sum += more.sum, all.state += more.state;
    }
    p->code_bytes = all.code;
    p->state_bytes = all.state;
    p->codes = buf_alloc(all.code);
    p->sums = buf_alloc(all.sum);
    p->state = buf_alloc(2 * all.state);
    if (!p->codes || !p->sums || !p->state)
        return -ENOMEM;
    struct codec_places at = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        const struct codec_places more = codec_pass_bytes(p, i);
        p->spans[i].codes = p->codes + at.code;
        p->outs[i].codes = p->sums + at.sum;
        p->layers[i].state = more.state ? p->state + at.state : NULL;
        p->layers[i].next_state = more.state ? p->state + all.state + at.state : NULL;
        at.code += more.code, at.sum += more.sum, at.state += more.state;
    }
    return 0;
}

void codec_pass_close(struct codec_pass *p)
{
    free(p->layers), free(p->parts), free(p->spans), free(p->outs);
    free(p->codes), free(p->sums), free(p->state);
}

void codec_pass_measure(struct codec_pass *p)
{
    codec_absmax_all(p->codec, p->spans, p->parts, p->n);
    for (int i = 0; i < p->n; i++) {
        struct codec_layer *l = &p->layers[i];
        memcpy(&l->own_max, &p->spans[i].absmax, sizeof l->own_max);
        l->max = l->own_max;
        p->spans[i].shift = codec_shift(p->codec, codec_exponent(p->codec, p->spans[i].absmax));
    }
}

void codec_pass_keys(struct codec_pass *p, uint64_t step)
{
    for (int i = 0; i < p->n; i++)
        p->spans[i].key = codec_key(p->codec, step, (uint32_t)i, 0);
}

static bool codec_pass_asks_max(const struct codec_pass *p)
{
    for (int i = 0; i < p->n; i++)
        if (codec_asks_max(p->codec, &p->layers[i]))
            return true;
    return false;
}

void codec_pass_take(struct codec_pass *p)
{
    memcpy(p->state, p->state + p->state_bytes, p->state_bytes);
}

void codec_pass_encode(struct codec_pass *p)
{
    if (codec_pass_asks_max(p)) {
        codec_pass_measure(p);
        codec_encode_all(p->codec, p->spans, p->parts, p->n);
    } else {
        codec_scan_encode_all(p->codec, p->spans, p->parts, p->n);
    }
}

void codec_pass_sum(struct codec_pass *p, uint64_t step)
{
    struct codec_call call = {.codec = p->codec, .step = step};
    for (int i = 0; i < p->n; i++) {
        const struct reduce_op op = codec_pass_reduce_op(&call, &p->layers[i]);
        const struct vec_span *s = &p->spans[i];
        uint8_t *sum = p->sums + (p->outs[i].codes - p->sums);
        const uint8_t *part = s->codes;
        if (p->codec->kind->sums)
            op.ops->sum(&op, 0, &part, 1, s->padded, true, sum);
        else
            memcpy(sum, part, reduce_op_in_at(&op, s->padded));
        p->outs[i] = codec_out(p->codec, sum, s->n, s->shift, p->outs[i].x);
    }
}

void codec_pass_decode(struct codec_pass *p)
{
    codec_decode_all(p->codec, p->outs, p->parts, p->n);
}
