/* sum_exact.h : exact sums of several ranks' packed codes in one pass: the plan that AVX2 and
 * AVX-512 share.
 *
 * A code of e <= 5, m <= 5 becomes a half (bias 15, whatever its own: the difference is a power of
 * two for the end) and that an fp32. Sums of these are exact in fp32 as long as they fit 24 bits,
 * so values are added in one or two windows:
 *
 *     one     e <= 4, sums of 2^e - 1 + m + log2 P bits
 *     two     e = 5: of each value what is at most 2 in `low`, the rest in `high`: 15 + m + log2 P bits at most
 *
 * A code of e5m10 is a half: its sums, of 40 + log2 P bits, are exact in fp64.
 *
 * inf and nan go through as such. At the end low + high, or the fp64, is rounded to fp32 "to odd" (toward
 * zero, then the last bit set if anything was lost), from which a format of at most 22 significant
 * bits is rounded as from the exact sum. Source of rounding to odd: S. Boldo and G. Melquiond,
 * Emulation of FMA and correctly rounded sums, 2008. */
#ifndef SUM_EXACT_H
#define SUM_EXACT_H
#include "vec/vec.h"

struct sum_exact {
    /* codes to halves */
    bool halves;         /* e5m10; else: */
    bool nibbles;        /* two codes a byte, looked up in half_of; else a byte each */
    uint8_t half_of[16]; /* high byte of the half of each 4-bit code */
    /* bits by which a magnitude moves from bit 8 to where a half has it */
    int right;
    /* magnitude of the first code that is no number; what makes a half's inf of it */
    int special, special_add;
    bool two; /* windows */
    /* fp32 to codes: |sum| * scale, rounded on its bits */
    unsigned out_width;        /* 4, 8 or 16 */
    float scale;               /* a power of two */
    unsigned drop;             /* mantissa bits of fp32 less those of the result */
    uint32_t first, half, odd; /* the smallest normal's bits; half a unit less one; 1 for m = 0 */
    uint32_t rebias;           /* taken off a normal's code */
    uint32_t low;              /* bits of the float that makes units of a subnormal */
    uint32_t beyond, nan;      /* magnitudes */
};

/* Can it be done so? Returns false where the sum is too wide, the result too long, or of another
 * width. */
bool sum_exact_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out, int shift,
                    struct sum_exact *plan);

/* Bytes of n codes. */
static inline size_t sum_exact_bytes(unsigned width, size_t n)
{
    return (n * width + 7) / 8;
}

#endif
