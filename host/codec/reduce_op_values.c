/* reduce_op_values.c : adds the values of codes in fp32, in rank order, without encoding the sums.
 *
 *     codes of each rank --decode--> values --add--> fp32
 *
 * Codes keep the layout of the kind's own reduce op. A sum has 4 bytes per element and lies at 4
 * times its first element, less the bytes that the codes of earlier layers spare. */
#include "codec/codec_kind.h"
#include <assert.h>

static const struct codec *codec_of(const struct reduce_op *f)
{
    const struct codec_call *call = f->ctx;
    return call->codec;
}

static size_t in_bytes(const struct reduce_op *f, size_t n)
{
    return codec_of(f)->kind->op->in_bytes(f, n);
}

static size_t out_bytes(const struct reduce_op *f, size_t n)
{
    (void)f;
    return n * sizeof(float);
}

static size_t spared(const struct reduce_op *f, size_t n)
{
    const struct reduce_op_kind *own = codec_of(f)->kind->op;
    return own->spared ? own->spared(f, n) : 0;
}

/* Decodes the codes of n_outs pieces to x, which begins as the sums do. */
static void decode(const struct codec *c, struct vec_out *outs, const struct codec_part *parts,
                   int n_outs, const size_t *codes_at, const size_t *sums_at, const uint8_t *codes,
                   void *x)
{
    struct codec values = *c;
    values.sums = true;
    for (int i = 0; i < n_outs; i++) {
        outs[i].codes = codes + codes_at[i];
        outs[i].x = (char *)x + sums_at[i];
    }
    c->kind->decode(&values, outs, parts, n_outs);
}

static void add(const struct codec *c, size_t n, const void *x, uint8_t *sum)
{
    const struct mf_fmt fp32 = mf_fp32();
    const struct vec_sum rule = {
        .rule = VEC_FP32, .overflow = MF_INF, .in = fp32, .out = fp32, .n_ranks = 2};
    const uint8_t *const parts[] = {sum, x};
    c->ops->sum(&rule, parts, 2, n, fp32, 0, sum);
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    const struct codec_call *call = f->ctx;
    struct vec_out outs[CODEC_PIECES];
    struct codec_part of[CODEC_PIECES];
    size_t codes_at[CODEC_PIECES], sums_at[CODEC_PIECES];
    assert(last && call->values);
    (void)last;
    for (size_t done = 0; done < n;) {
        int k = 0;
        for (; done < n && k < CODEC_PIECES; k++) {
            const struct codec_piece p = codec_piece_at(call, at + done, at + n);
            outs[k] = (struct vec_out){.n = p.n};
            of[k] = (struct codec_part){.layer = p.layer, .at = p.at};
            codes_at[k] = reduce_op_in_at(f, at + done) - reduce_op_in_at(f, at);
            sums_at[k] = reduce_op_out_at(f, at + done) - reduce_op_out_at(f, at);
            done += p.padded;
        }
        for (int p = 0; p < n_parts; p++) {
            decode(call->codec, outs, of, k, codes_at, sums_at, parts[p],
                   p ? call->values : (void *)codes);
            for (int i = 0; i < k && p; i++)
                add(call->codec, outs[i].n, (char *)call->values + sums_at[i], codes + sums_at[i]);
        }
    }
}

const struct reduce_op_kind reduce_op_values = {
    .in_bytes = in_bytes,
    .out_bytes = out_bytes,
    .spared = spared,
    .acc_bytes = codec_no_bytes,
    .wide_bytes = codec_no_bytes,
    .sum = sum,
};
