/* sum_nibble.h : tables for exact sums of codes of 4 bits that stay in their format: each code's value
 * in units of the smallest one is a signed byte, and so is a sum of `together` of them; sums of more
 * have 16 bits, and one cut to seven bits is what a table of 128 makes a code of. That needs a format
 * whose largest sums that are cut are beyond it: e3m0, e2m1, e1m2. Made from mf.h once. */
#ifndef SUM_NIBBLE_H
#define SUM_NIBBLE_H
#include "vec/sum/sum_look.h"

/* One format's, for one policy of overflow. Tables by a nibble lie there four times: they are looked
 * up by six bits, of which two are the next nibble's. */
struct sum_nibble {
    struct mf_fmt fmt;
    enum mf_overflow overflow;
    int together;        /* ranks whose sum is a signed byte */
    uint8_t value[64];   /* of a code: -32 .. 32; NIBBLE_NONE of what is no number */
    uint8_t seen[64];    /* of a code: 1 inf, 2 -inf, 3 nan, 0 a number */
    uint8_t special[64]; /* what remains where those were seen; by their bits together */
    struct look code;    /* of a sum of -64 .. 63 in seven bits */
};

enum { NIBBLE_NONE = -128, NIBBLE_LEAST = -64, NIBBLE_MOST = 63, NIBBLE_RANKS = 1000 };

/* NULL where there are none. */
const struct sum_nibble *sum_nibble_of(struct mf_fmt fmt, enum mf_overflow overflow);

#endif
