/* codec_onebit.c : implements 1bitSGD: a sign per element, and two means per bucket or column.
 *
 *    v = g + residual of g           q = mean of all v >= 0, or of all v < 0    residual = v - q
 *    w = sum of q + residual of w    q = the same of w, by the range's owner     residual = w - q
 *
 * Residuals live across steps and checkpoints. Without those of sums (residual=own) or without any
 * (residual=none), the mean of 100 steps over the same log-normal gradients of 4 ranks is off by 42
 * and 88 % instead of 15 % (tests/codec/test_codec_onebit_mpi.c).
 *
 * A column of a convolution [out][ky][kx][in] is the kx elements of one (out, ky, in), of a linear
 * layer [out][in] the outputs of one input; a bias or a norm is one column. A column of 3 weights
 * needs 12 bytes, as in fp32; onebit:64 needs 0.25 bytes per element. Source: Seide, Fu, Droppo,
 * Li, Yu, "1-bit stochastic gradient descent", Interspeech 2014; the 1-bit study, section 2. */
#include "base/err.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "vec/list/vec_signs.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum keeps { KEEPS_NONE, KEEPS_OWN, KEEPS_BOTH };
enum { USUAL_BUCKET = 64 };

struct onebit {
    uint32_t bucket; /* elements, or 0 for columns */
    enum keeps keeps;
};

static const char *const keeps_words[] = {
    [KEEPS_NONE] = "none", [KEEPS_OWN] = "own", [KEEPS_BOTH] = "both"};

static const struct onebit *onebit_of(const struct codec *c)
{
    return (const void *)c->own;
}

static int read_bucket(const char *word, const char *at, size_t n, struct onebit *o)
{
    char *end;
    const unsigned long d = strtoul(at, &end, 10);
    if (!d || end != at + n || d % LEVEL_BUCKET_UNIT || d > LEVEL_BUCKET_MAX)
        return ERR(
            -EINVAL,
            "bad --codec \"%s\": D of onebit:D must be a multiple of %d elements, from %d to %d",
            word, LEVEL_BUCKET_UNIT, LEVEL_BUCKET_UNIT, LEVEL_BUCKET_MAX);
    o->bucket = (uint32_t)d;
    return 0;
}

static int read_option(const char *word, const char *at, size_t n, struct onebit *o)
{
    if (*at >= '0' && *at <= '9')
        return read_bucket(word, at, n, o);
    if (word_is(at, n, "column")) {
        o->bucket = 0;
        return 0;
    }
    for (size_t i = 0; i < sizeof keeps_words / sizeof keeps_words[0]; i++)
        if (n > 9 && memcmp(at, "residual=", 9) == 0 && word_is(at + 9, n - 9, keeps_words[i])) {
            o->keeps = (enum keeps)i;
            return 0;
        }
    return ERR(
        -EINVAL,
        "bad --codec \"%s\": onebit: may be followed by D or column, and residual=both, own or "
        "none",
        word);
}

static int onebit_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    struct onebit o;
    memset(&o, 0, sizeof o);
    o.bucket = USUAL_BUCKET;
    o.keeps = KEEPS_BOTH;
    TRY(codec_no_format(spec, "onebit"));
    for (const char *at = rest; at; at = at[strcspn(at, ",")] ? strchr(at, ',') + 1 : NULL)
        TRY(read_option(spec->codec, at, strcspn(at, ","), &o));
    static_assert(sizeof o <= CODEC_OWN_BYTES, "struct codec has too little room");
    memcpy(c->own, &o, sizeof o);
    return 0;
}

static void onebit_describe(const struct codec *c, struct text *to)
{
    const struct onebit *o = onebit_of(c);
    text_add(to, "onebit:");
    if (o->bucket)
        text_add(to, "%u", o->bucket);
    else
        text_add(to, "column");
    text_add(to, ",residual=%s", keeps_words[o->keeps]);
}

static int onebit_settle(struct codec *c, const struct codec_adder *by)
{
    (void)c, (void)by;
    return 0;
}

/* A layer with unknown columns counts as one column. */
static struct signs_rule rule_of(const struct codec *c, const struct codec_layer *layer)
{
    const struct onebit *o = onebit_of(c);
    if (o->bucket)
        return (struct signs_rule){o->bucket, 1};
    if (layer->column && layer->stride)
        return (struct signs_rule){layer->column, layer->stride};
    return (struct signs_rule){layer->n ? layer->n : 1, 1};
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    const struct signs_rule r = rule_of(c, layer);
    return r.column * r.stride;
}

/* The number of residuals that an element has. Unrounded sums leave none. */
static size_t n_kept(const struct codec *c)
{
    const enum keeps keeps = onebit_of(c)->keeps;
    return c->unrounded && keeps == KEEPS_BOTH ? KEEPS_OWN : keeps;
}

static size_t state_bytes(const struct codec *c, const struct codec_layer *layer)
{
    return n_kept(c) * layer->n * sizeof(float);
}

/* `which` selects the residuals of this rank's gradients (0) or of sums (1). */
static struct signs_left left_of(const struct codec *c, const struct codec_layer *layer,
                                 size_t which, size_t at)
{
    struct signs_left left = {NULL, NULL};
    if (which < n_kept(c) && layer->state) {
        left.was = (const float *)(const void *)layer->state + which * layer->n + at;
        left.next = (float *)(void *)layer->next_state + which * layer->n + at;
    }
    return left;
}

static void make(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                 int n_spans, bool scan)
{
    struct signs_span list[CODEC_PIECES];
    for (int from = 0, k; from < n_spans; from += k) {
        for (k = 0; k < CODEC_PIECES && from + k < n_spans; k++) {
            const struct vec_span *s = &spans[from + k];
            const struct codec_part *part = &parts[from + k];
            list[k] = (struct signs_span){.x = s->x,
                                          .type = s->type,
                                          .codes = s->codes,
                                          .n = s->n,
                                          .padded = s->padded,
                                          .rule = rule_of(c, part->layer),
                                          .left = left_of(c, part->layer, 0, part->at)};
        }
        c->ops->sign_lists->encode(c->ops, list, k, scan);
        for (int i = 0; i < k && scan; i++)
            spans[from + i].absmax = list[i].absmax;
    }
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    make(c, spans, parts, n_spans, false);
}
static void scan_encode(const struct codec *c, struct vec_span *spans,
                        const struct codec_part *parts, int n_spans)
{
    make(c, spans, parts, n_spans, true);
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    struct signs_out list[CODEC_PIECES];
    for (int from = 0, k; from < n_outs; from += k) {
        for (k = 0; k < CODEC_PIECES && from + k < n_outs; k++) {
            const struct vec_out *o = &outs[from + k];
            list[k] = (struct signs_out){.x = o->x,
                                         .type = o->type,
                                         .codes = o->codes,
                                         .n = o->n,
                                         .rule = rule_of(c, parts[from + k].layer)};
        }
        c->ops->sign_lists->decode(c->ops, list, k, codec_divisor(c));
    }
}

/* All layers of a bucket have units of equal length. */
static size_t bytes_of(const struct reduce_op *f, size_t n)
{
    const struct codec_call *call = f->ctx;
    const struct codec_layer none = {.n = 0};
    const struct signs_rule r = rule_of(call->codec, call->n_layers ? call->layers : &none);
    return signs_bytes(&r, n);
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    const struct codec_call *call = f->ctx;
    const struct codec *c = call->codec;
    struct signs_span spans[CODEC_PIECES];
    assert(last);
    (void)last;
    for (size_t done = 0; done < n;) {
        int k = 0;
        for (; done < n && k < CODEC_PIECES; k++) {
            const struct codec_piece p = codec_piece_at(call, at + done, at + n);
            spans[k] = (struct signs_span){.codes = codes + bytes_of(f, done),
                                           .n = p.n,
                                           .padded = p.padded,
                                           .rule = rule_of(c, p.layer),
                                           .left = left_of(c, p.layer, 1, p.at)};
            done += p.padded;
        }
        c->ops->sign_lists->sum(c->ops, parts, n_parts, spans, k, codes);
    }
}

static const struct reduce_op_kind onebit_reduce_op = {
    .keeps = true,
    .in_bytes = bytes_of,
    .out_bytes = bytes_of,
    .acc_bytes = codec_no_bytes,
    .wide_bytes = codec_no_bytes,
    .sum = sum, /* enough if all parts meet in one place */
};

const struct codec_kind codec_onebit = {
    .name = "onebit",
    .help = "onebit[:D|column,residual=both|own|none]: sends a sign per element and two means "
            "per D elements (64; a multiple of 32 up to 16384) or per column of a tensor. "
            "residual=both, the default: each rank adds the residual of its gradients in the next "
            "step, and the owner of a sum that of the sum; own: only the first; none: neither",
    .parse = onebit_parse,
    .leaves_small = true,
    .settle = onebit_settle,
    .describe = onebit_describe,
    .unit = unit,
    .state_bytes = state_bytes,
    .absmax = codec_absmax_x,
    .encode = encode,
    .scan_encode = scan_encode,
    .decode = decode,
    .gives_sums = codec_always,
    .op = &onebit_reduce_op,
    .values = true,
};
