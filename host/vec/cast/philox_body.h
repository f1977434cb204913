/* philox_body.h : implements the slot random of cast_drive.h as PHILOX(), by the including file's
 * step(), which makes BLOCKS blocks whose numbers share the upper 32 bits. */
#ifndef PHILOX_BODY_H
#define PHILOX_BODY_H
#include <string.h>

void PHILOX(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words)
{
    while (n_blocks > 0) {
        uint32_t some[4 * BLOCKS];
        const uint64_t before_carry = ((uint64_t)1 << 32) - (uint32_t)block;
        size_t k = n_blocks < BLOCKS ? n_blocks : BLOCKS;
        k = k < before_carry ? k : (size_t)before_carry;
        step(key, block, half, k == BLOCKS ? words : some);
        if (k < BLOCKS)
            memcpy(words, some, k * 16);
        n_blocks -= k;
        block += k;
        words += 4 * k;
    }
}

#endif
