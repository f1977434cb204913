/* block.h : all arithmetic of MX and NVFP4 words: blocks of elements that share a scale.
 *
 *             elements   scale, of a block        value
 *     MX      32         2^(byte - 127)           element * scale             byte 255: nan
 *     NVFP4   16 e2m1f   e4m3fn                   element * scale * 2^t       t: of the tensor
 *
 *     largest |x| of a block --mx_scale, nvfp4_scale--> scale
 *     x / scale --rounds once--> element
 *
 * NVFP4's sums are exact in an int32 for up to 780 ranks, although each rank has scales of its own.
 * An element is a multiple of 2^-1 and at most 6. A scale is a multiple of 2^-9 and at most 448. So
 * element * scale is a multiple of 2^-10 and at most 2688, which is 2752512 * 2^-10:
 *
 *     780 * 2752512 = 2146959360  <  2^31 = 2147483648  <  781 * 2752512
 *
 * MX's sums fit no word: scales differ by up to 2^254.
 *
 * All arithmetic is that of mf.h. Quotients are exact as far as rounding can tell. Sources: OCP
 * Microscaling Formats (MX) 1.0, section 6.3; NVIDIA, "Pretraining Large Language Models with
 * NVFP4", 2025, section 2. */
#ifndef BLOCK_H
#define BLOCK_H
#include "hls/arith/mf.h"

enum {
    MX_BLOCK = 32,
    MX_NAN = 255, /* a scale */
    MX_BIAS = 127,
    NVFP4_BLOCK = 16,
    NVFP4_UNIT = -10, /* sums are in units of 2^NVFP4_UNIT */
    NVFP4_MAX_RANKS = 780
};

MF_FN struct mf_fmt nvfp4_element(void)
{
    struct mf_fmt f = {2, 1, MF_NUMBERS};
    return f;
}
MF_FN struct mf_fmt nvfp4_scale_fmt(void)
{
    struct mf_fmt f = {4, 3, MF_NO_INF};
    return f;
}

/* Return sig * 2^exp. */
MF_FN struct mf_num block_num(uint32_t sig, int exp)
{
    struct mf_num v;
    v.sig = sig;
    v.exp = exp;
    v.negative = 0u;
    v.kind = MF_FINITE;
    return v;
}

/* Return a * b; nan if b is. The product of the significands fits 64 bits. */
MF_FN struct mf_num block_times(struct mf_num a, struct mf_num b)
{
    struct mf_num v = a;
    v.sig = a.sig * b.sig;
    v.exp = a.exp + b.exp;
    v.negative = a.negative ^ b.negative;
    v.kind = b.kind == MF_FINITE ? a.kind : b.kind;
    return v;
}

/* Return a / b, or 0 if b is 0. b.sig: below 2^32. The last bit stands for all bits that were cut
 * off, so mf_pack() rounds the result as the exact quotient. */
MF_FN struct mf_num block_over(struct mf_num a, struct mf_num b)
{
    struct mf_num v = mf_normalise(a);
    const uint64_t whole = b.sig != 0u ? v.sig / b.sig : 0u;
    v.sig = whole | (v.sig != whole * b.sig && b.sig != 0u ? 1u : 0u);
    v.exp -= b.exp;
    v.negative = a.negative ^ b.negative;
    return v;
}

/* ---- MX ---- */

/* Return the scale of a block: 2^floor(log2 max) over the power of two of the format's largest
 * number, clamped to 2^-127 .. 2^127. absmax_bits: fp32 bits of the largest magnitude. Elements are
 * mf_enc(f, x, MX_BIAS - scale, MF_NEAREST, MF_SATURATE). */
MF_FN uint32_t mx_scale(struct mf_fmt f, uint32_t absmax_bits)
{
    const struct mf_num max = mf_normalise(mf_unpack(mf_fp32(), absmax_bits)),
                        top = mf_normalise(mf_unpack(f, mf_max(f)));
    const int byte = max.exp - top.exp + MX_BIAS;
    if (max.kind != MF_FINITE)
        return MX_NAN;
    return (uint32_t)(byte < 0 ? 0 : byte > 2 * MX_BIAS ? 2 * MX_BIAS : byte);
}

/* ---- NVFP4 ---- */

/* Return the smallest t for which a block with this largest magnitude has a scale of at most 448.
 * abs_bits: fp32 bits, finite and not 0. */
MF_FN int nvfp4_exponent(uint32_t abs_bits)
{
    const struct mf_num v = mf_normalise(mf_unpack(mf_fp32(), abs_bits)),
                        top = mf_normalise(
                            block_times(mf_unpack(nvfp4_element(), mf_max(nvfp4_element())),
                                        mf_unpack(nvfp4_scale_fmt(), mf_max(nvfp4_scale_fmt()))));
    return v.exp - top.exp + (v.sig > top.sig ? 1 : 0);
}

/* Return the scale of a block: max / 6 / tensor, rounded to nearest. It may be 0. tensor: 2^t times
 * the number of addends of which max is the sum. */
MF_FN uint32_t nvfp4_scale(struct mf_num max, struct mf_num tensor)
{
    const struct mf_num six = mf_unpack(nvfp4_element(), mf_max(nvfp4_element()));
    return mf_pack(nvfp4_scale_fmt(), block_over(max, block_times(six, tensor)), MF_NEAREST,
                   MF_SATURATE, 0u);
}

/* Return scale * tensor, the value of an element of 1. */
MF_FN struct mf_num nvfp4_one(uint32_t scale, struct mf_num tensor)
{
    return block_times(tensor, mf_unpack(nvfp4_scale_fmt(), scale));
}

/* Return the element of v; 0 if one is 0. */
MF_FN uint32_t nvfp4_enc(struct mf_num v, struct mf_num one)
{
    return mf_pack(nvfp4_element(), block_over(v, one), MF_NEAREST, MF_SATURATE, 0u);
}

/* Return the fp32 bits of an element's value: exact, except below fp32's normals. */
MF_FN uint32_t nvfp4_dec(uint32_t element, struct mf_num one)
{
    return mf_pack(mf_fp32(), block_times(mf_unpack(nvfp4_element(), element), one), MF_NEAREST,
                   MF_INF, 0u);
}

/* Return an element's value in units of 2^NVFP4_UNIT, in two's complement. one: nvfp4_one(scale,
 * 1), with a scale that is a number. */
MF_FN uint32_t nvfp4_units(uint32_t element, struct mf_num one)
{
    const struct mf_num v = block_times(mf_unpack(nvfp4_element(), element), one);
    const uint32_t units = (uint32_t)(v.sig << ((v.exp - NVFP4_UNIT) & 31));
    return v.negative != 0u ? 0u - units : units;
}

/* Return a sum of units as a number. */
MF_FN struct mf_num nvfp4_sum(uint32_t units)
{
    const uint32_t negative = units >> 31;
    struct mf_num v = block_num(negative != 0u ? 0u - units : units, NVFP4_UNIT);
    v.negative = negative;
    return v;
}

#endif
