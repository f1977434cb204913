/* philox_neon.c : makes words of the stream of philox.h with NEON, one block per lane. */
#include "vec/cast/cast_neon.h"
#ifdef VEC_ARM

/* Returns the upper halves of the 64-bit products by m. */
CAST_INLINE uint32x4_t mul_high(uint32x4_t x, uint32_t m)
{
    const uint64x2_t low = vmull_n_u32(vget_low_u32(x), m), high = vmull_high_n_u32(x, m);
    return vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high));
}

/* c[i]: word i of 4 counters; k0, k1: halves of the key */
CAST_INLINE void mix(uint32x4_t c[4], uint32_t k0, uint32_t k1)
{
    const uint32x4_t h0 = mul_high(c[0], 0xd2511f53u), l0 = vmulq_n_u32(c[0], 0xd2511f53u),
                     h1 = mul_high(c[2], 0xcd9e8d57u), l1 = vmulq_n_u32(c[2], 0xcd9e8d57u);
    c[0] = veorq_u32(veorq_u32(h1, c[1]), all(k0));
    c[2] = veorq_u32(veorq_u32(h0, c[3]), all(k1));
    c[1] = l1;
    c[3] = l0;
}

enum { BLOCKS = 8 }; /* per step: two registers hide the latency of multiplications */

CAST_INLINE void step(uint64_t key, uint64_t block, uint32_t half, uint32_t words[4 * BLOCKS])
{
    static const uint32_t first[4] = {0, 1, 2, 3};
    const uint32x4_t low = vaddq_u32(all((uint32_t)block), vld1q_u32(first));
    const uint32x4_t high = all((uint32_t)(block >> 32)), which = all(half);
    uint32x4_t c[4] = {low, high, which, all(0)};
    uint32x4_t d[4] = {vaddq_u32(low, all(4)), high, which, all(0)};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        mix(c, k0, k1);
        mix(d, k0, k1);
    }
    vst4q_u32(words, ((uint32x4x4_t){{c[0], c[1], c[2], c[3]}}));
    vst4q_u32(words + 16, ((uint32x4x4_t){{d[0], d[1], d[2], d[3]}}));
}

#define PHILOX philox_neon
#include "vec/cast/philox_body.h"
#endif
