/* quantile.c : searches, keeps and applies quantiles. Source: fp8 paper, section 3.2.2. */
#include "codec/quantile.h"
#include "base/err.h"
#include "codec/codec_minifloat.h"
#include "vec/list/vec_ratio.h"
#include "base/text.h"
#include "hls/arith/relative_lists.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* Formats with more than 6 exponent bits have the top 2^32: dividing by a small q needs room in
 * fp32. */
static float top_of(struct mf_fmt f)
{
    if (f.e > 6)
        return 0x1p32f;
    const uint32_t bits = mf_dec(f, mf_max(f), 0);
    float top;
    memcpy(&top, &bits, sizeof top);
    return top;
}

/* A layer's state. It has no q if it is all zero, or has values that no step writes (untrusted
 * checkpoints). */
struct kept {
    float q;
    uint32_t left; /* steps for which q is still used */
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

static float q_of(const struct codec *c, const struct codec_layer *layer)
{
    const struct kept k = kept_of(c, layer);
    return k.left ? k.q : relative_quantile(layer->max, top_of(minifloat_of(c)->sum.in));
}

static void keep(const struct codec *c, const struct codec_layer *layer)
{
    const uint32_t left = kept_of(c, layer).left;
    const struct kept next = {q_of(c, layer), (left ? left : minifloat_of(c)->quantile.every) - 1};
    if (layer->next_state)
        memcpy(layer->next_state, &next, sizeof next);
}

static const void *weights_of(const struct codec *c, const struct codec_part *part)
{
    const double eps = minifloat_of(c)->quantile.eps;
    assert(eps == 0 || part->layer->weights);
    return eps > 0 && part->layer->weights ? codec_at(c, part->layer->weights, part->at) : NULL;
}

static struct relative_rule rule_of(const struct minifloat *m)
{
    return (struct relative_rule){
        .eps = (float)m->quantile.eps, .share = (float)m->share, .samples = m->quantile.samples};
}

/* Backends limit the parts per call. in_force is false while the quantile is being computed. */
static int fill(const struct codec *c, const struct codec_part *parts, int n, bool in_force,
                struct relative_part list[CODEC_PIECES])
{
    const struct minifloat *m = minifloat_of(c);
    const int some = n < CODEC_PIECES ? n : CODEC_PIECES;
    for (int k = 0; k < some; k++) {
        const float q = in_force ? q_of(c, parts[k].layer) : 0;
        list[k] = (struct relative_part){.w = weights_of(c, &parts[k]),
                                         .type = c->type,
                                         .scale = relative_scale_of(q, top_of(m->sum.in))};
    }
    return some;
}

void quantile_absmax(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                     int n_spans)
{
    const struct minifloat *m = minifloat_of(c);
    const struct relative_rule rule = rule_of(m);
    struct relative_part list[CODEC_PIECES];
    for (int from = 0, n; from < n_spans; from += n) {
        n = fill(c, parts + from, n_spans - from, false, list);
        for (int k = 0; k < n; k++)
            if (kept_of(c, parts[from + k].layer).left == 0)
                list[k].rank =
                    relative_rank(m->quantile.part, relative_looks(&rule, spans[from + k].n));
        c->ops->ratio_lists->quantile(c->ops, &rule, spans + from, list, n);
        for (int k = 0; k < n; k++) {
            const struct kept kept = kept_of(c, parts[from + k].layer);
            if (kept.left && spans[from + k].absmax < 0x7f800000)
                memcpy(&spans[from + k].absmax, &kept.q, sizeof kept.q);
        }
    }
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans, bool scan)
{
    const struct minifloat *m = minifloat_of(c);
    const struct relative_rule rule = rule_of(m);
    const struct vec_cast cast = minifloat_cast(m);
    struct relative_part list[CODEC_PIECES];
    for (int from = 0, n; from < n_spans; from += n) {
        n = fill(c, parts + from, n_spans - from, true, list);
        c->ops->ratio_lists->encode(c->ops, &rule, &cast, spans + from, list, n, scan);
    }
    for (int i = 0; i < n_spans; i++)
        keep(c, parts[i].layer);
}

void quantile_encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                     int n_spans)
{
    encode(c, spans, parts, n_spans, false);
}

void quantile_scan_encode(const struct codec *c, struct vec_span *spans,
                          const struct codec_part *parts, int n_spans)
{
    encode(c, spans, parts, n_spans, true);
}

/* Only exact sums are divided by the number of ranks; sums of shares are means. */
void quantile_decode(const struct codec *c, const struct vec_out *outs,
                     const struct codec_part *parts, int n_outs)
{
    const struct minifloat *m = minifloat_of(c);
    const struct relative_rule rule = rule_of(m);
    const float ranks = m->sum.rule == VEC_EXACT ? (float)c->n_ranks : 1.0f;
    struct relative_part list[CODEC_PIECES];
    for (int from = 0, n; from < n_outs; from += n) {
        n = fill(c, parts + from, n_outs - from, true, list);
        c->ops->ratio_lists->decode(c->ops, &rule, m->sum.out, outs + from, list, n, ranks);
    }
}

const char quantile_ranges[] = "q=X, 1e-9 to 1, every=N steps, 1 to 1e9, samples=N, 1 to 16384";

struct quantile quantile_default(void)
{
    return (struct quantile){.part = 0.95, .every = 100, .samples = 1024};
}

static int read_real(const char *at, size_t n, const char *name, double least, double most,
                     double *out)
{
    const size_t skip = strlen(name);
    char *end;
    if (n <= skip || memcmp(at, name, skip) != 0)
        return 0;
    const double x = number_read(at + skip, &end);
    if (end != at + n || !(x >= least && x <= most))
        return -EINVAL;
    *out = x;
    return 1;
}

static int read_whole(const char *at, size_t n, const char *name, double most, uint32_t *out)
{
    double x = 0;
    const int rc = read_real(at, n, name, 1, most, &x);
    if (rc <= 0)
        return rc;
    if ((double)(uint32_t)x != x)
        return -EINVAL;
    *out = (uint32_t)x;
    return 1;
}

int quantile_read(const char *at, size_t n, struct quantile *q)
{
    int rc = read_real(at, n, "q=", 1e-9, 1, &q->part);
    if (!rc)
        rc = read_whole(at, n, "every=", 1e9, &q->every);
    if (!rc)
        rc = read_whole(at, n, "samples=", RELATIVE_SAMPLES_MAX, &q->samples);
    return rc;
}

void quantile_print_real(const char *name, double x, struct text *to)
{
    char number[32], *end;
    int digits = 0;
    do
        number_print(number, sizeof number, ++digits, x);
    while (digits < 17 && number_read(number, &end) != x);
    text_add(to, "%s%s", name, number);
}

void quantile_print(const struct quantile *q, struct text *to)
{
    quantile_print_real("q=", q->part, to);
    text_add(to, ",every=%u,samples=%u", q->every, q->samples);
}
