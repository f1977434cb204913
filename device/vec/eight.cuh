/* eight.cuh : reads and writes eight packed codes of any width per thread, as single bytes: fast
 * enough for few codes. */
#ifndef EIGHT_CUH
#define EIGHT_CUH
#include "device/vec/cast_way.cuh"

enum { EIGHT = 8 };

/* Elements from n on are zeros. bits: 1 to 32. */
CAST_FN void eight_get(const uint8_t *codes, uint32_t bits, size_t i, size_t n, uint32_t code[8])
{
    const size_t end = (n * bits + 7) / 8;
    const uint32_t all = 0xffffffffu >> (32 - bits);
    size_t at = i * bits;
    uint64_t have = 0;
    uint32_t n_have = 0;
#pragma unroll
    for (int j = 0; j < EIGHT; j++) {
        for (; n_have < bits; n_have += 8, at++)
            have |= (uint64_t)(at < end ? codes[at] : 0) << n_have;
        code[j] = (uint32_t)have & all;
        have >>= bits;
        n_have -= bits;
    }
}

CAST_FN void eight_put(uint8_t *codes, uint32_t bits, size_t i, size_t n, const uint32_t code[8])
{
    const size_t end = (n * bits + 7) / 8;
    size_t at = i * bits;
    uint64_t have = 0;
    uint32_t n_have = 0;
#pragma unroll
    for (int j = 0; j < EIGHT; j++) {
        have |= (uint64_t)(EIGHT * i + j < n ? code[j] : 0) << n_have;
        for (n_have += bits; n_have >= 8; n_have -= 8, have >>= 8, at++)
            if (at < end)
                codes[at] = (uint8_t)have;
    }
    if (n_have > 0 && at < end)
        codes[at] = (uint8_t)have;
}

#endif
