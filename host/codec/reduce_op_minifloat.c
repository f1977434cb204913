/* reduce_op_minifloat.c : implements the reduce op of minifloat codes with vec_ops. */
#include "codec/codec_minifloat.h"
#include "vec/list/vec_ratio.h"

static const struct vec_sum *sum_of(const struct reduce_op *f)
{
    const struct codec_call *call = f->ctx;
    return &minifloat_of(call->codec)->sum;
}
static const struct vec_ops *ops_of(const struct reduce_op *f)
{
    const struct codec_call *call = f->ctx;
    return call->codec->ops;
}

static size_t in_bytes(const struct reduce_op *f, size_t n)
{
    return vec_bytes(sum_of(f)->in, n);
}
static size_t part_bytes(const struct reduce_op *f, size_t n)
{
    return vec_bytes(vec_acc_fmt(sum_of(f)), n);
}
static size_t out_bytes(const struct reduce_op *f, size_t n)
{
    return vec_result_bytes(sum_of(f), n);
}
static size_t acc_bytes(const struct reduce_op *f, size_t n)
{
    return vec_acc_bytes(sum_of(f), n);
}

static struct vec_sum wide_of(const struct reduce_op *f)
{
    struct vec_sum sum = *sum_of(f);
    if (f->wide_addends)
        sum.n_ranks = f->wide_addends;
    return sum;
}

static size_t wide_bytes(const struct reduce_op *f, size_t n)
{
    const struct vec_sum sum = wide_of(f);
    return sum.rule == VEC_EXACT ? vec_wide_bytes(&sum, n) : 0;
}

static void add(const struct reduce_op *f, size_t at, void *acc, const uint8_t *codes, size_t n,
                bool first)
{
    (void)at;
    ops_of(f)->accumulate(sum_of(f), acc, codes, n, first);
}

/* Divides a node's sums scaled by a quantile: they have no head-room for other nodes. */
static void divide(const struct reduce_op *f, size_t n, uint8_t *codes)
{
    const struct codec_call *call = f->ctx;
    const struct minifloat *m = minifloat_of(call->codec);
    struct vec_cast cast = minifloat_cast(m);
    cast.fmt = vec_acc_fmt(&m->sum);
    if (m->n_nodes > 1)
        ops_of(f)->ratio_lists->divide(ops_of(f), &cast, codes, n, (float)m->n_nodes);
}

static void part(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes)
{
    (void)at;
    const struct vec_sum *sum = sum_of(f);
    ops_of(f)->finish(sum, acc, n, vec_acc_fmt(sum), 0, codes);
    divide(f, n, codes);
}

static void done(const struct reduce_op *f, size_t at, const void *acc, size_t n, uint8_t *codes)
{
    (void)at;
    const struct vec_sum *sum = sum_of(f);
    if (sum->out_group)
        ops_of(f)->finish_blocks(ops_of(f), sum, acc, n, codes);
    else
        ops_of(f)->finish(sum, acc, n, sum->out, sum->out_shift, codes);
}

static void sum_by(const struct reduce_op *f, const struct vec_sum *sum,
                   const uint8_t *const *parts, int n_parts, size_t n, bool last, uint8_t *codes)
{
    if (last && sum->out_group) {
        ops_of(f)->sum_blocks(ops_of(f), sum, parts, n_parts, n, codes);
        return;
    }
    ops_of(f)->sum(sum, parts, n_parts, n, last ? sum->out : vec_acc_fmt(sum),
                   last ? sum->out_shift : 0, codes);
    if (!last)
        divide(f, n, codes);
}

static void sum_parts(const struct reduce_op *f, size_t at, const uint8_t *const *parts,
                      int n_parts, size_t n, bool last, uint8_t *codes)
{
    (void)at;
    sum_by(f, sum_of(f), parts, n_parts, n, last, codes);
}

static void merge(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                  size_t n, bool last, uint8_t *codes)
{
    (void)at;
    const struct vec_sum sum = vec_sum_of_partials(sum_of(f));
    sum_by(f, &sum, parts, n_parts, n, last, codes);
}

static void hop(const struct reduce_op *f, size_t at, const uint8_t *partial,
                const uint8_t *addends, size_t n, bool last, uint8_t *codes)
{
    const struct vec_sum *sum = sum_of(f);
    if (sum->acc.e)
        ops_of(f)->hop(sum, partial, addends, n, last ? sum->out : sum->acc, codes);
    else
        sum_parts(f, at, (const uint8_t *const[]){partial, addends}, 2, n, last, codes);
}

static int8_t *scales(const struct reduce_op *f, size_t *n_scales)
{
    const struct codec_call *call = f->ctx;
    *n_scales = minifloat_of(call->codec)->rescale ? (size_t)call->n_layers : 0;
    assert(*n_scales == 0 || call->rescaled);
    if (*n_scales)
        memset(call->rescaled, CODEC_ALL_ZERO, *n_scales);
    return call->rescaled;
}

static int8_t exponent_of(const struct minifloat *m, uint32_t peak)
{
    const struct mf_fmt fmt = vec_acc_fmt(&m->sum);
    if (peak == 0)
        return CODEC_ALL_ZERO;
    if (peak > mf_max(fmt))
        return CODEC_NOT_FINITE;
    const int e = mf_exp_up_times(mf_dec(fmt, peak, 0), (uint32_t)m->n_groups);
    return (int8_t)(e > 126 ? 126 : e < -126 ? -126 : e);
}

static void measure(const struct reduce_op *f, size_t at, const uint8_t *partial, size_t n)
{
    const struct codec_call *call = f->ctx;
    const struct minifloat *m = minifloat_of(call->codec);
    for (size_t i = 0, k; i < n; i += k) {
        const struct codec_piece p = codec_piece_at(call, at + i, at + n);
        const uint32_t peak =
            ops_of(f)->peak(vec_acc_fmt(&m->sum), partial + part_bytes(f, i), p.padded);
        const int8_t e = exponent_of(m, peak);
        int8_t *to = &call->rescaled[p.layer - call->layers];
        *to = e > *to ? e : *to;
        k = p.padded;
    }
}

static void rescale(const struct reduce_op *f, size_t at, uint8_t *partial, size_t n)
{
    const struct codec_call *call = f->ctx;
    const struct vec_sum sum = vec_sum_of_partials(sum_of(f));
    for (size_t i = 0, k; i < n; i += k) {
        const struct codec_piece p = codec_piece_at(call, at + i, at + n);
        const int shift = minifloat_rescale_shift(minifloat_of(call->codec),
                                                  call->rescaled[p.layer - call->layers]);
        uint8_t *codes = partial + part_bytes(f, i);
        const uint8_t *const one[] = {codes};
        if (shift)
            ops_of(f)->sum(&sum, one, 1, p.padded, sum.in, -shift, codes);
        k = p.padded;
    }
}

static void spill(const struct reduce_op *f, const void *acc, size_t n, uint8_t *wide)
{
    const struct vec_sum sum = wide_of(f);
    ops_of(f)->spill(&sum, acc, n, wide);
}

static void add_wide(const struct reduce_op *f, void *acc, const uint8_t *wide, size_t n,
                     bool first)
{
    const struct vec_sum sum = wide_of(f);
    ops_of(f)->accumulate_wide(&sum, acc, wide, n, first);
}

static bool sum_to_wide(const struct reduce_op *f, const uint8_t *const *parts, int n_parts,
                        size_t n, uint8_t *wide)
{
    const struct vec_sum sum = wide_of(f);
    return ops_of(f)->sum_to_wide && ops_of(f)->sum_to_wide(&sum, parts, n_parts, n, wide);
}

static bool sum_of_wide(const struct reduce_op *f, const uint8_t *const *wides, int n_parts,
                        size_t n, uint8_t *codes)
{
    const struct vec_sum sum = wide_of(f);
    return ops_of(f)->sum_of_wide && !sum.out_group &&
           ops_of(f)->sum_of_wide(&sum, wides, n_parts, n, sum.out, sum.out_shift, codes);
}

const struct reduce_op_kind minifloat_reduce_op = {
    .in_bytes = in_bytes,
    .part_bytes = part_bytes,
    .out_bytes = out_bytes,
    .acc_bytes = acc_bytes,
    .wide_bytes = wide_bytes,
    .add = add,
    .part = part,
    .done = done,
    .sum = sum_parts,
    .merge = merge,
    .hop = hop,
    .scales = scales,
    .measure = measure,
    .rescale = rescale,
    .spill = spill,
    .add_wide = add_wide,
    .sum_to_wide = sum_to_wide,
    .sum_of_wide = sum_of_wide,
};
