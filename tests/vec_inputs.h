/* vec_inputs.h : fp32 inputs that a cast can get wrong, and the tables of operations that this CPU has. */
#ifndef VEC_INPUTS_H
#define VEC_INPUTS_H
#include "hls/philox.h"
#include "vec/vec_isa.h"
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

/* The tables of every instruction set this CPU has, scalar first. Returns how many. */
static inline int vec_tables(struct vec_ops tables[VEC_ISAS])
{
    int n = 0;
    for (int isa = 0; isa < VEC_ISAS; isa++)
        n += vec_isa_table((enum vec_isa)isa, &tables[n]);
    return n;
}

/* Input i of a format under a shift: a value or a tie of the format, or its neighbours, divided by 2^shift, of either
 * sign; every fourth one any bits at all, or a corner of fp32. */
static inline float vec_input(struct mf_fmt f, int shift, uint64_t i)
{
    static const uint32_t corners[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffffffff,
                                       0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800001};
    const uint32_t r = philox_u32(0x1234, i), s = philox_u32(0x5678, i);
    if (i % 16 == 3)
        return float_of(corners[r % (sizeof corners / sizeof *corners)]);
    if (i % 4 == 3)
        return float_of(r);
    const struct mf_fmt finer = {f.e, (uint8_t)(f.m < 23 ? f.m + 1 : 23), 0}; /* its odd codes are f's ties */
    const uint32_t value = mf_dec(finer, r & mf_nan(finer), -shift);
    return float_of((value + s % 5 - 2) ^ (s & 0x80000000));
}

#endif
