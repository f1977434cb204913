/* sum_wide.h : adds wide words of two windows.
 *
 * Sums of one window (sum_exact.h) have at most WIDE_MAX bits and pass through 32-bit integers.
 * Sums of two windows pass through 64-bit integers: high * 2^LOW_BITS + low, each in its window's
 * units. */
#ifndef SUM_WIDE_H
#define SUM_WIDE_H
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    WIDE_MAX = 25,                     /* bits; 7 more fit a load of 32 */
    LONG_MAX = 50,                     /* bits of two windows; 7 more fit a load of 64 */
    WIDE_BLOCK = LANES * LONG_MAX / 8, /* bytes of LANES words */
    WIDE_SLACK = 16,                   /* bytes that a load or store may pass */
    LOW_BITS = 15                      /* a unit of `high` is 2^LOW_BITS units of `low` */
};

/* Adds words to sums, but inf and nan to special. Reads up to WIDE_SLACK bytes beyond. */
EXACT_INLINE void add_each_word(const uint8_t *from, int bits, int64_t *sums, float *special)
{
    const uint64_t lowest = 1ull << (bits - 1);
    for (int i = 0; i < LANES; i++) {
        uint64_t word;
        memcpy(&word, from + i * bits / 8, sizeof word);
        word = word >> (i * bits % 8) & (2 * lowest - 1);
        if (word - (lowest - 1) > 2)
            sums[i] += (int64_t)((word ^ lowest) - lowest);
        else
            special[i] += word == lowest ? NAN : word < lowest ? INFINITY : -INFINITY;
    }
}

#endif
