/* sum_nibble.h : Tables for exact sums of 4-bit codes that stay in their format.
 *
 * A code's value in units of the smallest one is a signed byte, and so is a sum of `together`
 * codes. Longer sums take 16 bits, are limited to 7, and index a table of 128 codes. That works
 * where limited sums are beyond the format: e3m0, e2m1, e1m2. */
#ifndef SUM_NIBBLE_H
#define SUM_NIBBLE_H
#include "vec/sum/sum_look.h"

/* One format and overflow. Lookups by nibbles use six bits, two of them the next nibble's, so these
 * tables repeat four times. */
struct sum_nibble {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    int together;        /* ranks whose sum is a signed byte */
    uint8_t value[64];   /* of a code: -32 .. 32; NIBBLE_NONE: no number */
    uint8_t seen[64];    /* of a code: 1 inf, 2 -inf, 3 nan, 0 a number */
    uint8_t special[64]; /* the result where those were seen, by their OR */
    struct look code;    /* by a sum of -64 .. 63, in seven bits */
};

enum { NIBBLE_NONE = -128, NIBBLE_LEAST = -64, NIBBLE_MOST = 63, NIBBLE_RANKS = 1000 };

/* NULL for other formats. */
const struct sum_nibble *sum_nibble_of(struct mf_fmt fmt, enum mf_overflow overflow);

#endif
