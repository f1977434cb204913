/* squash.h : exp, sigmoid and tanh in a fixed order of operations, so that no libm affects the
 * bits. Compilers can vectorise loops over them.
 *
 *     exp(x) = 2^k * e^r,   k = x / ln 2 rounded, |r| <= ln 2 / 2,   e^r by its Taylor series
 *     sigmoid(x) = 1 / (1 + exp(-x))    tanh(x) = 2 sigmoid(2x) - 1
 *
 * The error of exp is at most two units in the last place; that of tanh is below two units in the
 * last place of 1.0, also near 0. Arguments are clamped to +-SQUASH_END; nan stays nan. */
#ifndef SQUASH_H
#define SQUASH_H
#include <string.h>
#include "hls/nn/layer.h"

#ifdef NN_REAL_DOUBLE
typedef uint64_t squash_bits;
enum { SQUASH_MANTISSA = 52, SQUASH_BIAS = 1023, SQUASH_TERMS = 13, SQUASH_END = 40 };
#define SQUASH_ROUND    0x1.8p52
#define SQUASH_LN2_HIGH 0x1.62e42feep-1
#define SQUASH_LN2_LOW  0x1.a39ef35793c76p-33
#else
typedef uint32_t squash_bits;
enum { SQUASH_MANTISSA = 23, SQUASH_BIAS = 127, SQUASH_TERMS = 7, SQUASH_END = 40 };
#define SQUASH_ROUND    0x1.8p23f
#define SQUASH_LN2_HIGH 0x1.62e4p-1f
#define SQUASH_LN2_LOW  0x1.7f7d1cp-20f
#endif

MF_FN real squash_exp(real x)
{
#define OVER(n) (real)(1.0 / (n))
    static const real one_over[] = {
        OVER(6227020800), OVER(479001600), OVER(39916800), OVER(3628800), OVER(362880), OVER(40320),
        OVER(5040),       OVER(720),       OVER(120),      OVER(24),      OVER(6),      OVER(2)};
#undef OVER
    const int least = (int)(sizeof one_over / sizeof *one_over) + 1 - SQUASH_TERMS;
    const real end = SQUASH_END;
    /* by magnitude: gcc does not vectorise a comparison that depends on another */
    const squash_bits sign = (squash_bits)1 << (8 * sizeof sign - 1);
    squash_bits bits, minus;
    memcpy(&bits, &x, sizeof bits);
    minus = bits & sign;
    bits ^= minus;
    real limited;
    memcpy(&limited, &bits, sizeof limited);
    limited = limited > end ? end : limited;
    memcpy(&bits, &limited, sizeof bits);
    bits |= minus;
    memcpy(&limited, &bits, sizeof limited);

    /* a number as large as SQUASH_ROUND has no fraction, so its low bits hold k */
    const real shifted = real_mul(limited, (real)1.44269504088896340736) + SQUASH_ROUND;
    const real k = shifted - SQUASH_ROUND;
    const real r = (limited - real_mul(k, SQUASH_LN2_HIGH)) - real_mul(k, SQUASH_LN2_LOW);
    real sum = one_over[least];
    for (int i = least + 1; i < (int)(sizeof one_over / sizeof *one_over); i++)
        sum = real_mul(sum, r) + one_over[i];
    sum = real_mul(real_mul(sum, r) + 1, r) + 1;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + SQUASH_BIAS) << SQUASH_MANTISSA;
    real power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

MF_FN real squash_sigmoid(real x)
{
    return 1 / (1 + squash_exp(-x));
}

MF_FN real squash_tanh(real x)
{
    return 2 / (1 + squash_exp(-2 * x)) - 1;
}

#endif
