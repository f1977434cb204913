/* rules.h : rules for casts of floats, sums of codes and products of matrices. Plain data
 * that CPU and GPU backends share. */
#ifndef RULES_H
#define RULES_H
#include "hls/arith/mf.h"
#include <stdbool.h>
#include <stddef.h>

/* Cast of floats to codes. */
struct vec_cast {
    struct mf_fmt fmt; /* flavour fn: e < 8 */
    enum mf_round round;
    enum mf_overflow overflow;
    /* the fp8 paper's cast (e5m2 only): fp32 -> half nearest-even, low byte dropped */
    bool trunc;
    uint64_t key; /* stochastic rounding only: philox_key() of (seed, step, layer, rank, stage) */
};

/* Sum of the codes of several ranks. */
enum vec_rule { VEC_EXACT, VEC_FP32, VEC_NEAREST, VEC_KAHAN, VEC_TRUNC, VEC_RULES };
struct vec_sum {
    enum vec_rule rule;
    enum mf_overflow overflow;
    struct mf_fmt in;  /* format of the addends */
    struct mf_fmt out; /* format of the result */
    int out_shift;     /* exact only: the sum is divided by 2^out_shift before its one rounding */
    int n_ranks;       /* the most addends; sizes the wide partial sums */
    /* nearest, kahan: format of partial sums, also of those that travel. It must hold all numbers
     * of `in` (mf_holds()). e = 0: `in` itself */
    struct mf_fmt acc;
};

MF_FN struct mf_fmt vec_acc_fmt(const struct vec_sum *sum)
{
    return sum->acc.e != 0 ? sum->acc : sum->in;
}

/* Split code * 2^shift / divisor into a product and a quotient. Moves as much of the
 * divisor's power of two into the shift as the format's largest number needs to fit fp32.
 * The product then overflows only where the quotient does, and no code loses a bit: the
 * smallest one stays above 2^-149. */
struct vec_quotient {
    int shift;
    float divisor;
};

MF_FN struct vec_quotient vec_quotient_of(struct mf_fmt f, int shift, float divisor)
{
    struct vec_quotient q = {shift, divisor};
    const int over = mf_bias(f) + f.fn + shift - 127;
    for (int i = 0; i < 128 && i < over && q.divisor > 1.0f; i++) {
        q.shift--;
        q.divisor *= 0.5f;
    }
    return q;
}

/* Return the rule by which partial sums are added to each other. */
MF_FN struct vec_sum vec_sum_of_partials(const struct vec_sum *sum)
{
    const struct mf_fmt none = {0, 0, 0};
    struct vec_sum s = *sum;
    s.in = vec_acc_fmt(sum);
    s.acc = none;
    return s;
}

/* Product of matrices: every product and every partial sum is rounded to nearest in a format. */
struct gemm_rule {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    bool kahan; /* sums carry their round-off */
};

/* Floats that stay floats but take only values of a format: fp32(cast(x *
 * 2^shift)) * 2^-shift, cast to nearest. */
struct round_rule {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    int shift;
};

/* Type of a vector's elements in memory. Only a GPU's may be IEEE halves. A value stored as a half
 * is rounded to nearest, ties to even; a value that is too large becomes inf. */
enum vec_type { VEC_FLOAT, VEC_HALF };

MF_FN size_t vec_type_bytes(enum vec_type type)
{
    return type == VEC_HALF ? 2 : sizeof(float);
}

/* One layer of a bucket to be encoded, for operations on many layers at once. */
struct vec_span {
    const void *x; /* [n] of `type` */
    enum vec_type type;
    uint8_t *codes;   /* out: codes of n elements, then zero codes up to padded; begins on a byte */
    size_t n, padded; /* padded >= n */
    size_t at;        /* index of x[0] in its layer (counts the random bits); a multiple of 8 */
    uint64_t key;     /* stochastic rounding: used instead of the cast's key */
    int32_t shift;    /* codes = cast(x * 2^shift) */
    uint32_t absmax;  /* out: fp32 bits of the largest |x|, as vec_ops.absmax */
};

/* One layer to be decoded. */
struct vec_out {
    void *x; /* out: [n] of `type` = code * 2^shift / divisor, as vec_ops.decode */
    enum vec_type type;
    const uint8_t *codes; /* of n elements; begin on a byte */
    size_t n;
    int32_t shift;
};

#endif
