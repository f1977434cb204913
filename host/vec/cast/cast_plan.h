/* cast_plan.h : the constants of one cast, worked out once a call, and the arithmetic that all
 * instruction sets share.
 *
 * Encode, |x| * 2^shift to a code without its sign, in one of four ways that give mf_enc()'s bits:
 *
 *   ENC_ADD    nearest; fp32 -> a format inside fp32's range. A float that is large enough rounds what is added to it:
 *
 *                  lift = 2^(23-m) * 2^max(exponent of x, lowest)        so that x ends m bits behind its own leading bit
 *                  x + lift = | exponent of lift | 0000 1xx.x |          rounded to nearest even by the adder, and the
 *                  code = 1xx.x + (binade << m)                          low bits are the significand of the code
 *
 *              The format is moved to x, not x to the format: lowest and top are the format's limits / 2^shift. Fp32
 *              subnormals lie below half the smallest value, so flushing them changes nothing.
 *   ENC_CUT    nearest; e = 8, shift 0: the exponents are fp32's, the fraction is cut after m bits:
 *                  code = (x + half - 1 + last kept bit) >> (23-m)
 *   ENC_DRAW   stochastic; formats as ENC_ADD's with m <= 7. Below the normals `lowest` is added, toward zero, which
 *              aligns x to the subnormals' unit. Then 16 random bits are taken off what goes:
 *                  code = (x - (random << (7-m))) >> (23-m), and one more
 *              They have decided unless nothing remains of what goes (its upper 16 bits): once in 65,536 the 16 bits
 *              below do, and mf_enc() itself.
 *   ENC_ANY    everything else, on integers: significand >> (23 - m + how far it is below the normals), all roundings.
 *
 * What is too large is cut to `top`, the number that the code `beyond` would be, before it is
 * rounded. Lanes with nan take the way ENC_ANY. */
#ifndef CAST_PLAN_H
#define CAST_PLAN_H
#include "vec/vec.h"

enum enc_way { ENC_ADD, ENC_CUT, ENC_DRAW, ENC_ANY };

struct enc_plan {
    enum enc_way way;
    enum mf_round round; /* ENC_ANY; ENC_DRAW is stochastic, the others are nearest */
    /* codes: of nan, of inf and what is too large. nan is the mask of all codes too */
    uint32_t nan, beyond;
    /* largest code of a finite x: beyond, or the largest finite when rounding toward zero */
    uint32_t most;
    unsigned sign_right; /* an fp32's bits >> this have the sign above the code */
    unsigned drop;       /* 23 - m, fraction bits that go */
    uint32_t top;        /* ENC_ADD, ENC_CUT: fp32 bits of beyond / 2^shift */
    /* ENC_ADD, ENC_DRAW: fp32 bits of 2^(1-bias) / 2^shift; ENC_ADD: lowest + ((23 - m) << 23) */
    uint32_t lowest, lift;
    uint32_t half, odd; /* ENC_CUT: half a unit less one; 1, or 0 where nothing is cut */
    int32_t rebias;     /* ENC_ANY: fp32's exponent field + this = the code's */
    int32_t binades;    /* ENC_ANY: 2^e, beyond any format's */
    unsigned m;
};

struct enc_plan enc_plan_make(struct mf_fmt fmt, enum mf_round round, enum mf_overflow overflow,
                              int shift);

/* Decode, code to fp32 bits: field and fraction move up (normals), or the fraction is a number of
 * smallest values (subnormals: below `normal`); both with the shift in them where that gives normal
 * numbers alone. Otherwise the shift is up to three multiplications, of which only the last one
 * rounds (or the result is zero); a fourth one takes the place of dividing by a power of two. */
struct dec_plan {
    uint32_t nan, inf;    /* codes without sign: mask of all; from here on no number */
    uint32_t inf_bits;    /* what `inf` itself is in fp32 */
    unsigned sign_left;   /* code << this has the sign on top */
    unsigned up;          /* 23 - m */
    uint32_t normal;      /* codes from here on are normal; 0 where subnormals are fp32's own */
    uint32_t rebias;      /* added to the moved code */
    float unit;           /* the smallest value */
    bool scaled, divided; /* times factor[0..3]; by divisor */
    float factor[4], divisor;
};

struct dec_plan dec_plan_make(struct mf_fmt fmt, int shift, float divisor);

#endif
