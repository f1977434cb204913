/* nn_pure.h : sets up tests of --precision fp16-pure and makes e5m10 values with mf.h. */
#ifndef NN_PURE_H
#define NN_PURE_H
#include <string.h>
#include "base/bits.h"
#include "hls/arith/mf.h"
#include "hls/arith/philox.h"
#include "nn/round/round_ops.h"

static inline float uniform(uint64_t key, uint64_t i)
{
    return (float)philox_u32(key, i) * 0x1p-31f - 1;
}

static inline struct round_setup pure_setup(void)
{
    struct round_setup s;
    round_pure(&s);
    s.below = &nn_cpu;
    return s;
}

static inline float half_of(double x)
{
    const struct mf_fmt fmt = {5, 10, 0};
    return float_of(mf_dec(fmt, mf_enc(fmt, bits_of((float)x), 0, MF_NEAREST, MF_INF, 0), 0));
}

#endif
