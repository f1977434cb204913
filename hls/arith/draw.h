/* draw.h : draws unbiased random integers below a limit from numbered streams of random words
 * (philox.h). */
#ifndef DRAW_H
#define DRAW_H
#include <stdint.h>
#include "hls/arith/philox.h"

/* purposes, which never share a stream */
enum draw_use {
    DRAW_ORDER = 0x6f72,
    DRAW_AUGMENT = 0x6175,
    DRAW_PATTERN = 0x7061,
    DRAW_IMAGE = 0x696d,
    DRAW_SHAPES = 0x7368,
    DRAW_PLACES = 0x706c
};

struct draw {
    uint64_t key, next; /* next: index of the next word */
};

/* Open a stream at its beginning. `major` and `minor` (such as epoch and image) tell streams of one
 * use apart. */
PHILOX_FN struct draw draw_open(uint64_t seed, enum draw_use use, uint64_t major, uint32_t minor)
{
    struct draw d = {
        philox_key(seed, (uint32_t)use, (uint32_t)major, (uint32_t)(major >> 32), minor), 0};
    return d;
}

PHILOX_FN uint32_t draw_u32(struct draw *d)
{
    return philox_u32(d->key, d->next++);
}

/* Return one of 0..n-1, equally likely; n > 0. The result is the high word of a product. Low words
 * below 2^32 mod n would favour some results and are drawn again. Source: Lemire, Fast Random
 * Integer Generation in an Interval, 2019. */
PHILOX_FN uint32_t draw_below(struct draw *d, uint32_t n)
{
    uint64_t product;
    do
        product = (uint64_t)draw_u32(d) * n;
    while ((uint32_t)product < (0u - n) % n);
    return (uint32_t)(product >> 32);
}

#endif
