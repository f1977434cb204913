/* codec_nvfp4.c : implements NVFP4 words: 16 elements of 4 bits, an e4m3fn scale per block, and a
 * power of two 2^t per layer.
 *
 *    g --absmax--> t ==max of all ranks, one int8==> t
 *    g --own scale of each block, cast--> words ==int32 sums, exact, by the range's owner==>
 *                                               --/ P, fresh scales, cast--> words of the mean
 *
 *    bytes of a block: | scale | 16 elements, the first in the lowest bits |
 *
 * A word and a word of a mean take 4.5 bits per element. Sums do not depend on the order of ranks.
 * torchao's scales are at least 2^-6, while these may be any number of e4m3fn; other words are
 * equal. Source: hls/arith/block.h. */
#include "base/bits.h"
#include "base/err.h"
#include "codec/codec_kind.h"
#include "hls/arith/block.h"
#include <assert.h>
#include <string.h>

enum { BLOCK = NVFP4_BLOCK, BLOCK_BYTES = 1 + BLOCK / 2 };

static int nvfp4_parse(const struct codec_spec *spec, const char *rest, struct codec *c)
{
    (void)c;
    TRY(codec_no_format(spec, "nvfp4"));
    return rest ? ERR(-EINVAL, "bad --codec \"%s\": nvfp4 has no options", spec->codec) : 0;
}

static void nvfp4_describe(const struct codec *c, struct text *to)
{
    (void)c;
    text_add(to, "nvfp4");
}

static int nvfp4_settle(struct codec *c, const struct codec_adder *by)
{
    (void)by;
    if (c->n_ranks > NVFP4_MAX_RANKS)
        return ERR(-EINVAL, "cannot add codec \"nvfp4\" of %d ranks: an int32 holds sums of %d",
                   c->n_ranks, NVFP4_MAX_RANKS);
    return codec_on_cpu(c);
}

/* The shift is -t. */
static int exponent(const struct codec *c, uint32_t absmax_bits)
{
    (void)c;
    return nvfp4_exponent(absmax_bits);
}
static int shift(const struct codec *c, int8_t e)
{
    (void)c;
    return e == CODEC_ALL_ZERO || e == CODEC_NOT_FINITE ? 0 : -e;
}
static int guess(const struct codec *c)
{
    (void)c;
    return CODEC_NO_GUESS;
}

static size_t unit(const struct codec *c, const struct codec_layer *layer)
{
    (void)c, (void)layer;
    return BLOCK;
}

static uint32_t element_of(const uint8_t *block, int i)
{
    return block[1 + i / 2] >> (i % 2 * 4) & 15;
}

static void put_block(const struct mf_num *v, struct mf_num max, struct mf_num tensor,
                      uint8_t *block)
{
    const uint32_t scale = nvfp4_scale(max, tensor);
    const struct mf_num one = nvfp4_one(scale, tensor);
    block[0] = (uint8_t)scale;
    for (int i = 0; i < BLOCK; i += 2)
        block[1 + i / 2] = (uint8_t)(nvfp4_enc(v[i], one) | nvfp4_enc(v[i + 1], one) << 4);
}

static void encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                   int n_spans)
{
    (void)c, (void)parts;
    for (int k = 0; k < n_spans; k++) {
        const struct vec_span *s = &spans[k];
        const float *x = s->x;
        uint8_t *to = s->codes;
        for (size_t at = 0; at < s->n; at += BLOCK, to += BLOCK_BYTES) {
            struct mf_num v[BLOCK];
            uint32_t max = 0;
            for (size_t i = 0; i < BLOCK; i++) {
                const uint32_t bits = at + i < s->n ? bits_of(x[at + i]) : 0;
                v[i] = mf_unpack(mf_fp32(), bits);
                max = (bits & 0x7fffffff) > max ? bits & 0x7fffffff : max;
            }
            put_block(v, mf_unpack(mf_fp32(), max), block_num(1, -s->shift), to);
        }
    }
}

static void decode(const struct codec *c, const struct vec_out *outs,
                   const struct codec_part *parts, int n_outs)
{
    (void)parts;
    for (int k = 0; k < n_outs; k++) {
        const struct vec_out *o = &outs[k];
        const struct mf_num tensor = block_num(c->sums ? (uint32_t)c->n_ranks : 1, o->shift);
        float *x = o->x;
        const uint8_t *from = o->codes;
        for (size_t at = 0; at < o->n; at += BLOCK, from += BLOCK_BYTES) {
            const struct mf_num one = nvfp4_one(from[0], tensor);
            for (int i = 0; i < BLOCK && at + (size_t)i < o->n; i++)
                x[at + (size_t)i] = float_of(nvfp4_dec(element_of(from, i), one));
        }
    }
}

/* ---- sums ---- */

static size_t bytes_of(const struct reduce_op *f, size_t n)
{
    (void)f;
    return (n + BLOCK - 1) / BLOCK * BLOCK_BYTES;
}

static void sum_block(const uint8_t *const *parts, int n_parts, size_t skip, uint32_t *sums)
{
    memset(sums, 0, BLOCK * sizeof *sums);
    for (int p = 0; p < n_parts; p++) {
        const uint8_t *block = parts[p] + skip;
        const struct mf_num one = nvfp4_one(block[0], block_num(1, 0));
        for (int i = 0; i < BLOCK; i++)
            sums[i] += nvfp4_units(element_of(block, i), one);
    }
}

static void sum(const struct reduce_op *f, size_t at, const uint8_t *const *parts, int n_parts,
                size_t n, bool last, uint8_t *codes)
{
    const size_t bytes = bytes_of(f, n);
    assert(last);
    (void)at, (void)last;
    if (n_parts == 1) { /* a cast of the values could differ */
        memcpy(codes, parts[0], bytes);
        return;
    }
    for (size_t skip = 0; skip < bytes; skip += BLOCK_BYTES) {
        uint32_t sums[BLOCK];
        struct mf_num v[BLOCK], max = block_num(0, NVFP4_UNIT);
        sum_block(parts, n_parts, skip, sums);
        for (int i = 0; i < BLOCK; i++) {
            v[i] = nvfp4_sum(sums[i]);
            max.sig = v[i].sig > max.sig ? v[i].sig : max.sig;
        }
        put_block(v, max, block_num((uint32_t)n_parts, 0), codes + skip);
    }
}

static const struct reduce_op_kind nvfp4_reduce_op = {
    .in_bytes = bytes_of,
    .out_bytes = bytes_of,
    .acc_bytes = codec_no_bytes,
    .wide_bytes = codec_no_bytes,
    .sum = sum, /* enough if all parts meet in one place */
};

_Static_assert(NVFP4_MAX_RANKS == 780, "the number in .help");
const struct codec_kind codec_nvfp4 = {
    .name = "nvfp4",
    .help = "nvfp4: 4-bit floats (e2m1) with an e4m3 scale for each 16 elements of a rank and a "
            "power of two per layer. Sums of up to 780 ranks are exact, and their means are sent "
            "back in the same words",
    .parse = nvfp4_parse,
    .leaves_small = true,
    .settle = nvfp4_settle,
    .describe = nvfp4_describe,
    .exponent = exponent,
    .shift = shift,
    .guess = guess,
    .unit = unit,
    .absmax = codec_absmax_x,
    .encode = encode,
    .decode = decode,
    .gives_sums = codec_always,
    .op = &nvfp4_reduce_op,
};
