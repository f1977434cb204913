/* cast_plan.h : Computes the constants of one cast and explains the arithmetic of all casts.
 *
 * Encode turns |x| * 2^shift into a code without its sign. All four ways give mf_enc()'s bits:
 *
 * ENC_ADD    nearest; formats whose range lies inside fp32's. Adding a large float rounds x:
 *
 *                lift = 2^(23-m) * 2^max(exponent of x, lowest)  x ends m bits after its first bit
 *                x + lift = | exponent of lift | 0000 1xx.x |    the adder rounds to nearest even
 *                code = 1xx.x + (binade << m)                    low bits: the code's significand
 *
 *            The format is moved to x: lowest and top are its limits / 2^shift. fp32's subnormals
 *            are below half the smallest value, so flushing them changes nothing.
 * ENC_CUT    nearest; e = 8, shift 0: fp32's exponents. The fraction is cut after m bits:
 *                code = (x + half - 1 + last kept bit) >> (23-m)
 * ENC_DRAW   stochastic; formats of ENC_ADD with m <= 7. Below the normals, adding `lowest` toward
 *            zero aligns x to the subnormals' unit. 16 random bits are taken off the dropped bits:
 *                code = ((x - (random << (7-m))) >> (23-m)) + 1
 *            If the upper 16 of those become zero, once in 65,536, mf_enc() decides by all 32.
 * ENC_ANY    everything else, on integers, all roundings:
 *                significand >> (23 - m + binades below the normals)
 *
 * Larger numbers are cut to `top`, the number of the code `beyond`, before rounding. A step with a
 * nan in it takes ENC_ANY; only ENC_DRAW sets nans afterwards. */
#ifndef CAST_PLAN_H
#define CAST_PLAN_H
#include "vec/vec.h"

enum enc_way { ENC_ADD, ENC_CUT, ENC_DRAW, ENC_ANY };

struct enc_plan {
    enum enc_way way;
    enum mf_round round; /* of ENC_ANY */
    /* codes: of nan, also the mask of all codes; of inf and overflows */
    uint32_t nan, beyond;
    /* largest code of a finite x: beyond, or the largest finite one when rounding toward zero */
    uint32_t most;
    unsigned sign_right; /* fp32 bits >> this: the sign is above the code */
    unsigned drop;       /* 23 - m, dropped bits */
    uint32_t top;        /* ENC_ADD, ENC_CUT: fp32 bits of beyond / 2^shift */
    /* ENC_ADD, ENC_DRAW: fp32 bits of 2^(1-bias) / 2^shift; ENC_ADD: lowest + ((23 - m) << 23) */
    uint32_t lowest, lift;
    uint32_t half, odd; /* ENC_CUT: half a unit less one; 1, or 0 if nothing is cut */
    int32_t rebias;     /* ENC_ANY: the code's field less fp32's */
    int32_t binades;    /* ENC_ANY: 2^e, more than any field of the format */
    unsigned m;
};

struct enc_plan enc_plan_make(struct mf_fmt fmt, enum mf_round round, enum mf_overflow overflow,
                              int shift);

/* Decode turns a code into fp32 bits: field and fraction move up, or the fraction counts smallest
 * values (subnormals, below `normal`). Both include the shift if all results are fp32 normals.
 * Otherwise up to three multiplications apply it, of which only the last rounds, unless the result
 * is zero. A fourth replaces division by a power of two. */
struct dec_plan {
    uint32_t nan, inf;    /* codes without sign: mask of all; first non-number */
    uint32_t inf_bits;    /* fp32 bits of the code inf */
    unsigned sign_left;   /* code << this: the sign is on top */
    unsigned up;          /* 23 - m */
    uint32_t normal;      /* first normal; 0: subnormals are fp32's own */
    uint32_t rebias;      /* added to the moved code */
    float unit;           /* the smallest value */
    bool scaled, divided; /* by factor[0..3]; by divisor */
    float factor[4], divisor;
};

struct dec_plan dec_plan_make(struct mf_fmt fmt, int shift, float divisor);

#endif
