/* sum_exact.h : plans exact sums of packed codes in one pass, for AVX2, AVX-512 and NEON.
 *
 * A code of 4 or 8 bits with e <= 5 becomes a half, then an fp32. The half's bias is always 15; the
 * resulting wrong power of two is corrected at the end. An fp32 sum is exact up to 24 bits, so the
 * values of P ranks are added in one or two fp32 sums, called windows:
 *
 *     one     e <= 4: sums have 2^e - 1 + m + log2 P bits
 *     two     e = 5: of each magnitude the part up to 2 is added to `low`, the rest to `high`; each
 *             has 15 + m + log2 P bits
 *
 * AVX2 adds codes as integers instead, if none is inf or nan (sum_dot_avx2.h). The result is the
 * same.
 *
 * Codes of e5m10 are halves. Their sums, of 40 + log2 P bits, are exact in fp64.
 *
 * inf and nan need no care. At the end low + high, or the fp64, is rounded to fp32 "to odd": toward
 * zero, then the last bit is set if anything was lost. Rounding this fp32 to at most 22 significant
 * bits gives the code of the exact sum. Source: S. Boldo and G. Melquiond, Emulation of FMA and
 * correctly rounded sums, 2008. */
#ifndef SUM_EXACT_H
#define SUM_EXACT_H
#include "vec/cast/cast_plan.h"
#include "vec/vec.h"

struct sum_exact {
    /* ---- codes to halves ---- */
    bool halves;         /* codes are halves (e5m10) */
    bool nibbles;        /* two codes per byte, converted by half_of; else one */
    uint8_t half_of[16]; /* high byte of the half of each 4-bit code */
    /* right shift of a magnitude, from bit 8 to its place in a half */
    int right;
    /* first magnitude that is not a number; special_add makes it the inf of a half */
    int special, special_add;
    bool two; /* two windows, else one */
    /* ---- codes to integers, in units of the smallest value ---- */
    int m;                /* mantissa bits of the addends */
    uint8_t value_of[16]; /* signed value of each 4-bit code; 0 for inf and nan */
    float unit;           /* the half that the smallest value becomes; 1 if codes are halves */
    struct enc_plan code; /* encodes a sum in these units */
    /* ---- fp32 to codes: |sum| * scale is rounded on its bits ---- */
    unsigned out_width;        /* 4, 8 or 16; 32: floats, of one window, not with AVX-512 */
    float scale;               /* a power of two */
    unsigned drop;             /* mantissa bits of an fp32 less the result's */
    uint32_t first, half, odd; /* bits of the smallest normal; half a unit less one; 1 for m = 0 */
    uint32_t rebias;           /* subtracted from the code of a normal */
    uint32_t low;         /* a float; a subnormal plus this float has its units in the low bits */
    uint32_t beyond, nan; /* magnitudes of overflows and of nan */
};

/* Fills *plan. Returns false if the sum is too wide, or if the result has too many significant bits
 * or a width other than 4, 8 or 16. Results in fp32 are accepted if they are exact. */
bool sum_exact_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                    struct sum_exact *plan);

static inline size_t sum_exact_bytes(unsigned width, size_t n)
{
    return (n * width + 7) / 8;
}

/* 8-bit formats without step tables (sum_step.h): rounded sums of two are exact sums of two */
static inline bool sum_exact_add_plan(const struct vec_sum *sum, struct sum_exact *out)
{
    const struct vec_sum exact = {.rule = VEC_EXACT, .overflow = sum->overflow, .in = sum->in};
    return sum->rule == VEC_NEAREST && mf_width(sum->in) == 8 && sum->in.m > 2 &&
           sum_exact_plan(&exact, 2, sum->in, 0, out);
}

#endif
