/* signs_each.c : converts lists of vectors to signs on a CPU, one by one. */
#include "vec/vec.h"
#include "vec/list/vec_signs.h"
#include <assert.h>

static void encode(const struct vec_ops *ops, struct signs_span *spans, int n_spans, bool scan)
{
    for (int i = 0; i < n_spans; i++) {
        struct signs_span *s = &spans[i];
        assert(s->type == VEC_FLOAT);
        if (scan)
            s->absmax = ops->absmax(s->x, s->n);
        ops->signs->encode(&s->rule, s->x, s->n, s->padded, s->left, s->codes);
    }
}

static void decode(const struct vec_ops *ops, const struct signs_out *outs, int n_outs,
                   float divisor)
{
    for (int i = 0; i < n_outs; i++)
        ops->signs->decode(&outs[i].rule, outs[i].codes, outs[i].n, divisor, outs[i].x);
}

static void sum(const struct vec_ops *ops, const uint8_t *const *parts, int n_parts,
                const struct signs_span *spans, int n_spans, uint8_t *codes)
{
    for (int i = 0; i < n_spans; i++) {
        const struct signs_span *s = &spans[i];
        ops->signs->sum(&s->rule, parts, n_parts, (size_t)(s->codes - codes), s->n, s->padded,
                        s->left, s->codes);
    }
}

const struct vec_sign_lists sign_lists_each = {.encode = encode, .decode = decode, .sum = sum};
