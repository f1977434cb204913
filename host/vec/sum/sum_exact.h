/* sum_exact.h : Plans exact sums of packed codes in one pass, for AVX2 and AVX-512.
 *
 * A code of e <= 5, m <= 5 becomes a half, then an fp32. The half's bias is always 15; the power of
 * two that is missing is applied at the end. fp32 sums are exact within 24 bits, so values are
 * added in one or two windows:
 *
 *     one     e <= 4, sums of 2^e - 1 + m + log2 P bits
 *     two     e = 5: a value's part up to 2 goes to `low`, the rest to `high`; 15 + m + log2 P bits
 *
 * Codes of e5m10 are halves. Their sums, of 40 + log2 P bits, are exact in fp64.
 *
 * inf and nan pass through. At the end low + high, or the fp64, is rounded to fp32 "to odd": toward
 * zero, then with the last bit set if anything was lost. A format of at most 22 significant bits
 * rounds from this as from the exact sum. Source: S. Boldo and G. Melquiond, Emulation of FMA and
 * correctly rounded sums, 2008. */
#ifndef SUM_EXACT_H
#define SUM_EXACT_H
#include "vec/vec.h"

struct sum_exact {
    /* codes to halves */
    bool halves;         /* e5m10; else: */
    bool nibbles;        /* two codes a byte, by half_of; else one */
    uint8_t half_of[16]; /* high byte of each 4-bit code's half */
    /* shift of a magnitude from bit 8 to its place in a half */
    int right;
    /* first magnitude that is no number; added to it, gives a half's inf */
    int special, special_add;
    bool two; /* windows */
    /* fp32 to codes: |sum| * scale, rounded on its bits */
    unsigned out_width;        /* 4, 8 or 16 */
    float scale;               /* a power of two */
    unsigned drop;             /* fp32's mantissa bits less the result's */
    uint32_t first, half, odd; /* bits of the smallest normal; half a unit less one; 1 for m = 0 */
    uint32_t rebias;           /* subtracted from a normal's code */
    uint32_t low;              /* float whose addition gives units of a subnormal */
    uint32_t beyond, nan;      /* magnitudes */
};

/* Returns false where the sum is too wide, or the result has too many bits or another width. */
bool sum_exact_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                    struct sum_exact *plan);

static inline size_t sum_exact_bytes(unsigned width, size_t n)
{
    return (n * width + 7) / 8;
}

#endif
