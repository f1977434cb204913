/* codec_whole.c : casts one whole layer outside a job. */
#include "codec/codec_whole.h"
#include "base/bits.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/codec_kind.h"
#include <stdlib.h>

void codec_whole(const struct codec *codec, size_t n, struct codec_whole *w)
{
    w->layer = (struct codec_layer){.n = n};
    w->call = (struct codec_call){.codec = codec, .layers = &w->layer, .n_layers = 1};
    w->op = codec_reduce_op(&w->call);
    w->padded = (n + w->op.unit - 1) / w->op.unit * w->op.unit;
}

int codec_whole_encode(struct codec_whole *w, const float *x, const char *name, uint8_t *codes)
{
    const struct codec *codec = w->call.codec;
    const struct codec_part part = {.layer = &w->layer};
    struct vec_span span = {.x = x,
                            .codes = codes,
                            .n = w->layer.n,
                            .padded = w->padded,
                            .key = codec_key(codec, 0, 0, 0)};
    codec_absmax_all(codec, &span, &part, 1);
    if (span.absmax >= 0x7f800000)
        return ERR(-EINVAL, "cannot encode '%s': it holds inf or nan", name);
    w->layer.max = w->layer.own_max = float_of(span.absmax);
    span.shift = codec_shift(codec, codec_exponent(codec, span.absmax));
    codec_encode_all(codec, &span, &part, 1);
    return 0;
}

/* codec_decode_all() reads a sum's codes: those of its only addend, unless sums are wide. */
int codec_whole_decode(struct codec_whole *w, const uint8_t *codes, float *x)
{
    const struct codec *codec = w->call.codec;
    const struct codec_part part = {.layer = &w->layer};
    uint8_t *sum = NULL;
    if (codec->kind->sums & REDUCE_WIDE) {
        sum = buf_alloc(w->op.ops->out_bytes(&w->op, w->padded));
        if (!sum)
            return -ENOMEM;
        w->op.ops->sum(&w->op, 0, &codes, 1, w->padded, true, sum);
    }
    const int shift = codec_shift(codec, codec_exponent(codec, bits_of(w->layer.max)));
    const struct vec_out out = codec_out(codec, sum ? sum : codes, w->layer.n, shift, x);
    codec_decode_all(codec, &out, &part, 1);
    free(sum);
    return 0;
}
