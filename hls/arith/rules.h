/* rules.h : rules for casts, sums of codes and matrix products, for CPU and GPU backends. */
#ifndef RULES_H
#define RULES_H
#include "hls/arith/mf.h"
#include <stdbool.h>
#include <stddef.h>

struct vec_cast {
    struct mf_fmt fmt;
    enum mf_round round;
    enum mf_overflow overflow;
    /* the fp8 paper's cast (only e5m2): fp32 to half, nearest-even, then drop the low byte */
    bool trunc;
    uint64_t key; /* for stochastic rounding: philox_key() of (seed, step, layer, rank, stage) */
};

/* Sum of the codes of several ranks. */
enum vec_rule { VEC_EXACT, VEC_FP32, VEC_NEAREST, VEC_KAHAN, VEC_TRUNC, VEC_RULES };
struct vec_sum {
    enum vec_rule rule;
    /* VEC_TRUNC: MF_SATURATE; with MF_INF its backends differ */
    enum mf_overflow overflow;
    struct mf_fmt in;  /* format of the addends */
    struct mf_fmt out; /* format of the result */
    int out_shift;     /* VEC_EXACT: divides the sum by 2^out_shift before its one rounding */
    /* VEC_EXACT: if not 0, the result is in blocks of so many elements, each divided by a power of
     * two of its own: | codes of `out` | int8 exponent |. out_shift is then 0. */
    uint32_t out_group;
    int n_ranks; /* largest number of addends; gives the width of wide words (mf_wide_bits) */
    /* VEC_NEAREST, VEC_KAHAN: format of partial sums, including those that are sent. On a GPU it
     * must hold all numbers of `in` (mf_holds()). e = 0: the format `in`. */
    struct mf_fmt acc;
};

MF_FN struct mf_fmt vec_acc_fmt(const struct vec_sum *sum)
{
    return sum->acc.e != 0 ? sum->acc : sum->in;
}

/* Return the end of the format's name. */
MF_FN const char *mf_suffix(struct mf_fmt f)
{
    return f.flavour == MF_IEEE ? "" : f.flavour == MF_NO_INF ? "fn" : "f";
}

/* Return the exponent that aps gives its bound of sums (tight: the largest number). e4m3fn's bound
 * is that of e4m3. */
MF_FN int vec_aps_top(struct mf_fmt f, bool tight)
{
    return mf_bias(f) + (tight || f.flavour == MF_NUMBERS ? mf_uses_top(f) : 0);
}

/* Exponents of groups: one for every `group` elements of a layer, the last for the rest. */
enum { VEC_GROUP_MIN = 16, VEC_GROUP_MAX = 128, VEC_GROUP_E = 6 };
struct vec_scale {
    struct mf_fmt fmt; /* of the codes */
    bool tight;        /* as codec aps-tight, else aps */
    uint32_t times;    /* aps: the sum of so many elements fits */
    uint32_t group;    /* 16, 32, 64 or 128; 0: no groups */
};

/* Reserved exponents. */
enum { VEC_ALL_ZERO = -128, VEC_NOT_FINITE = 127, VEC_EXPONENT_MAX = 126 };

/* Return the exponent of elements whose largest magnitude has these fp32 bits: reserved, or clamped
 * to +-VEC_EXPONENT_MAX. */
MF_FN int8_t vec_exponent(const struct vec_scale *s, uint32_t absmax_bits)
{
    if (absmax_bits == 0)
        return VEC_ALL_ZERO;
    if (absmax_bits >= 0x7f800000)
        return VEC_NOT_FINITE;
    const int e =
        s->tight ? mf_exp_tight(s->fmt, absmax_bits) : mf_exp_up_times(absmax_bits, s->times);
    return (int8_t)(e > VEC_EXPONENT_MAX    ? VEC_EXPONENT_MAX
                    : e < -VEC_EXPONENT_MAX ? -VEC_EXPONENT_MAX
                                            : e);
}

/* Return 2^exponent or 1 for a reserved exponent, as fp32 bits. Down: 2^-exponent. */
MF_FN uint32_t vec_group_factor(int8_t exponent, bool down)
{
    if (exponent == VEC_ALL_ZERO || exponent == VEC_NOT_FINITE)
        return 0x3f800000;
    return (uint32_t)(127 + (down ? -exponent : exponent)) << 23;
}

/* Return the exponent of a block of exact sums: the smallest r such that no sum / 2^r exceeds the
 * largest number of `out`. acc_max: the largest magnitude, in units of the smallest subnormal of
 * `in`; 0 gives 0. */
MF_FN int8_t vec_block_exponent(struct mf_fmt in, uint64_t acc_max, struct mf_fmt out)
{
    struct mf_num v, largest = mf_normalise(mf_unpack(out, mf_max(out)));
    if (acc_max == 0)
        return 0;
    v.sig = acc_max;
    v.exp = 1 - mf_bias(in) - in.m;
    v.negative = 0;
    v.kind = MF_FINITE;
    v = mf_normalise(v);
    return (int8_t)(v.exp - largest.exp + (v.sig > largest.sig ? 1 : 0));
}

/* Return the magnitude of an exact sum (mf_acc_add()); 0 if it is inf or nan. */
MF_FN uint64_t vec_acc_magnitude(uint64_t acc)
{
    if ((acc & ~MF_ACC_SUM) != 0u)
        return 0;
    return ((acc >> 61 & 1u) != 0u ? 0u - acc : acc) & MF_ACC_SUM;
}

/* (code * 2^shift) / divisor */
struct vec_quotient {
    int shift;
    float divisor;
};

/* Return an equal quotient whose code * 2^shift overflows fp32 only if the quotient itself does.
 * Halves the divisor and lowers the shift until the format's largest number times 2^shift fits
 * fp32, or the divisor is at most 1. No code loses a bit: the smallest product stays above
 * 2^-149. */
MF_FN struct vec_quotient vec_quotient_of(struct mf_fmt f, int shift, float divisor)
{
    struct vec_quotient q = {shift, divisor};
    const int over = mf_bias(f) + mf_uses_top(f) + shift - 127;
    for (int i = 0; i < 128 && i < over && q.divisor > 1.0f; i++) {
        q.shift--;
        q.divisor *= 0.5f;
    }
    return q;
}

/* Return the rule for adding partial sums to each other. */
MF_FN struct vec_sum vec_sum_of_partials(const struct vec_sum *sum)
{
    const struct mf_fmt none = {0, 0, MF_IEEE};
    struct vec_sum s = *sum;
    s.in = vec_acc_fmt(sum);
    s.acc = none;
    return s;
}

/* Product of matrices: every product and partial sum is rounded to nearest. */
struct gemm_rule {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    bool kahan; /* partial sums carry their round-off (Kahan's sum) */
};

/* Rounding of floats to values of a format, as floats: fp32(cast(x * 2^shift)) * 2^-shift, to
 * nearest. */
struct round_rule {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    int shift;
};

/* Type of a vector's elements in memory; IEEE halves only on a GPU. Storing as a half rounds to
 * nearest, ties to even; a value that is too large becomes inf. */
enum vec_type { VEC_FLOAT, VEC_HALF };

MF_FN size_t vec_type_bytes(enum vec_type type)
{
    return type == VEC_HALF ? 2 : sizeof(float);
}

/* a layer to encode, in a list of a bucket's layers */
struct vec_span {
    const void *x; /* [n] of `type` */
    enum vec_type type;
    uint8_t *codes;   /* out: n codes, then zero codes up to `padded` */
    size_t n, padded; /* padded >= n */
    size_t at;        /* index of x[0] in its layer, and of its random bits; a multiple of 8 */
    uint64_t key;     /* for stochastic rounding, instead of the key in vec_cast */
    int32_t shift;    /* codes = cast(x * 2^shift) */
    uint32_t absmax;  /* out: as vec_ops.absmax */
    /* If not 0, elements per exponent: codes = cast(x * 2^-exponent * 2^shift), which loses nothing
     * for formats of at most VEC_GROUP_E exponent bits. Groups begin at multiples of it in the
     * layer. */
    uint32_t group;
    int8_t *exponents; /* from the group of x[0] on; out: by exponents_all */
};

/* a layer to decode */
struct vec_out {
    void *x; /* out: [n] of `type` = code * 2^shift / divisor, as vec_ops.decode */
    enum vec_type type;
    const uint8_t *codes; /* of n elements */
    size_t n;
    int32_t shift;
    /* If not 0, elements per exponent: the quotient is multiplied by 2^exponent. */
    uint32_t group;
    uint32_t lead;           /* elements of the first group before x[0]; a multiple of 8 */
    const int8_t *exponents; /* from the group of x[0] on */
    /* If not 0, codes are blocks of so many elements, as vec_sum.out_group. The quotient is first
     * multiplied by 2^exponent of its block. x[0] begins a block; the last one is whole. */
    uint32_t block;
};

#endif
