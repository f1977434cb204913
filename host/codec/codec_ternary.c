/* codec_ternary.c : implements TernGrad, which sends -1, 0 or 1 times the layer's maximum.
 *
 *    g --clip at 2.5 deviations--> own max ==max of all ranks, fp32==> max
 *    g --sample with probability |g| / max--> -1, 0, 1 (2 bits) ==sum in -P .. P==> sum / P * max
 *
 * Samples are unbiased. Sums are integers of ceil(log2(2P + 1)) bits, exact in any order. Cards
 * add in e2m1, and round to e2m5, which holds the integers from -64 to 64. Source:
 * Wen, Xu, Yan, Wu, Wang, Chen, Li, "TernGrad", NIPS 2017. */
#include "base/err.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "hls/card/packet.h"
#include "vec/list/vec_counts.h"
#include "vec/list/vec_levels.h"
#include "vec/pack.h"
#include <assert.h>
#include <string.h>

struct ternary {
    float clip; /* in standard deviations from 0 */
};

static const struct ternary *ternary_of(const struct codec *c)
{
    return (const void *)c->own;
}

static int ternary_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    struct ternary t = {.clip = 2.5f};
    TRY(codec_no_format(spec, "ternary"));
    if (rest) {
        const bool named = strncmp(rest, "clip=", 5) == 0;
        char *end = NULL;
        const double clip = named ? number_read(rest + 5, &end) : 0;
        if (!named || end == rest + 5 || *end || !(clip >= 1 && clip <= 1e6))
            return ERR(-EINVAL,
                       "bad --codec \"%s\": need ternary, or ternary:clip=X with X from 1 to 1e6 "
                       "standard deviations",
                       spec->codec);
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
    (void)c, (void)by;
    return 0;
}

static bool asks_max(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return true;
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return COUNTS_UNIT;
}

/* The deviation of the layer on this rank is measured from 0, so equal numbers stay unchanged. */
static void absmax(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    (void)parts;
    c->ops->level_lists->clipped(c->ops, ternary_of(c)->clip, spans, n_spans);
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    struct draw_span list[CODEC_PIECES];
    for (int from = 0, k; from < n_spans; from += k) {
        for (k = 0; k < CODEC_PIECES && from + k < n_spans; k++) {
            const struct vec_span *s = &spans[from + k];
            const struct codec_layer *l = parts[from + k].layer;
            list[k] = (struct draw_span){.x = s->x,
                                         .type = s->type,
                                         .codes = s->codes,
                                         .n = s->n,
                                         .padded = s->padded,
                                         .at = s->at,
                                         .key = s->key,
                                         .scale = l->max,
                                         .clip = l->own_max};
        }
        c->ops->level_lists->draw(c->ops, list, k);
    }
}

/* ---- sums: codes 0 .. 2P for -P .. P ---- */

static struct counts_rule rule_of(const struct codec *c)
{
    struct counts_rule r = {.n_ranks = c->n_ranks, .bits = COUNTS_DRAW_BITS};
    while (((uint64_t)1 << r.bits) < 2 * (uint64_t)c->n_ranks + 1)
        r.bits++;
    return r;
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    const struct counts_rule r = rule_of(c);
    struct counts_out list[CODEC_PIECES];
    for (int from = 0, k; from < n_outs; from += k) {
        for (k = 0; k < CODEC_PIECES && from + k < n_outs; k++) {
            const struct vec_out *o = &outs[from + k];
            list[k] = (struct counts_out){.x = o->x,
                                          .type = o->type,
                                          .codes = o->codes,
                                          .n = o->n,
                                          .max = parts[from + k].layer->max};
        }
        c->ops->counts->decode(&r, list, k);
    }
}

/* ---- cards: codes are | sign | magnitude | ---- */

static const struct vec_sum *card_sum(const struct codec *c)
{
    static const struct vec_sum sum = {.rule = VEC_EXACT,
                                       .overflow = MF_SATURATE,
                                       .in = {2, 1, 0},
                                       .out = {2, 5, 0},
                                       .out_shift = 4,
                                       .n_ranks = PKT_MAX_RANKS};
    (void)c;
    return &sum;
}

/* bits 0, 2, 4, 6 at 0, 4, 8, 12 */
static uint32_t spread(uint32_t bits)
{
    const uint32_t halves = (bits | bits << 4) & 0x0505;
    return (halves | halves << 2) & 0x1111;
}

static void to_card(const uint8_t *codes, size_t at, size_t n, uint8_t *card)
{
    codes += at * COUNTS_DRAW_BITS / 8;
    for (size_t i = 0; i < (n + 3) / 4; i++) {
        const uint32_t four = spread(codes[i]) | spread(codes[i] >> 1) << 3;
        card[2 * i] = (uint8_t)four;
        card[2 * i + 1] = (uint8_t)(four >> 8);
    }
}

/* Sums of a false card may be too large. */
static void from_card(const struct codec *c, const uint8_t *card, size_t at, size_t n,
                      uint8_t *sums)
{
    enum { BLOCK = 256 };
    const struct counts_rule r = rule_of(c);
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = n - i < BLOCK ? n - i : BLOCK;
        for (size_t j = 0; j < k; j++) {
            const int32_t size = card[i + j] & 127, sum = card[i + j] & 128 ? -size : size;
            words[j] = (uint32_t)(r.n_ranks + sum) & ((1u << r.bits) - 1);
        }
        pack_write(r.bits, words, k, sums + (at + i) / 8 * r.bits);
    }
}

static const struct codec *codec_of(const struct reduce_op *f)
{
    const struct codec_call *call = f->ctx;
    return call->codec;
}

static size_t in_bytes(const struct reduce_op *f, size_t n)
{
    (void)f;
    return (n * COUNTS_DRAW_BITS + 7) / 8;
}
static size_t out_bytes(const struct reduce_op *f, size_t n)
{
    return (n * rule_of(codec_of(f)).bits + 7) / 8;
}
static size_t acc_bytes(const struct reduce_op *f, size_t n)
{
    (void)f;
    return n * sizeof(int32_t);
}

static void add(const struct reduce_op *f, size_t at, void *acc, const uint8_t *codes, size_t n,
                bool first)
{
    const struct counts_rule r = rule_of(codec_of(f));
    (void)at;
    codec_of(f)->ops->counts->add(&r, false, acc, codes, n, first);
}

static void add_wide(const struct reduce_op *f, void *acc, const uint8_t *wide, size_t n,
                     bool first)
{
    const struct counts_rule r = rule_of(codec_of(f));
    codec_of(f)->ops->counts->add(&r, true, acc, wide, n, first);
}

static void spill(const struct reduce_op *f, const void *acc, size_t n, uint8_t *codes)
{
    const struct counts_rule r = rule_of(codec_of(f));
    codec_of(f)->ops->counts->spill(&r, acc, n, codes);
}

static void done(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes)
{
    (void)at;
    spill(f, acc, n, codes);
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    const struct counts_rule r = rule_of(codec_of(f));
    assert(last);
    (void)at, (void)last;
    codec_of(f)->ops->counts->sum(&r, parts, n_parts, n, codes);
}

static const struct reduce_op_kind ternary_reduce_op = {
    .in_bytes = in_bytes,
    .out_bytes = out_bytes,
    .acc_bytes = acc_bytes,
    .wide_bytes = out_bytes,
    .add = add,
    .done = done,
    .sum = sum,
    .spill = spill,
    .add_wide = add_wide, /* no part(): sums do not fit the addends' codes */
};

const struct codec_kind codec_ternary = {
    .name = "ternary",
    .help = "ternary[:clip=X]: clips gradients at X (2.5, at least 1) standard deviations, then "
            "rounds without "
            "bias to -1, 0 or 1 times the largest gradient of the layer over all ranks, in 2 bits. "
            "Sums are exact",
    .parse = ternary_parse,
    .leaves_small = true,
    .asks_max = asks_max,
    .sums = REDUCE_WIDE,
    .settle = ternary_settle,
    .describe = ternary_describe,
    .card_sum = card_sum,
    .to_card = to_card,
    .from_card = from_card,
    .unit = unit,
    .absmax = absmax,
    .encode = encode,
    .decode = decode,
    .op = &ternary_reduce_op,
};
