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

/* From a bucket's begin, in bytes. */
CAST_FN uint32_t codes_at(uint32_t e, uint32_t bits)
{
    return (uint32_t)sizeof(float) + e / 8 * bits + (e & 4) * bits / 8;
}

/* Store four codes at `to`: of 16 bits, two per word, else all in code.x, below other bits.
 * words: the bucket begins on a word. */
CAST_FN void codes_store(uint8_t *to, uint32_t bits, bool words, uint2 code, bool in)
{
    if (bits == 1) {
        const uint32_t beside = __shfl_xor_sync(LEVELS_ALL, code.x, 1);
        if (in && threadIdx.x % 2 == 0)
            *to = (uint8_t)((code.x & 15) | beside << 4);
        return;
    }
    if (!in)
        return;
    if (bits == 2)
        *to = (uint8_t)code.x;
    else if (!words)
        cast_store_bytes(to, code.x | (uint64_t)code.y << 32, bits / 2);
    else if (bits == 4)
        *(uint16_t *)to = (uint16_t)code.x;
    else if (bits == 8)
        *(uint32_t *)to = code.x;
    else
        ((uint32_t *)to)[0] = code.x, ((uint32_t *)to)[1] = code.y;
}

CAST_FN void codes_put(uint8_t *bucket, uint32_t e, uint32_t bits, const uint32_t code[4], bool in)
{
    const uint2 joined =
        bits == 16
            ? make_uint2(code[0] | code[1] << 16, code[2] | code[3] << 16)
            : make_uint2(code[0] | code[1] << bits | code[2] << 2 * bits | code[3] << 3 * bits, 0);
    codes_store(bucket + codes_at(e, bits), bits, (uintptr_t)bucket % 4 == 0, joined, in);
}

/* Load what codes_store() stored; zeros if not `in`. */
CAST_FN uint2 codes_load(const uint8_t *from, uint32_t bits, bool words, bool in)
{
    uint64_t bytes = 0;
    if (!in)
        return make_uint2(0, 0);
    if (bits == 1)
        return make_uint2(*from >> 4 * (threadIdx.x % 2), 0);
    if (words && bits == 4)
        return make_uint2(*(const uint16_t *)from, 0);
    if (words && bits == 8)
        return make_uint2(*(const uint32_t *)from, 0);
    if (words && bits == 16)
        return make_uint2(((const uint32_t *)from)[0], ((const uint32_t *)from)[1]);
    for (uint32_t i = 0; i < bits / 2; i++)
        bytes |= (uint64_t)from[i] << 8 * i;
    return make_uint2((uint32_t)bytes, (uint32_t)(bytes >> 32));
}

CAST_FN uint2 codes_get(const uint8_t *bucket, uint32_t e, uint32_t bits, bool in)
{
    return codes_load(bucket + codes_at(e, bits), bits, (uintptr_t)bucket % 4 == 0, in);
}

/* ---- values ---- */

/* Up to 4 bits, each lane holds one value of a table. */
struct levels_reader {
    struct level_grid grid;
    float divisor, in_lane;
};

CAST_FN float value_of(const struct levels_reader *r, struct level_scheme scheme, uint32_t code)
{
    const float value = scheme.even ? level_value_even(r->grid, code)
                                    : level_value_sign(scheme.bits, r->grid, code);
    return r->divisor == 1 ? value : __fdiv_rn(value, r->divisor);
}

CAST_FN struct levels_reader reader_of(struct level_scheme scheme, const uint8_t *bucket,
                                       float divisor)
{
    struct levels_reader r;
    r.grid = level_grid_of(scheme, __uint_as_float(word_get(bucket)));
    r.divisor = divisor;
    r.in_lane = scheme.bits <= 4
                    ? value_of(&r, scheme, threadIdx.x % 32 & ((1u << scheme.bits) - 1))
                    : 0.0f;
    return r;
}

/* Return the values of four codes from codes_load(). The whole warp calls it. */
CAST_FN void values_of(const struct levels_reader *r, struct level_scheme scheme, uint2 code,
                       float value[4])
{
    const uint32_t bits = scheme.bits;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const uint32_t c =
            bits == 16 ? (j < 2 ? code.x : code.y) >> 16 * (j % 2) : code.x >> j * bits;
        /* A shuffle ignores the bits above its five; the table repeats. */
        value[j] = bits <= 4 ? __shfl_sync(LEVELS_ALL, r->in_lane, (int)c)
                             : value_of(r, scheme, c & ((1u << bits) - 1));
    }
}

/* at: a multiple of 4. */
CAST_FN struct philox_block words_at(uint64_t key, size_t at)
{
    const uint64_t block = at / 4;
    const struct philox_block counter = {{(uint32_t)block, (uint32_t)(block >> 32), 0, 0}};
    return philox_rounds(key, counter);
}

#endif
