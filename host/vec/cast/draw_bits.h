/* draw_bits.h : rounds the elements that 16 random bits do not decide. */
#ifndef DRAW_BITS_H
#define DRAW_BITS_H
#include "hls/arith/philox.h"
#include "vec/cast/cast_step.h"

/* Sets codes[i] for every bit i of `which`. at: index of x[0]. */
static __attribute__((noinline)) void by_all_bits(const struct cast_draw *d, const float *x,
                                                  uint64_t at, uint64_t which, uint32_t *codes)
{
    const struct vec_cast *cast = d->cast;
    for (; which != 0; which &= which - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(which);
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        codes[i] = mf_enc(cast->fmt, bits, d->shift, MF_STOCHASTIC, cast->overflow,
                          philox_round_u32(cast->key, at + i));
    }
}

#endif
