/* cast_plan.h : computes the constants of one cast and explains the arithmetic of all casts.
 *
 * Encoding turns |x| * 2^shift into a code without its sign, in one of four ways that all give the
 * bits of mf_enc(). (A binade is the range of numbers that have the same exponent.)
 *
 * ENC_ADD    nearest; formats whose range lies inside fp32's. Adding a large float rounds x:
 *
 *                lift = 2^(23-m) * 2^max(exponent of x, lowest)  x ends m bits after its first bit
 *                x + lift = | exponent of lift | 0000 1xx.x |    the adder rounds to nearest even
 *                code = 1xx.x + (binade << m)                    low bits: the code's significand
 *
 *            The format is scaled instead of x: lowest and top are its limits / 2^shift. fp32's
 *            subnormals are below half the smallest value, so flushing them changes nothing.
 * ENC_CUT    nearest; e = 8, shift 0: fp32's exponents. The fraction is cut after m bits:
 *                code = (x + half - 1 + last kept bit) >> (23-m)
 * ENC_DRAW   stochastic; formats of ENC_ADD with m <= 7. Below the normals, adding `lowest` toward
 *            zero aligns x to the unit of subnormals. 16 random bits are subtracted from the bits
 *            to be dropped:
 *                code = ((x - (random << (7-m))) >> (23-m)) + 1
 *            If the difference is zero in the upper 16 dropped bits, once in 65,536, mf_enc()
 *            decides with all 32 random bits. AVX-512 compares these 16 bits for codes of at most 8
 *            bits, with the same result.
 * ENC_ANY    everything else, on integers, all roundings:
 *                significand >> (23 - m + binades below the normals)
 *
 * ENC_ADD and ENC_CUT first limit |x| to `top`, whose code is `beyond`; ENC_DRAW and ENC_ANY limit
 * the code instead. A step (a block of a loop) with a nan uses ENC_ANY; ENC_DRAW instead sets nans
 * afterwards. */
#ifndef CAST_PLAN_H
#define CAST_PLAN_H
#include "vec/vec.h"

enum enc_way { ENC_ADD, ENC_CUT, ENC_DRAW, ENC_ANY };

struct enc_plan {
    enum enc_way way;
    enum mf_round round; /* of ENC_ANY */
    /* nan: code of nan, and mask of all codes. beyond: code of inf and overflows */
    uint32_t nan, beyond;
    /* largest code of a finite x: beyond, or the largest finite one if rounding toward zero */
    uint32_t most;
    unsigned sign_right; /* right shift of fp32 bits that puts the sign above the code */
    unsigned drop;       /* 23 - m, number of dropped bits */
    uint32_t top;        /* ENC_ADD, ENC_CUT: fp32 bits of beyond / 2^shift */
    uint32_t lowest;     /* ENC_ADD, ENC_DRAW: fp32 bits of 2^(1-bias) / 2^shift */
    uint32_t lift;       /* ENC_ADD: lowest + ((23 - m) << 23) */
    uint32_t half, odd;  /* ENC_CUT: half a unit less one; 1, or 0 if nothing is cut */
    int32_t rebias;      /* ENC_ANY: exponent field of the code less fp32's */
    int32_t binades;     /* ENC_ANY: 2^e, above all exponent fields of the format */
    unsigned m;
};

struct enc_plan enc_plan_make(struct mf_fmt fmt, enum mf_round round, enum mf_overflow overflow,
                              int shift);

/* Decoding: for a normal, exponent field and fraction move up; for a subnormal (below `normal`),
 * the fraction is multiplied by the smallest value. Both include the shift if all results are fp32
 * normals. Otherwise up to three multiplications apply it; only the last can round unless the
 * result is zero. A fourth replaces a division by a power of two. */
struct dec_plan {
    /* codes without sign. nan: mask of all; special: the first that is not a number */
    uint32_t nan, special;
    uint32_t special_bits; /* fp32 bits of that code */
    unsigned sign_left;    /* left shift of a code that puts the sign in the highest bit */
    unsigned up;           /* 23 - m */
    uint32_t normal;       /* first normal; 0 if subnormals are those of fp32 */
    uint32_t rebias;       /* added to a code that was shifted up */
    float unit;            /* the smallest value */
    bool scaled, divided;  /* multiplied by the factors; divided by divisor */
    float factor[4], divisor;
    /* Codes of e5m10, and of 4 and 8 bits with e <= 5 (e = 5: MF_IEEE), become halves with the
     * same exponent field, so that value = half * per_half (0 for other formats). right: right
     * shift of a magnitude of 8 bits in the upper byte of a half; half_of: the upper byte of the
     * half of each 4-bit code. */
    float per_half;
    unsigned right;
    uint8_t half_of[16];
};

/* Returns the half that a code of 4 or 8 bits, e <= 5, becomes. inf and nan become those of a
 * half. */
uint32_t dec_half_of(struct mf_fmt f, uint32_t code);

struct dec_plan dec_plan_make(struct mf_fmt fmt, int shift, float divisor);

#endif
