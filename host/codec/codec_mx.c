/* codec_mx.c : implements MX words (OCP MX 1.0) for files: blocks of 32 small floats, each with a
 * power of two of its own.
 *
 *     g of a block --largest, floor(log2)--> e8m0 byte; cast(g / 2^(byte - 127)) --> elements
 *     bytes of a block: | scale | elements, packed as in vec.h |
 *
 * The specification leaves the order of bytes open. A block takes 33 bytes in e4m3 and e5m2, 25 in
 * e2m3 and e3m2, 17 in e2m1. Several ranks are refused: sums of words with scales of their own fit
 * no word. Source: hls/arith/block.h. */
#include "base/err.h"
#include "codec/codec_kind.h"
#include "hls/arith/block.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* The specification's names; e4m3 is e4m3fn here. */
static const struct {
    const char *name;
    struct mf_fmt fmt;
} elements[] = {{"e4m3", {4, 3, MF_NO_INF}},
                {"e5m2", {5, 2, MF_IEEE}},
                {"e2m3", {2, 3, MF_NUMBERS}},
                {"e3m2", {3, 2, MF_NUMBERS}},
                {"e2m1", {2, 1, MF_NUMBERS}}};
enum { N_ELEMENTS = sizeof elements / sizeof elements[0] };

static struct mf_fmt element(const struct codec *c)
{
    return elements[c->own[0]].fmt;
}

static size_t block_bytes(const struct codec *c)
{
    return 1 + vec_bytes(element(c), MX_BLOCK);
}

static int mx_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    TRY(codec_no_format(spec, "mx"));
    for (unsigned char i = 0; rest && i < N_ELEMENTS; i++)
        if (strcmp(rest, elements[i].name) == 0) {
            c->own[0] = i;
            return 0;
        }
    return ERR(-EINVAL, "bad --codec \"%s\": need mx:e4m3, e5m2, e2m3, e3m2 or e2m1", spec->codec);
}

static void mx_describe(const struct codec *c, struct text *to)
{
    text_add(to, "mx:%s", elements[c->own[0]].name);
}

static int mx_settle(struct codec *c, const struct codec_adder *by)
{
    char name[CODEC_NAME_BYTES];
    (void)by;
    if (c->n_ranks > 1)
        return ERR(-EINVAL,
                   "cannot add codec \"mx:%s\" of %d ranks, whose blocks have scales of their own: "
                   "need --format %s --scale aps-tight:%d, where ranks agree on them",
                   elements[c->own[0]].name, c->n_ranks, codec_format_name(element(c), name),
                   MX_BLOCK);
    return codec_on_cpu(c);
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return MX_BLOCK;
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    const struct mf_fmt fmt = element(c);
    const struct vec_cast cast = {.fmt = fmt, .round = MF_NEAREST, .overflow = MF_SATURATE};
    (void)parts;
    for (int i = 0; i < n_spans; i++) {
        const float *x = spans[i].x;
        uint8_t *to = spans[i].codes;
        for (size_t at = 0; at < spans[i].n; at += MX_BLOCK, to += block_bytes(c)) {
            const size_t n = spans[i].n - at < MX_BLOCK ? spans[i].n - at : MX_BLOCK;
            memset(to, 0, block_bytes(c));
            to[0] = (uint8_t)mx_scale(fmt, c->ops->absmax(x + at, n));
            c->ops->encode(&cast, x + at, n, 0, MX_BIAS - to[0], to + 1);
        }
    }
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    (void)parts;
    for (int i = 0; i < n_outs; i++) {
        float *x = outs[i].x;
        const uint8_t *from = outs[i].codes;
        for (size_t at = 0; at < outs[i].n; at += MX_BLOCK, from += block_bytes(c)) {
            const size_t n = outs[i].n - at < MX_BLOCK ? outs[i].n - at : MX_BLOCK;
            c->ops->decode(element(c), from + 1, n, from[0] - MX_BIAS, 1, x + at);
            for (size_t k = 0; k < n && from[0] == MX_NAN; k++)
                x[at + k] = NAN;
        }
    }
}

static size_t bytes_of(const struct reduce_op *f, size_t n)
{
    const struct codec_call *call = f->ctx;
    return (n + MX_BLOCK - 1) / MX_BLOCK * block_bytes(call->codec);
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    assert(last && n_parts == 1);
    (void)at, (void)last, (void)n_parts;
    memcpy(codes, parts[0], bytes_of(f, n));
}

static const struct reduce_op_kind mx_reduce_op = {
    .in_bytes = bytes_of,
    .out_bytes = bytes_of,
    .acc_bytes = codec_no_bytes,
    .wide_bytes = codec_no_bytes,
    .sum = sum,
};

const struct codec_kind codec_mx = {
    .name = "mx",
    .help = "mx:e4m3, e5m2, e2m3, e3m2 or e2m1: the words of OCP MX 1.0, with a power of two for "
            "each 32 elements. For `cast` or one rank; on several ranks --format e4m3fn, e5m2, "
            "e2m3f, e3m2f or "
            "e2m1f with --scale aps-tight:32",
    .parse = mx_parse,
    .settle = mx_settle,
    .describe = mx_describe,
    .unit = unit,
    .absmax = codec_absmax_x,
    .encode = encode,
    .decode = decode,
    .op = &mx_reduce_op,
};
