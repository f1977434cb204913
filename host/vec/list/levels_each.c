/* levels_each.c : converts lists of vectors to levels on a CPU, one by one. */
#include "vec/vec.h"
#include "vec/list/vec_counts.h"
#include "vec/list/vec_levels.h"
#include <string.h>

static void encode(const struct vec_ops *ops, const struct levels_rule *r, struct vec_span *spans,
                   int n_spans)
{
    for (int i = 0; i < n_spans; i++)
        spans[i].absmax = ops->levels->encode(r, spans[i].x, spans[i].n, spans[i].at, spans[i].key,
                                              spans[i].codes);
}

static void decode(const struct vec_ops *ops, const struct levels_rule *r,
                   const struct vec_out *outs, int n_outs, float divisor)
{
    for (int i = 0; i < n_outs; i++)
        ops->levels->decode(r, outs[i].codes, outs[i].n, divisor, outs[i].x);
}

static void sum(const struct vec_ops *ops, const struct levels_rule *r, const uint8_t *const *parts,
                int n_parts, const struct vec_span *spans, int n_spans, uint8_t *codes)
{
    for (int i = 0; i < n_spans; i++)
        ops->levels->sum(r, parts, n_parts, (size_t)(spans[i].codes - codes), spans[i].n,
                         spans[i].at, spans[i].key, spans[i].codes);
}

static void clipped(const struct vec_ops *ops, float times, struct vec_span *spans, int n_spans)
{
    ops->absmax_all(ops, spans, n_spans);
    for (int i = 0; i < n_spans; i++) {
        struct vec_span *s = &spans[i];
        if (s->absmax == 0 || s->absmax >= 0x7f800000)
            continue;
        float max;
        memcpy(&max, &s->absmax, sizeof max);
        const float clip = ops->levels->deviations(s->x, s->n, max, times);
        if (clip < max)
            memcpy(&s->absmax, &clip, sizeof clip);
    }
}

static void draw(const struct vec_ops *ops, const struct draw_span *spans, int n_spans)
{
    for (int i = 0; i < n_spans; i++)
        ops->levels->draw(COUNTS_DRAW_BITS, spans[i].scale, spans[i].clip, spans[i].x, spans[i].n,
                          spans[i].padded, spans[i].at, spans[i].key, spans[i].codes);
}

const struct vec_level_lists level_lists_each = {
    .encode = encode, .decode = decode, .sum = sum, .clipped = clipped, .draw = draw};
