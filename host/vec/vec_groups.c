/* vec_groups.c : casts and sums with exponents of groups of elements, on the CPU.
 *
 *     x * 2^-exponent of its group --encode, shift of the format--> codes
 *     codes --decode--> values * 2^exponent of the group --> x
 *
 * A product of encode loses bits only below 2^-126, far below half the smallest value of a format
 * of VEC_GROUP_E exponent bits. One of decode can only become subnormal or overflow.
 *
 * Blocks of results have a second exponent, found from the block's exact sums. */
#include "vec/vec_groups.h"
#include "base/bits.h"
#include "vec/cast/cast_step.h"
#include "vec/fp_mode.h"
#include <assert.h>
#include <string.h>

enum { BLOCK = 1024 }; /* elements; whole groups, in the first-level cache */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum { PER_FACTOR = 8 };

/* Makes the factors of n elements, 2^exponent of their groups, or 2^-exponent if `down`. lead:
 * elements of the first group before the first one. */
static void factors(size_t n, uint32_t group, uint32_t lead, const int8_t *exponents, bool down,
                    float by[BLOCK / PER_FACTOR])
{
    for (size_t i = 0, end = group - lead; i < n; end += group) {
        const float factor = float_of(vec_group_factor(*exponents++, down));
        for (; i < n && i < end; i += PER_FACTOR)
            by[i / PER_FACTOR] = factor;
    }
}

void vec_groups_encode(const struct vec_ops *ops, const struct vec_cast *cast,
                       const struct vec_span *span)
{
    const uint32_t lead = (uint32_t)(span->at % span->group);
    const float *x = span->x;
    float by[BLOCK / PER_FACTOR], scaled[BLOCK];
    assert(cast->fmt.e <= VEC_GROUP_E);
    for (size_t i = 0; i < span->n; i += BLOCK) {
        const size_t k = smaller(BLOCK, span->n - i);
        uint8_t *codes = span->codes + vec_bytes(cast->fmt, i);
        factors(k, span->group, lead, span->exponents + i / span->group, true, by);
        if (ops->encode_scaled && ops->encode_scaled(cast, x + i, k, span->shift, by, codes))
            continue;
        ops->scale(x + i, k, by, scaled);
        ops->encode(cast, scaled, k, span->at + i, span->shift, codes);
    }
}

/* Separates the codes of n elements in blocks from the exponent after each block. */
static void open_blocks(struct mf_fmt fmt, const uint8_t *blocks, size_t n, uint32_t block,
                        uint8_t *codes, int8_t *exponents)
{
    const size_t bytes = vec_bytes(fmt, block);
    for (size_t i = 0; i < n; i += block, blocks += bytes + 1, codes += bytes) {
        memcpy(codes, blocks, bytes);
        *exponents++ = (int8_t)blocks[bytes];
    }
}

void vec_groups_decode(const struct vec_ops *ops, struct mf_fmt fmt, const struct vec_out *out,
                       float divisor)
{
    uint8_t opened[BLOCK * sizeof(uint32_t)];
    int8_t own[BLOCK / VEC_GROUP_MIN];
    float by[BLOCK / PER_FACTOR], *x = out->x;
    for (size_t i = 0; i < out->n; i += BLOCK) {
        const size_t k = smaller(BLOCK, out->n - i);
        const uint8_t *codes = out->codes + vec_bytes(fmt, i);
        const int8_t *exponents = out->group ? out->exponents + i / out->group : NULL;
        if (out->block) {
            open_blocks(fmt, codes + i / out->block, k, out->block, opened, own);
            codes = opened;
            factors(k, out->block, 0, own, false, by);
        } else {
            factors(k, out->group, out->lead, exponents, false, by);
        }
        if (!ops->decode_scaled ||
            !ops->decode_scaled(fmt, codes, k, out->shift, divisor, by, x + i)) {
            ops->decode(fmt, codes, k, out->shift, divisor, x + i);
            ops->scale(x + i, k, by, x + i);
        }
        if (out->block && out->group) {
            factors(k, out->group, out->lead, exponents, false, by);
            ops->scale(x + i, k, by, x + i);
        }
    }
}

void vec_finish_blocks_each(const struct vec_ops *ops, const struct vec_sum *sum,
                            const uint64_t *acc, size_t n, uint8_t *blocks)
{
    const size_t block = sum->out_group, bytes = vec_bytes(sum->out, block);
    for (size_t i = 0; i < n; i += block, blocks += bytes + 1) {
        uint64_t most = 0;
        for (size_t k = i; k < i + block; k++) {
            const uint64_t here = vec_acc_magnitude(acc[k]);
            most = here > most ? here : most;
        }
        const int8_t exponent = vec_block_exponent(sum->in, most, sum->out);
        ops->finish(sum, acc + i, block, sum->out, exponent, blocks);
        blocks[bytes] = (uint8_t)exponent;
    }
}

/* mf_exp_tight() for normal floats, from the largest number's exponent and fraction. */
struct tight {
    int top;
    uint32_t fraction;
};

static struct tight tight_of(struct mf_fmt fmt)
{
    const uint32_t bits = mf_dec(fmt, mf_max(fmt), 0);
    return (struct tight){(int)(bits >> 23) - 127, bits & 0x7fffff};
}

static int tight_exponent(const struct tight *t, uint32_t bits)
{
    return (int)(bits >> 23) - 127 + ((bits & 0x7fffff) > t->fraction);
}

/* Sums that round to zero become +0, as from mf_acc_round(). half: of the smallest number, as fp32
 * bits. */
static void drop_small(float *x, size_t n, int32_t half)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = bits_of(x[i]);
        x[i] = float_of(bits & -(uint32_t)((int32_t)(bits & 0x7fffffff) > half));
    }
}

/* n: at most BLOCK. Returns false if a sum may have been inf or nan. */
static bool blocks_of_floats(const struct vec_ops *ops, const struct vec_sum *sum, const float *x,
                             size_t n, uint8_t *blocks)
{
    const struct mf_fmt out = sum->out;
    const struct tight tight = tight_of(out);
    const struct vec_cast cast = {.fmt = out, .overflow = sum->overflow};
    const size_t block = sum->out_group, bytes = vec_bytes(out, block);
    uint8_t codes[BLOCK * sizeof(uint32_t)], *from = codes;
    int8_t own[BLOCK / VEC_GROUP_MIN], *exponent = own;
    float by[BLOCK / PER_FACTOR], scaled[BLOCK];
    for (size_t i = 0; i < n; i += block) {
        const uint32_t most = ops->absmax(x + i, block);
        if (most >= 0x7f7fffff)
            return false;
        *exponent++ = (int8_t)(most ? tight_exponent(&tight, most) - tight.top : 0);
    }
    factors(n, sum->out_group, 0, own, true, by);
    ops->scale(x, n, by, scaled);
    drop_small(scaled, n, (127 - mf_bias(out) - out.m) << 23);
    ops->encode(&cast, scaled, n, 0, 0, codes);
    exponent = own;
    for (size_t i = 0; i < n; i += block, blocks += bytes + 1, from += bytes) {
        memcpy(blocks, from, bytes);
        blocks[bytes] = (uint8_t)*exponent++;
    }
    return true;
}

enum { PARTS_MAX = 256 };

/* Sums of up to 24 bits are exact as floats, whose loops are faster. */
void vec_sum_blocks_each(const struct vec_ops *ops, const struct vec_sum *sum,
                         const uint8_t *const *parts, int n_parts, size_t n, uint8_t *blocks)
{
    const bool floats = mf_acc_bits(sum->in, (unsigned)n_parts) <= 24 && n_parts <= PARTS_MAX;
    const uint8_t *at[PARTS_MAX];
    uint64_t acc[BLOCK];
    float x[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = smaller(BLOCK, n - i);
        uint8_t *to = blocks + vec_result_bytes(sum, i);
        for (int p = 0; floats && p < n_parts; p++)
            at[p] = parts[p] + vec_bytes(sum->in, i);
        if (floats) {
            ops->sum(sum, at, n_parts, k, mf_fp32(), 0, (uint8_t *)x);
            if (blocks_of_floats(ops, sum, x, k, to))
                continue;
        }
        for (int p = 0; p < n_parts; p++)
            ops->accumulate(sum, acc, parts[p] + vec_bytes(sum->in, i), k, p == 0);
        vec_finish_blocks_each(ops, sum, acc, k, to);
    }
}

void vec_exponents_each(const struct vec_ops *ops, const struct vec_scale *scale,
                        struct vec_span *spans, int n_spans)
{
    const struct tight tight = tight_of(scale->fmt);
    for (int s = 0; s < n_spans; s++) {
        const struct vec_span *span = &spans[s];
        assert(span->type == VEC_FLOAT && span->group == scale->group &&
               span->at % span->group == 0);
        for (size_t i = 0; i < span->n; i += span->group) {
            for (size_t line = 0; line < span->group; line += 16)
                cast_prefetch((const float *)span->x + i + line);
            const uint32_t most =
                ops->absmax((const float *)span->x + i, smaller(span->group, span->n - i));
            const bool plain = scale->tight && most >= 0x01000000 && most < 0x7e800000;
            span->exponents[i / span->group] =
                (int8_t)(plain ? tight_exponent(&tight, most) : vec_exponent(scale, most));
        }
    }
}
