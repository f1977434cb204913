/* seeded.h : draws random numbers of the SEED that the including file defines before. */
#ifndef SEEDED_H
#define SEEDED_H
#include "hls/arith/philox.h"

static uint64_t drawn;

static inline uint32_t draw(uint32_t below)
{
    return philox_u32(SEED, drawn++) % below;
}

#endif
