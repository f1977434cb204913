/* philox.h : computes random bits without state. Philox4x32-10 maps a 64-bit key and a 128-bit
 * counter to a block of four 32-bit words.
 *
 *     philox_key(seed, a, b, c, d) -> key       one stream per tuple: (step, layer, rank, stage)
 *     philox_u32(key, i)           -> 32 bits   word i of that stream, in any order, on any thread
 *     philox_round_u32(key, i)     -> 32 bits   the bits that round element i of a vector
 *
 * Not for cryptography. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
 * 2, 3", SC 2011, whose test vectors are reproduced. */
#ifndef PHILOX_H
#define PHILOX_H
#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_FN static __host__ __device__ inline
#else
#define PHILOX_FN static inline
#endif

struct philox_block {
    uint32_t w[4];
};

PHILOX_FN uint64_t philox_product(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    /* nvcc multiplies 64 bits if b has its top bit set. */
    uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#else
    return (uint64_t)a * b;
#endif
}

/* Apply ten rounds to the counter c. Each multiplies two words by constants and mixes the halves of
 * the products crosswise:
 *
 *     c0 * M0 = hi0:lo0     c2 * M1 = hi1:lo1     ->    c = hi1^c1^k0, lo1, hi0^c3^k1, lo0 */
PHILOX_FN struct philox_block philox_rounds(uint64_t key, struct philox_block c)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = philox_product(c.w[0], 0xd2511f53u), p1 = philox_product(c.w[2], 0xcd9e8d57u);
        c.w[0] = (uint32_t)(p1 >> 32) ^ c.w[1] ^ k0;
        c.w[2] = (uint32_t)(p0 >> 32) ^ c.w[3] ^ k1;
        c.w[1] = (uint32_t)p1;
        c.w[3] = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c;
}

/* Return the key of stream (a, b, c, d): half of the block with this counter. */
PHILOX_FN uint64_t philox_key(uint64_t seed, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    struct philox_block tuple = {{a, b, c, d}};
    struct philox_block x = philox_rounds(seed, tuple);
    return x.w[0] | (uint64_t)x.w[1] << 32;
}

/* Return word i % 4 of block i / 4. */
PHILOX_FN uint32_t philox_u32(uint64_t key, uint64_t i)
{
    struct philox_block counter = {{(uint32_t)(i >> 2), (uint32_t)(i >> 34), 0u, 0u}};
    return philox_rounds(key, counter).w[i & 3u];
}

/* Return half-word i % 8 of block (i / 8, half). */
PHILOX_FN uint32_t philox_half(uint64_t key, uint64_t i, uint32_t half)
{
    struct philox_block counter = {{(uint32_t)(i >> 3), (uint32_t)(i >> 35), half, 0u}};
    return philox_rounds(key, counter).w[(i >> 1) & 3u] >> ((i & 1u) * 16u) & 0xffffu;
}

/* Return the 32 uniform bits that decide whether element i of a vector is rounded up (mf.h,
 * MF_STOCHASTIC). The upper 16 suffice, except in one case in 65,536. So eight elements share a
 * block of upper halves; callers may compute lower halves only when needed.
 *
 *     word    | half-word i % 8 of block (i / 8, 0) | half-word i % 8 of block (i / 8, 1) | */
PHILOX_FN uint32_t philox_round_u32(uint64_t key, uint64_t i)
{
    return philox_half(key, i, 0u) << 16 | philox_half(key, i, 1u);
}

#endif
