/* codec_ternary.c : TernGrad: each gradient drawn to -1, 0 or 1 times the largest of its layer over
 * all ranks, so that the mean is right; what is far from all others is clipped first. Sums are whole
 * numbers, so they are exact in any order. Source: Wen, Xu, Yan, Wu, Wang, Chen, Li, "TernGrad",
 * NIPS 2017. */
#include "base/err.h"
#include "base/number.h"
#include "codec/codec_kind.h"
#include "vec/fp_mode.h"
#include "vec/pack.h"
#include "vec/vec_levels.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, CODE_BITS = 2, UNIT = 8 };

struct ternary {
    float clip; /* standard deviations from 0 */
};

static const struct ternary *ternary_of(const struct codec *c)
{
    return (const void *)c->own;
}

/* ---- words ---- */

static int ternary_parse(const struct codec_words *words, const char *rest, struct codec *c)
{
    struct ternary t = {.clip = 2.5f};
    TRY(codec_no_format(words, "ternary"));
    if (rest) {
        const bool named = strncmp(rest, "clip=", 5) == 0;
        char *end = NULL;
        const double clip = named ? number_read(rest + 5, &end) : 0;
        if (!named || end == rest + 5 || *end || !(clip >= 1 && clip <= 1e6))
            return ERR(-EINVAL,
                       "bad --codec \"%s\": need ternary or ternary:clip=X, X standard deviations "
                       "from 1 to 1e6",
                       words->codec);
        t.clip = (float)clip;
    }
    static_assert(sizeof t <= CODEC_OWN_BYTES, "struct codec has too little room");
    memcpy(c->own, &t, sizeof t);
    return 0;
}

static void ternary_describe(const struct codec *c, struct text *to)
{
    char clip[32];
    number_print(clip, sizeof clip, 9, (double)ternary_of(c)->clip);
    text_add(to, "ternary:clip=%s", clip);
}

static int ternary_settle(struct codec *c, const struct codec_adder *by)
{
    (void)by;
    return c->ops->levels
               ? 0
               : ERR(-EINVAL, "--codec ternary does not run on a GPU: need --device cpu");
}

/* ---- layers ---- */

static bool asks_max(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return true;
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return UNIT;
}

/* The largest magnitude that clipping leaves. The deviation is that from 0: a layer of one number, or
 * of equal ones, stays as it is. */
static void absmax(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    codec_absmax_x(c, spans, parts, n_spans);
    for (int i = 0; i < n_spans; i++) {
        struct vec_span *s = &spans[i];
        if (s->absmax == 0 || s->absmax >= 0x7f800000)
            continue;
        float max;
        memcpy(&max, &s->absmax, sizeof max);
        const float clip = c->ops->levels->deviations(s->x, s->n, max, ternary_of(c)->clip);
        if (clip < max)
            memcpy(&s->absmax, &clip, sizeof clip);
    }
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    for (int i = 0; i < n_spans; i++) {
        const struct vec_span *s = &spans[i];
        const struct codec_layer *l = parts[i].layer;
        c->ops->levels->draw(CODE_BITS, l->max, l->own_max, s->x, s->n, s->padded, s->at, s->key,
                             s->codes);
    }
}

/* ---- sums: 0 .. 2P for -P .. P ---- */

static unsigned sum_bits(const struct codec *c)
{
    unsigned bits = CODE_BITS;
    while (((uint64_t)1 << bits) < 2 * (uint64_t)c->n_ranks + 1)
        bits++;
    return bits;
}

static const struct codec *codec_of(const struct fold *f)
{
    const struct codec_call *call = f->ctx;
    return call->codec;
}

/* A call of its own, in IEEE mode. */
static __attribute__((noinline)) void decode_one(const struct codec *c, const struct vec_out *out,
                                                 float max)
{
    const float n_ranks = (float)c->n_ranks;
    uint32_t words[BLOCK];
    for (size_t at = 0; at < out->n; at += BLOCK) {
        const size_t n = out->n - at < BLOCK ? out->n - at : BLOCK;
        pack_read(sum_bits(c), out->codes + at / 8 * sum_bits(c), n, words);
        for (size_t k = 0; k < n; k++)
            out->x[at + k] = (float)((int32_t)words[k] - c->n_ranks) / n_ranks * max;
    }
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    const uint64_t was = fp_mode_ieee();
    for (int i = 0; i < n_outs; i++)
        decode_one(c, &outs[i], parts[i].layer->max);
    fp_mode_back(was);
}

static size_t in_bytes(const struct fold *f, size_t n)
{
    (void)f;
    return (n * CODE_BITS + 7) / 8;
}
static size_t out_bytes(const struct fold *f, size_t n)
{
    return (n * sum_bits(codec_of(f)) + 7) / 8;
}
static size_t acc_bytes(const struct fold *f, size_t n)
{
    (void)f;
    return n * sizeof(int32_t);
}

static void add(const struct fold *f, size_t at, void *acc, const uint8_t *codes, size_t n,
                bool first)
{
    int32_t *sums = acc;
    uint32_t words[BLOCK];
    (void)f, (void)at;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        pack_read(CODE_BITS, codes + i / 8 * CODE_BITS, k, words);
        for (size_t j = 0; j < k; j++)
            sums[i + j] = (first ? 0 : sums[i + j]) + (int32_t)(words[j] & 1) -
                          (int32_t)(words[j] & words[j] >> 1) * 2; /* | negative | 1 | */
    }
}

static void spill(const struct fold *f, const void *acc, size_t n, uint8_t *codes)
{
    const struct codec *c = codec_of(f);
    const int32_t *sums = acc;
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        for (size_t j = 0; j < k; j++)
            words[j] = (uint32_t)(sums[i + j] + c->n_ranks);
        pack_write(sum_bits(c), words, k, codes + i / 8 * sum_bits(c));
    }
}

static void done(const struct fold *f, size_t at, const void *acc, size_t n, uint8_t *codes)
{
    (void)at;
    spill(f, acc, n, codes);
}

static void add_wide(const struct fold *f, void *acc, const uint8_t *wide, size_t n, bool first)
{
    const struct codec *c = codec_of(f);
    int32_t *sums = acc;
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        pack_read(sum_bits(c), wide + i / 8 * sum_bits(c), k, words);
        for (size_t j = 0; j < k; j++)
            sums[i + j] = (first ? 0 : sums[i + j]) + (int32_t)words[j] - c->n_ranks;
    }
}

static void sum(const struct fold *f, size_t at, const uint8_t *const *parts, int n_parts, size_t n,
                bool last, uint8_t *codes)
{
    int32_t sums[BLOCK];
    assert(last);
    (void)last;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        for (int p = 0; p < n_parts; p++)
            add(f, at + i, sums, parts[p] + in_bytes(f, i), k, p == 0);
        spill(f, sums, k, codes + out_bytes(f, i));
    }
}

static const struct fold_ops ternary_fold = {
    .in_bytes = in_bytes,
    .out_bytes = out_bytes,
    .acc_bytes = acc_bytes,
    .wide_bytes = out_bytes,
    .add = add,
    .done = done,
    .sum = sum,
    .spill = spill,
    .add_wide = add_wide, /* no part(): sums do not fit the codes of addends */
};

const struct codec_kind codec_ternary = {
    .name = "ternary",
    .help =
        "ternary[:clip=X]: -1, 0 or 1 times the largest gradient of a layer over all ranks, "
        "drawn without bias, 2 bits each; before that, gradients are clipped at X (2.5) standard "
        "deviations. Sums are exact",
    .parse = ternary_parse,
    .leaves_small = true,
    .asks_max = asks_max,
    .sums = FOLD_WIDE,
    .settle = ternary_settle,
    .describe = ternary_describe,
    .unit = unit,
    .absmax = absmax,
    .encode = encode,
    .scan_encode = encode, /* never called: codes need the maxima of all ranks */
    .decode = decode,
    .fold = &ternary_fold,
};
