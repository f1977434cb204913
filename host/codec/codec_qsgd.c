/* codec_qsgd.c : implements QSGD: one level per element, and a scale per bucket.
 *
 *    g --scale, sample--> codes ==values added in fp32, in rank order, by the range's owner==>
 *                                            --scale, sample--> codes --> mean = value / P
 *
 *    norm=max      scale = largest |g|                  norm=2   2-norm
 *    levels=sign   a sign, and s = 2^(B-1) - 1 levels up to the scale
 *    levels=even   2^B values from -scale to scale, none of them 0 (B = 1: only these)
 *
 * Samples are unbiased and keyed by (seed, step, layer, rank, element). An element needs B/8 + 4/D
 * bytes, with the study's buckets 0.28125 for qsgd:2, 0.5078 for qsgd:4, 1.0078 for qsgd:8, 2.0005
 * for qsgd:16. A layer's end is rounded up to 32 elements. Source: the 1-bit study, section 3;
 * hls/arith/level.h. */
#include "base/err.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "hls/arith/philox.h"
#include "vec/list/vec_levels.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STAGE_SUM \
    0x73756d73u /* "sums": keys random bits of sums, without the rank, as any rank may own a
                 * range */

static const struct levels_rule *rule_of(const struct codec *c)
{
    return (const void *)c->own;
}

static const struct {
    uint32_t bits, bucket;
} defaults[] = {{1, 128}, {2, 128}, {4, 512}, {8, 512}, {16, 8192}};

static const char *read_bits(const char *word, const char *rest, struct levels_rule *r)
{
    char *end = NULL;
    const unsigned long bits = rest && *rest >= '0' && *rest <= '9' ? strtoul(rest, &end, 10) : 0;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (end && (*end == 0 || *end == ',') && defaults[i].bits == bits) {
            r->scheme.bits = defaults[i].bits;
            r->scheme.even = bits == 1;
            r->bucket = defaults[i].bucket;
            return end;
        }
    (void)ERR(-EINVAL, "bad --codec \"%s\": need qsgd:B with B = 1, 2, 4, 8 or 16 bits", word);
    return NULL;
}

static int read_bucket(const char *word, const char *value, size_t n, struct levels_rule *r)
{
    char *end;
    const unsigned long d = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
    if (!d || end != value + n || d % LEVEL_BUCKET_UNIT || d > LEVEL_BUCKET_MAX)
        return ERR(-EINVAL,
                   "bad --codec \"%s\": bucket=D must be a multiple of %d elements, from %d to %d",
                   word, LEVEL_BUCKET_UNIT, LEVEL_BUCKET_UNIT, LEVEL_BUCKET_MAX);
    r->bucket = (uint32_t)d;
    return 0;
}

static int read_option(const char *word, const char *at, size_t n, struct levels_rule *r)
{
    if (n > 7 && memcmp(at, "bucket=", 7) == 0)
        return read_bucket(word, at + 7, n - 7, r);
    if (word_is(at, n, "norm=max") || word_is(at, n, "norm=2"))
        r->norm2 = word_is(at, n, "norm=2");
    else if (word_is(at, n, "levels=sign") && r->scheme.bits == 1)
        return ERR(
            -EINVAL,
            "bad --codec \"%s\": with one bit there is no level besides the sign: need levels=even",
            word);
    else if (word_is(at, n, "levels=sign") || word_is(at, n, "levels=even"))
        r->scheme.even = word_is(at, n, "levels=even");
    else
        return ERR(-EINVAL,
                   "bad --codec \"%s\": qsgd:B may be followed by bucket=D, norm=max or 2, "
                   "levels=sign or even",
                   word);
    return 0;
}

static int qsgd_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    struct levels_rule r;
    memset(&r, 0, sizeof r);
    TRY(codec_no_format(spec, "qsgd"));
    const char *at = read_bits(spec->codec, rest, &r);
    if (!at)
        return -EINVAL;
    while (*at == ',') {
        const size_t n = strcspn(++at, ",");
        TRY(read_option(spec->codec, at, n, &r));
        at += n;
    }
    static_assert(sizeof r <= CODEC_OWN_BYTES, "struct codec has too little room");
    memcpy(c->own, &r, sizeof r);
    return 0;
}

static void qsgd_describe(const struct codec *c, struct text *to)
{
    const struct levels_rule *r = rule_of(c);
    text_add(to, "qsgd:%u,bucket=%u,norm=%s,levels=%s", r->scheme.bits, r->bucket,
             r->norm2 ? "2" : "max", r->scheme.even ? "even" : "sign");
}

static int qsgd_settle(struct codec *c, const struct codec_adder *by)
{
    (void)c, (void)by;
    return 0;
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)layer;
    return rule_of(c)->bucket;
}

static void scan_encode(const struct codec *c, struct vec_span *spans,
                        const struct codec_part *parts, int n_spans)
{
    (void)parts;
    c->ops->level_lists->encode(c->ops, rule_of(c), spans, n_spans);
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    (void)parts;
    c->ops->level_lists->decode(c->ops, rule_of(c), outs, n_outs, codec_divisor(c));
}

static size_t bytes_of(const struct reduce_op *f, size_t n)
{
    const struct codec_call *call = f->ctx;
    return levels_bytes(rule_of(call->codec), n);
}

/* A layer's last bucket travels only up to a multiple of LEVEL_BUCKET_UNIT elements. */
static size_t spared(const struct reduce_op *f, size_t n)
{
    const struct codec_call *call = f->ctx;
    const struct levels_rule *r = rule_of(call->codec);
    size_t bytes = 0;
    for (int i = 0; i < call->n_layers; i++) {
        const struct codec_layer *l = &call->layers[i];
        const size_t padded = (l->n + r->bucket - 1) / r->bucket * r->bucket;
        if (l->at + padded <= n)
            bytes += levels_bytes(r, padded) - levels_bytes(r, l->n);
    }
    return bytes;
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    const struct codec_call *call = f->ctx;
    const struct codec *c = call->codec;
    struct vec_span spans[CODEC_PIECES];
    assert(last);
    (void)last;
    for (size_t done = 0; done < n;) {
        int k = 0;
        for (; done < n && k < CODEC_PIECES; k++) {
            const struct codec_piece p = codec_piece_at(call, at + done, at + n);
            spans[k] = (struct vec_span){
                .codes = codes + reduce_op_in_at(f, at + done) - reduce_op_in_at(f, at),
                .n = p.n,
                .padded = p.padded,
                .at = p.at,
                .key = philox_key(c->seed, (uint32_t)call->step, p.layer->index, 0, STAGE_SUM)};
            done += p.padded;
        }
        c->ops->level_lists->sum(c->ops, rule_of(c), parts, n_parts, spans, k, codes);
    }
}

static const struct reduce_op_kind qsgd_reduce_op = {
    .in_bytes = bytes_of,
    .out_bytes = bytes_of,
    .spared = spared,
    .acc_bytes = codec_no_bytes,
    .wide_bytes = codec_no_bytes,
    .sum = sum, /* enough if all parts meet in one place */
};

const struct codec_kind codec_qsgd = {
    .name = "qsgd",
    .help =
        "qsgd:B[,bucket=D][,norm=max|2][,levels=sign|even]: rounds without bias to levels of B = "
        "1, 2, 4, 8 or 16 bits, with one scale per D elements (128, 128, 512, 512, 8192; a "
        "multiple "
        "of 32 up to 16384): the largest magnitude (norm=max, the default) or the 2-norm. "
        "levels=sign: a sign and 2^(B-1) - 1 levels, the default for B > 1. levels=even: the ends "
        "of "
        "2^B - 1 intervals",
    .parse = qsgd_parse,
    .leaves_small = true,
    .settle = qsgd_settle,
    .describe = qsgd_describe,
    .unit = unit,
    .absmax = codec_absmax_x,
    .encode = scan_encode,
    .scan_encode = scan_encode,
    .decode = decode,
    .gives_sums = codec_always,
    .op = &qsgd_reduce_op,
    .values = true,
};
