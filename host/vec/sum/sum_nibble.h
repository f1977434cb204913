/* sum_nibble.h : declares tables for exact sums of 4-bit codes that stay in their format.
 *
 * A code's value, in units of the smallest value, is a signed byte. So is a sum of `together`
 * codes. Sums of more codes take 16 bits, are limited to the range of 7 bits, and index a table of
 * 128 codes. For e3m0, e2m1 and e1m2 this is correct, because sums beyond 7 bits overflow these
 * formats. */
#ifndef SUM_NIBBLE_H
#define SUM_NIBBLE_H
#include "vec/sum/sum_look.h"
#include "vec/vec.h"

/* One format's tables. VBMI's lookups by codes use six bits, of which the upper two belong to the
 * next code, so these tables repeat their 16 entries four times. */
struct sum_nibble {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    int together;        /* number of ranks whose sum fits a signed byte */
    uint8_t value[64];   /* value of each code, -32 .. 32; NIBBLE_NONE: not a number */
    uint8_t seen[64];    /* flags of each code: 1 inf, 2 -inf, 3 nan, 0 a number */
    uint8_t special[64]; /* result for the OR of the flags of all addends */
    struct look code;    /* code of each sum -64 .. 63, in seven bits */
};

enum { NIBBLE_NONE = -128, NIBBLE_LEAST = -64, NIBBLE_MAX = 63, NIBBLE_RANKS = 1000 };

/* Returns NULL for formats other than e3m0, e2m1 and e1m2. */
const struct sum_nibble *sum_nibble_of(struct mf_fmt fmt, enum mf_overflow overflow);

/* Returns the tables for vec.h's sum; NULL unless it is exact, of at most NIBBLE_RANKS codes, to
 * their own format without a shift. */
const struct sum_nibble *sum_nibble_plan(const struct vec_sum *sum, int n_parts, struct mf_fmt out,
                                         int shift);

#endif
