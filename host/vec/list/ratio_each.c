/* ratio_each.c : scales and casts lists of vectors on a CPU, one by one, in blocks. */
#include "base/bits.h"
#include "vec/fp_mode.h"
#include "vec/vec.h"
#include "vec/list/vec_ratio.h"
#include <assert.h>
#include <string.h>

enum { BLOCK = 1024 }; /* elements; a multiple of 8, so blocks start on a byte */

static size_t block_at(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}

/* Not inlined, since it runs in IEEE mode (fp_mode.h). */
static __attribute__((noinline)) uint32_t
sample(const struct relative_rule *r, const struct vec_span *s, const float *w, uint32_t rank)
{
    uint32_t sizes[RELATIVE_SAMPLES_MAX];
    const uint32_t n = relative_looks(r, s->n);
    const uint64_t key = relative_samples_key(s->key);
    const float *x = s->x;
    for (uint32_t k = 0; k < n; k++) {
        const size_t i = relative_sampled(key, s->n, r->samples, k);
        const float d = w ? x[i] / relative_to(w[i], r->eps) : x[i];
        sizes[k] = relative_magnitude(bits_of(d));
    }
    return n ? relative_smallest(sizes, n, rank) : 0;
}

static void quantile(const struct vec_ops *ops, const struct relative_rule *r,
                     struct vec_span *spans, const struct relative_part *with, int n)
{
    ops->absmax_all(ops, spans, n);
    const uint64_t was = fp_mode_ieee();
    for (int i = 0; i < n; i++)
        if (with[i].rank && spans[i].absmax < 0x7f800000)
            spans[i].absmax = sample(r, &spans[i], with[i].w, with[i].rank);
    fp_mode_back(was);
}

static void encode_one(const struct vec_ops *ops, const struct relative_rule *r,
                       const struct vec_cast *cast, struct vec_span *s,
                       const struct relative_part *with, bool scan)
{
    const float *x = s->x, *w = with->w;
    float sent[BLOCK];
    assert(s->type == VEC_FLOAT && with->type == VEC_FLOAT);
    memset(s->codes, 0, vec_bytes(cast->fmt, s->padded));
    s->absmax = scan ? 0 : s->absmax;
    for (size_t i = 0; i < s->n; i += BLOCK) {
        const size_t n = block_at(i, s->n);
        const uint32_t max = scan ? ops->absmax(x + i, n) : 0;
        s->absmax = s->absmax > max || !scan ? s->absmax : max;
        if (with->scale.up == 0)
            continue;
        ops->ratio->send(x + i, w ? w + i : NULL, n, r->eps, with->scale, r->share, sent);
        ops->encode(cast, sent, n, s->at + i, 0, s->codes + vec_bytes(cast->fmt, i));
    }
}

static void encode(const struct vec_ops *ops, const struct relative_rule *r,
                   const struct vec_cast *cast, struct vec_span *spans,
                   const struct relative_part *with, int n, bool scan)
{
    for (int i = 0; i < n; i++) {
        struct vec_cast own = *cast;
        own.key = spans[i].key;
        encode_one(ops, r, &own, &spans[i], &with[i], scan);
    }
}

static void decode(const struct vec_ops *ops, const struct relative_rule *r, struct mf_fmt fmt,
                   const struct vec_out *outs, const struct relative_part *with, int n,
                   float divisor)
{
    for (int i = 0; i < n; i++) {
        const struct vec_out *o = &outs[i];
        const float *w = with[i].w;
        float *x = o->x;
        assert(o->type == VEC_FLOAT && with[i].type == VEC_FLOAT);
        for (size_t at = 0; at < o->n; at += BLOCK) {
            const size_t some = block_at(at, o->n);
            ops->decode(fmt, o->codes + vec_bytes(fmt, at), some, o->shift, divisor, x + at);
            ops->ratio->back(w ? w + at : NULL, some, r->eps, with[i].scale, x + at);
        }
    }
}

static void divide(const struct vec_ops *ops, const struct vec_cast *cast, uint8_t *codes, size_t n,
                   float divisor)
{
    struct vec_cast nearest = *cast;
    float x[BLOCK];
    nearest.round = MF_NEAREST;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t some = block_at(i, n);
        uint8_t *at = codes + vec_bytes(cast->fmt, i);
        ops->decode(cast->fmt, at, some, 0, divisor, x);
        ops->encode(&nearest, x, some, 0, 0, at);
    }
}

const struct vec_ratio_lists ratio_lists_each = {
    .quantile = quantile, .encode = encode, .decode = decode, .divide = divide};
