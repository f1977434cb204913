/* quantile.c : a quantile of a layer's magnitudes becomes a format's largest number. Source: fp8
 * paper, section 3.2.2. */
#include "codec/quantile.h"
#include "base/err.h"
#include "codec/codec_minifloat.h"
#include "hls/philox.h"
#include "vec/fp_mode.h"
#include "vec/vec_ratio.h"
#include <assert.h>
#include <math.h>
#include <string.h>

#define STAGE_SAMPLES 0x73616d70u /* "samp": names this use of random bits */

enum { BLOCK = 1024 }; /* elements; a multiple of 8: codes of blocks begin on a byte */

/* What becomes of q: the format's largest number. Of formats of more than 6 bits of exponent, which
 * have no need of a scale, 2^32: fp32 has no room above it for what is divided by a small q. */
static float top_of(struct mf_fmt f)
{
    if (f.e > 6)
        return 0x1p32f;
    const uint32_t bits = mf_dec(f, mf_max(f), 0);
    float top;
    memcpy(&top, &bits, sizeof top);
    return top;
}

/* ---- q, and what is kept of it ---- */

/* Of a layer; zeros: there is none yet. Any bytes will do: what no step leaves is as good as none. */
struct kept {
    float q;
    uint32_t left; /* steps that it is in force for */
};

static struct kept kept_of(const struct codec *c, const struct codec_layer *layer)
{
    const struct minifloat *m = minifloat_of(c);
    struct kept k = {0, 0};
    if (layer->state)
        memcpy(&k, layer->state, sizeof k);
    const bool sound = k.left > 0 && k.left < m->quantile.every && k.q > 0 && isfinite(k.q);
    return sound ? k : (struct kept){0, 0};
}

bool quantile_asks_max(const struct codec *c, const struct codec_layer *layer)
{
    return !layer || kept_of(c, layer).left == 0;
}

size_t quantile_state_bytes(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return sizeof(struct kept);
}

/* In force in this step. */
static float q_of(const struct codec *c, const struct codec_layer *layer)
{
    const struct kept k = kept_of(c, layer);
    return k.left ? k.q : relative_quantile(layer->max, top_of(minifloat_of(c)->sum.in));
}

/* One step less; or, where q was sought in this one, one less than all. */
static void keep(const struct codec *c, const struct codec_layer *layer, float q)
{
    const uint32_t left = kept_of(c, layer).left;
    const struct kept next = {q, (left ? left : minifloat_of(c)->quantile.every) - 1};
    if (layer->next_state)
        memcpy(layer->next_state, &next, sizeof next);
}

/* NULL: gradients are sent as they are. */
static const float *weights_of(const struct minifloat *m, const struct codec_part *part)
{
    assert(m->quantile.eps == 0 || part->layer->weights);
    return m->quantile.eps > 0 && part->layer->weights ? part->layer->weights + part->at : NULL;
}

/* The bits of |d| of element i, finite. */
static uint32_t magnitude(const struct minifloat *m, const float *x, const float *w, size_t i)
{
    const float d = w ? x[i] / relative_to(w[i], (float)m->quantile.eps) : x[i];
    uint32_t bits;
    memcpy(&bits, &d, sizeof bits);
    bits &= 0x7fffffff;
    return bits < 0x7f7fffff ? bits : 0x7f7fffff;
}

/* The quantile of a whole layer, on this rank: of all elements, or of as many as are drawn, each of
 * the first 2^32 as likely as any other, again and again. A call of its own, in IEEE mode. */
static __attribute__((noinline)) uint32_t sample(const struct minifloat *m,
                                                 const struct vec_span *s, const float *w)
{
    uint32_t bits[QUANTILE_SAMPLES_MAX];
    const uint32_t most = m->quantile.samples, n = s->n < most ? (uint32_t)s->n : most;
    const uint64_t key = philox_key(s->key, STAGE_SAMPLES, 0, 0, 0),
                   among = s->n < UINT32_MAX ? s->n : UINT32_MAX;
    for (uint32_t k = 0; k < n; k++)
        bits[k] = magnitude(m, s->x, w, s->n <= most ? k : (among * philox_u32(key, k)) >> 32);
    return n ? relative_smallest(bits, n, relative_rank(m->quantile.part, n)) : 0;
}

void quantile_absmax(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                     int n_spans)
{
    const struct minifloat *m = minifloat_of(c);
    const uint64_t was = fp_mode_ieee();
    codec_absmax_x(c, spans, parts, n_spans);
    for (int i = 0; i < n_spans; i++) {
        const struct kept k = kept_of(c, parts[i].layer);
        if (spans[i].absmax >= 0x7f800000)
            continue;
        if (k.left)
            memcpy(&spans[i].absmax, &k.q, sizeof k.q);
        else
            spans[i].absmax = sample(m, &spans[i], weights_of(m, &parts[i]));
    }
    fp_mode_back(was);
}

/* ---- casts, block by block ---- */

/* scan: fills absmax. */
static void encode_one(const struct codec *c, struct vec_span *s, const struct codec_part *part,
                       bool scan)
{
    const struct minifloat *m = minifloat_of(c);
    const float q = q_of(c, part->layer), *w = weights_of(m, part);
    const struct relative_scale scale = relative_scale_of(q, top_of(m->sum.in));
    struct vec_cast cast = minifloat_cast(m);
    float sent[BLOCK];
    cast.key = s->key;
    memset(s->codes, 0, vec_bytes(cast.fmt, s->padded));
    for (size_t i = 0; i < s->n; i += BLOCK) {
        const size_t n = s->n - i < BLOCK ? s->n - i : BLOCK;
        if (scan) {
            const uint32_t max = c->ops->absmax(s->x + i, n);
            s->absmax = i && s->absmax > max ? s->absmax : max;
        }
        if (q == 0)
            continue;
        c->ops->ratio->send(s->x + i, w ? w + i : NULL, n, (float)m->quantile.eps, scale,
                            (float)m->share, sent);
        c->ops->encode(&cast, sent, n, s->at + i, 0, s->codes + vec_bytes(cast.fmt, i));
    }
    keep(c, part->layer, q);
}

void quantile_encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                     int n_spans)
{
    for (int i = 0; i < n_spans; i++)
        encode_one(c, &spans[i], &parts[i], false);
}

void quantile_scan_encode(const struct codec *c, struct vec_span *spans,
                          const struct codec_part *parts, int n_spans)
{
    for (int i = 0; i < n_spans; i++)
        encode_one(c, &spans[i], &parts[i], true);
}

/* Sums of shares are means already; exact ones lack the division by all ranks, and have been divided
 * by a power of two for the way back. */
void quantile_decode(const struct codec *c, const struct vec_out *outs,
                     const struct codec_part *parts, int n_outs)
{
    const struct minifloat *m = minifloat_of(c);
    const float ranks = m->sum.rule == VEC_EXACT ? (float)c->n_ranks : 1.0f;
    for (int i = 0; i < n_outs; i++) {
        const struct vec_out *o = &outs[i];
        const float *w = weights_of(m, &parts[i]);
        const struct relative_scale scale =
            relative_scale_of(q_of(c, parts[i].layer), top_of(m->sum.in));
        for (size_t at = 0; at < o->n; at += BLOCK) {
            const size_t n = o->n - at < BLOCK ? o->n - at : BLOCK;
            c->ops->decode(m->sum.out, o->codes + vec_bytes(m->sum.out, at), n, o->shift, ranks,
                           o->x + at);
            c->ops->ratio->back(w ? w + at : NULL, n, (float)m->quantile.eps, scale, o->x + at);
        }
    }
}
