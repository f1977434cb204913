/* codec.c : implements the calls that all kinds of codec share. */
#include "codec/codec.h"
#include "base/bits.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "hls/card/crc32c.h"
#include "hls/arith/philox.h"
#include <assert.h>
#include <math.h>
#include <string.h>

#define STAGE_CAST 0x63617374u /* "cast": keys this use of random bits */

static const struct codec_kind *const kinds[] = {
#define CODEC(name) &codec_##name,
#include "codec/codecs.def"
#undef CODEC
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const struct codec_kind *codec_kind_at(int i)
{
    return i >= 0 && i < N_KINDS ? kinds[i] : NULL;
}

static int refuse_unknown(const char *word)
{
    char list[256], guess[OPT_GUESS];
    struct text names = text_in(list, sizeof list);
    for (int i = 0; i < N_KINDS; i++)
        text_add(&names, " %s", kinds[i]->name);
    return ERR(-EINVAL, "no codec \"%s\": need one of%s%s", word, list,
               opt_guess(word, list, guess));
}

int codec_parse(const struct codec_spec *spec, struct codec *out)
{
    const char *word = spec->codec ? spec->codec : kinds[0]->name, *rest = NULL;
    struct codec c = {.ops = vec_best()};
    TRY(vec_best_check());
    for (int i = 0; i < N_KINDS && !c.kind; i++)
        if (word_has_name(word, kinds[i]->name, &rest))
            c.kind = kinds[i];
    if (!c.kind)
        return refuse_unknown(word);
    TRY(c.kind->parse(spec, rest, &c));
    *out = c;
    return 0;
}

int codec_settle(struct codec *c, int n_ranks, const struct codec_adder *by)
{
    struct codec s = *c;
    if (n_ranks < 1)
        return ERR(-EINVAL, "cannot settle codec for %d ranks: need at least 1", n_ranks);
    s.n_ranks = n_ranks;
    TRY(s.kind->settle(&s, by));
    *c = s;
    return 0;
}

int codec_set_sums(struct codec *c)
{
    char text[CODEC_TEXT_BYTES];
    if (!c->kind->gives_sums || !c->kind->gives_sums(c))
        return ERR(-EINVAL, "codec \"%s\" computes only means, not sums", codec_describe(c, text));
    c->sums = true;
    return 0;
}

void codec_set_unrounded(struct codec *c)
{
    if (c->kind->unround)
        c->kind->unround(c);
    c->unrounded = true;
}

bool codec_adds_values(const struct codec *c)
{
    return c->unrounded && c->kind->values;
}

const struct vec_sum *codec_sum(const struct codec *c)
{
    return c->kind->sum ? c->kind->sum(c) : NULL;
}

const struct vec_sum *codec_card_sum(const struct codec *c)
{
    return c->kind->card_sum ? c->kind->card_sum(c) : codec_sum(c);
}

bool codec_to_card(const struct codec *c, const uint8_t *codes, size_t at, size_t n, uint8_t *card)
{
    if (c->kind->to_card)
        c->kind->to_card(codes, at, n, card);
    return c->kind->to_card;
}

bool codec_from_card(const struct codec *c, const uint8_t *card, size_t at, size_t n, uint8_t *sums)
{
    if (c->kind->from_card)
        c->kind->from_card(c, card, at, n, sums);
    return c->kind->from_card;
}

bool codec_cast(const struct codec *c, struct vec_cast *out)
{
    return c->kind->cast && c->kind->cast(c, out);
}

bool codec_asks_weights(const struct codec *c)
{
    return c->kind->asks_weights && c->kind->asks_weights(c);
}

const char *codec_describe(const struct codec *c, char text[CODEC_TEXT_BYTES])
{
    struct text to = text_in(text, CODEC_TEXT_BYTES);
    c->kind->describe(c, &to);
    assert(!to.full); /* cut text would be equal for different codecs */
    return text;
}

uint32_t codec_tag(const struct codec *c)
{
    char text[CODEC_TEXT_BYTES];
    codec_describe(c, text);
    return crc32c((const uint8_t *)text, strlen(text));
}

static int clamp126(int e)
{
    return e > 126 ? 126 : e < -126 ? -126 : e;
}

int8_t codec_exponent(const struct codec *c, uint32_t absmax_bits)
{
    if (absmax_bits == 0)
        return CODEC_ALL_ZERO;
    if (absmax_bits >= 0x7f800000)
        return CODEC_NOT_FINITE;
    return (int8_t)(c->kind->exponent ? clamp126(c->kind->exponent(c, absmax_bits)) : 0);
}

bool codec_groups(const struct codec *c, struct vec_scale *out)
{
    return c->kind->groups && c->kind->groups(c, out);
}

bool codec_has_groups(const struct codec *c)
{
    struct vec_scale scale;
    return codec_groups(c, &scale);
}

size_t codec_n_exponents(const struct codec *c, size_t n)
{
    struct vec_scale scale;
    return codec_groups(c, &scale) ? vec_n_groups(n, scale.group) : 1;
}

int codec_shift(const struct codec *c, int8_t exponent)
{
    return c->kind->shift ? c->kind->shift(c, exponent) : 0;
}

int codec_rescaled(const struct codec *c, int8_t exponent)
{
    return c->kind->rescaled ? c->kind->rescaled(c, exponent) : 0;
}

bool codec_rescales(const struct codec *c)
{
    return c->kind->rescales && c->kind->rescales(c);
}

int codec_guess(const struct codec *c)
{
    return c->kind->guess ? c->kind->guess(c) : 0;
}

bool codec_asks_max(const struct codec *c, const struct codec_layer *layer)
{
    return c->kind->asks_max && c->kind->asks_max(c, layer);
}

size_t codec_state_bytes(const struct codec *c, const struct codec_layer *layer)
{
    return c->kind->state_bytes ? c->kind->state_bytes(c, layer) : 0;
}

uint64_t codec_key(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank)
{
    return philox_key(c->seed, (uint32_t)step, layer, rank, STAGE_CAST);
}

void codec_absmax_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans)
{
    c->kind->absmax(c, spans, parts, n_spans);
}

void codec_exponents_all(const struct codec *c, struct vec_span *spans, int n_spans)
{
    struct vec_scale scale;
    if (codec_groups(c, &scale))
        c->ops->exponents_all(c->ops, &scale, spans, n_spans);
}

void codec_encode_all(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                      int n_spans)
{
    c->kind->encode(c, spans, parts, n_spans);
}

void codec_scan_encode_all(const struct codec *c, struct vec_span *spans,
                           const struct codec_part *parts, int n_spans)
{
    if (c->kind->scan_encode) {
        c->kind->scan_encode(c, spans, parts, n_spans);
        return;
    }
    c->kind->absmax(c, spans, parts, n_spans);
    c->kind->encode(c, spans, parts, n_spans);
}

struct vec_out codec_out(const struct codec *c, const uint8_t *codes, size_t n, int shift, void *x)
{
    const struct vec_sum *sum = codec_sum(c);
    return (struct vec_out){.x = x,
                            .type = c->type,
                            .codes = codes,
                            .n = n,
                            .shift = (sum ? sum->out_shift : 0) - shift,
                            .block = sum ? sum->out_group : 0};
}

void codec_decode_all(const struct codec *c, const struct vec_out *outs,
                      const struct codec_part *parts, int n_outs)
{
    if (codec_adds_values(c))
        c->ops->decode_all(c->ops, mf_fp32(), outs, n_outs, codec_divisor(c));
    else
        c->kind->decode(c, outs, parts, n_outs);
}

void codec_encode(const struct codec *c, uint64_t step, uint32_t layer, uint32_t rank,
                  const float *x, size_t n, int shift, uint8_t *codes)
{
    const struct codec_layer whole = {.index = layer, .n = n};
    const struct codec_part part = {.layer = &whole};
    struct vec_span span = {.x = x,
                            .codes = codes,
                            .n = n,
                            .padded = n,
                            .key = codec_key(c, step, layer, rank),
                            .shift = shift};
    codec_encode_all(c, &span, &part, 1);
}

void codec_decode(const struct codec *c, const uint8_t *codes, size_t n, int shift, float *x)
{
    const struct codec_layer whole = {.n = n};
    const struct codec_part part = {.layer = &whole};
    const struct vec_out out = codec_out(c, codes, n, shift, x);
    codec_decode_all(c, &out, &part, 1);
}

struct reduce_op codec_reduce_op(const struct codec_call *call)
{
    const struct codec_kind *kind = call->codec->kind;
    const struct codec_layer none = {.n = 0};
    return (struct reduce_op){.ops = codec_adds_values(call->codec) ? &reduce_op_values : kind->op,
                              .ctx = call,
                              .unit =
                                  kind->unit(call->codec, call->n_layers ? call->layers : &none)};
}

/* From this magnitude on, a half is inf. `trunc` never makes inf, so losses beyond e5m2's range
 * show only before the cast. */
static const double TRUNC_BEYOND = 65520;

void codec_lost_add(struct codec_lost *lost, const struct vec_cast *cast, int shift, const float *x,
                    size_t n, size_t at)
{
    enum { BLOCK = 512 };
    const struct vec_ops *vec = vec_best();
    const struct mf_fmt f = cast->fmt;
    const bool numbers =
        f.flavour == MF_NUMBERS; /* without inf: a larger format shows saturation */
    const float most = float_of(mf_dec(f, mf_max(f), 0));
    struct vec_cast open = *cast, wide = *cast;
    uint8_t codes[BLOCK * sizeof(float)];
    float y[BLOCK], top[BLOCK];
    open.overflow = MF_INF; /* makes saturation visible */
    wide.fmt = (struct mf_fmt){8, f.m, MF_IEEE};
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        vec->encode(&open, x + i, k, at + i, shift, codes);
        vec->decode(f, codes, k, 0, 1, y);
        if (numbers) {
            vec->encode(&wide, x + i, k, at + i, shift, codes);
            vec->decode(wide.fmt, codes, k, 0, 1, top);
        }
        for (size_t j = 0; j < k; j++) {
            const float v = x[i + j];
            if (v == 0 || !isfinite(v))
                continue;
            lost->underflow += y[j] == 0;
            lost->saturated += cast->trunc ? ldexp(fabs((double)v), shift) >= TRUNC_BEYOND
                               : numbers   ? !(fabsf(top[j]) <= most)
                                           : !isfinite(y[j]);
        }
    }
}

void codec_lost_by(struct codec_lost *lost, const struct codec *c, const struct vec_cast *cast,
                   const int8_t *exponents, const float *x, size_t n, size_t at)
{
    struct vec_scale scale;
    const size_t step = codec_groups(c, &scale) ? scale.group : n;
    for (size_t i = 0; i < n; i += step)
        codec_lost_add(lost, cast, codec_shift(c, *exponents++), x + i, n - i < step ? n - i : step,
                       at + i);
}
