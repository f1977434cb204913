/* vec_groups.c : Casts and sums with exponents of groups of elements, on the CPU.
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
#include "vec/fp_mode.h"
#include <assert.h>
#include <string.h>

enum { BLOCK = 1024 }; /* elements; whole groups, in the first-level cache */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The factor is an argument so that the loop is vectorised. */
static __attribute__((noinline)) void times(const float *x, size_t n, float factor, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] * factor;
}

/* to = x * 2^exponent, or 2^-exponent if `down`. lead: elements of the first group before x[0] */
static void scale(const float *x, size_t n, uint32_t group, uint32_t lead, const int8_t *exponents,
                  bool down, float *to)
{
    const uint64_t mode = fp_mode_ieee();
    for (size_t i = 0, end = group - lead; i < n; i = end, end += group)
        times(x + i, smaller(end, n) - i, float_of(vec_group_factor(*exponents++, down)), to + i);
    fp_mode_back(mode);
}

void vec_groups_encode(const struct vec_ops *ops, const struct vec_cast *cast,
                       const struct vec_span *span)
{
    const float *x = span->x;
    float scaled[BLOCK];
    assert(cast->fmt.e <= VEC_GROUP_E);
    for (size_t i = 0; i < span->n; i += BLOCK) {
        const size_t k = smaller(BLOCK, span->n - i);
        scale(x + i, k, span->group, (uint32_t)(span->at % span->group),
              span->exponents + i / span->group, true, scaled);
        ops->encode(cast, scaled, k, span->at + i, span->shift,
                    span->codes + vec_bytes(cast->fmt, i));
    }
}

/* Takes n elements from the blocks of codes on: codes together, exponents together. */
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
    float *x = out->x;
    for (size_t i = 0; i < out->n; i += BLOCK) {
        const size_t k = smaller(BLOCK, out->n - i);
        const uint8_t *codes = out->codes + vec_bytes(fmt, i);
        if (out->block) {
            open_blocks(fmt, codes + i / out->block, k, out->block, opened, own);
            codes = opened;
        }
        ops->decode(fmt, codes, k, out->shift, divisor, x + i);
        if (out->block)
            scale(x + i, k, out->block, 0, own, false, x + i);
        if (out->group)
            scale(x + i, k, out->group, out->lead, out->exponents + i / out->group, false, x + i);
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

void vec_sum_blocks_each(const struct vec_ops *ops, const struct vec_sum *sum,
                         const uint8_t *const *parts, int n_parts, size_t n, uint8_t *blocks)
{
    uint64_t acc[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = smaller(BLOCK, n - i);
        for (int p = 0; p < n_parts; p++)
            ops->accumulate(sum, acc, parts[p] + vec_bytes(sum->in, i), k, p == 0);
        vec_finish_blocks_each(ops, sum, acc, k, blocks + vec_result_bytes(sum, i));
    }
}

void vec_exponents_each(const struct vec_ops *ops, const struct vec_scale *scale,
                        struct vec_span *spans, int n_spans)
{
    for (int s = 0; s < n_spans; s++) {
        const struct vec_span *span = &spans[s];
        assert(span->type == VEC_FLOAT && span->group == scale->group &&
               span->at % span->group == 0);
        for (size_t i = 0; i < span->n; i += span->group)
            span->exponents[i / span->group] = vec_exponent(
                scale, ops->absmax((const float *)span->x + i, smaller(span->group, span->n - i)));
    }
}
