/* levels_item.cuh : reads and writes a bucket's codes four per lane; operations of its team, a
 * warp or the whole block.
 *
 *     bucket | scale | codes 0..3 | codes 4..7 | ...    four codes: half a byte to 8 bytes
 *
 * A bucket has whole words. If a vector begins on a word, so do all its buckets; else codes move
 * byte by byte. */
#ifndef LEVELS_ITEM_CUH
#define LEVELS_ITEM_CUH
#include "device/vec/cast_item.cuh"
#include "hls/arith/level_lists.h"

#define LEVELS_ALL 0xffffffffu

/* ---- a team of TEAM lanes ---- */

template <int TEAM> CAST_FN void team_sync(void)
{
    if (TEAM == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* Every lane gets the maximum. shared: [TEAM / 32] of the team. */
template <int TEAM> CAST_FN uint32_t team_max(uint32_t value, uint32_t *shared)
{
    value = __reduce_max_sync(LEVELS_ALL, value);
    if (TEAM == 32)
        return value;
    /* Wait until the previous values are read. */
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 0; i < TEAM / 32; i++)
        value = max(value, shared[i]);
    return value;
}

/* level_join() of the 16 lanes of each half warp. Addition commutes, so all lanes get the same
 * bits. */
CAST_FN float half_join(float sum)
{
#pragma unroll
    for (int apart = LEVEL_LANES / 2; apart > 0; apart /= 2)
        sum = level_add(sum, __shfl_xor_sync(LEVELS_ALL, sum, apart));
    return sum;
}

/* ---- words of any alignment ---- */

CAST_FN void word_put(uint8_t *to, uint32_t word)
{
    if ((uintptr_t)to % 4 == 0)
        *(uint32_t *)to = word;
    else
        cast_store_bytes(to, word, 4);
}
CAST_FN uint32_t word_get(const uint8_t *from)
{
    if ((uintptr_t)from % 4 == 0)
        return *(const uint32_t *)from;
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* The whole warp accesses elements e to e + 3 of a bucket, with neighbouring groups in neighbouring
 * lanes. e: a multiple of 4. in: the lane has elements. */

CAST_FN void codes_put(uint8_t *codes, uint32_t e, uint32_t bits, const uint32_t code[4], bool in)
{
    const uint32_t joined =
        code[0] | code[1] << bits % 16 | code[2] << 2 * bits % 32 | code[3] << 3 * bits % 32;
    uint8_t *to = codes + e / 8 * bits + (e & 4) * bits / 8;
    if (bits == 1) {
        const uint32_t beside = __shfl_xor_sync(LEVELS_ALL, joined, 1);
        if (in && threadIdx.x % 2 == 0)
            *to = (uint8_t)(joined | beside << 4);
        return;
    }
    if (!in)
        return;
    if (bits == 16) {
        word_put(to, code[0] | code[1] << 16);
        word_put(to + 4, code[2] | code[3] << 16);
    } else if (bits == 8) {
        word_put(to, joined);
    } else if (bits == 4 && (uintptr_t)to % 2 == 0) {
        *(uint16_t *)to = (uint16_t)joined;
    } else {
        cast_store_bytes(to, joined, bits / 2);
    }
}

/* Lanes without elements get zeros. */
CAST_FN void codes_get(const uint8_t *codes, uint32_t e, uint32_t bits, bool in, uint32_t code[4])
{
    const uint8_t *from = codes + e / 8 * bits + (e & 4) * bits / 8;
    uint32_t low = 0, high = 0;
    if (in && bits == 16)
        low = word_get(from), high = word_get(from + 4);
    else if (in && bits == 8)
        low = word_get(from);
    else if (in && bits == 4 && (uintptr_t)from % 2 == 0)
        low = *(const uint16_t *)from;
    else if (in && bits == 4)
        low = from[0] | (uint32_t)from[1] << 8;
    else if (in)
        low = *from >> (bits == 1 ? e & 4 : 0);
    if (bits == 16) {
        code[0] = low & 0xffff, code[1] = low >> 16, code[2] = high & 0xffff, code[3] = high >> 16;
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        code[j] = low >> j * bits & ((1u << bits) - 1);
}

/* at: a multiple of 4. */
CAST_FN struct philox_block words_at(uint64_t key, size_t at)
{
    const uint64_t block = at / 4;
    const struct philox_block counter = {{(uint32_t)block, (uint32_t)(block >> 32), 0, 0}};
    return philox_rounds(key, counter);
}

#endif
