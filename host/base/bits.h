/* bits.h : converts floats to their bits and back, and rounds logarithms. */
#ifndef BITS_H
#define BITS_H
#include <stdint.h>
#include <string.h>

static inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Return the least k with 2^k >= n. */
static inline int log2_up(int n)
{
    int log2 = 0;
    while ((int64_t)1 << log2 < n)
        log2++;
    return log2;
}

#endif
