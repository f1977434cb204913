/* rtl_rand.h : xorshift64 (Marsaglia, 2003). The state must not be 0. */
#ifndef RTL_RAND_H
#define RTL_RAND_H
#include <stdint.h>

static inline uint32_t rtl_rand(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

static inline int rtl_chance(uint64_t *state, unsigned of_256)
{
    return (rtl_rand(state) & 255u) < of_256;
}

static inline unsigned rtl_stall(uint64_t *state)
{
    static const unsigned of_256[] = {0, 0, 20, 128, 240};
    return of_256[rtl_rand(state) % 5];
}

#endif
