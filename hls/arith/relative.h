/* relative.h : all arithmetic of gradients sent as multiples of a quantile, for C and CUDA.
 * Gradients may first be divided by their weights.
 *
 *     d = g / (|w| + eps), or d = g     q = a quantile of |d|     top = largest value of the format
 *     sent      d * (top / q) / share       share: number of values of size q that fit one sum
 *     decoded   v * (q / top), then * (|w| + eps) unless d = g       v: the sum
 *
 * Each operation is rounded to fp32, in this order, so every machine in IEEE mode gives the same
 * bits. As top / q need not be a power of two, a product is rounded twice: to fp32, then to the
 * format. Source: fp8 paper, Algorithm 1. */
#ifndef RELATIVE_H
#define RELATIVE_H
#include "hls/arith/philox.h"
#include <stdint.h>

#ifdef __CUDACC__
#define RELATIVE_FN static __host__ __device__ inline
#else
#define RELATIVE_FN static inline
#endif

RELATIVE_FN float relative_to(float w, float eps)
{
    return (w < 0.0f ? -w : w) + eps;
}

/* a vector's factors; both 0 if q is 0, so that zeros are sent */
struct relative_scale {
    float up, down; /* top / q, q / top */
};

/* Return q, clamped so that top / q and q / top are finite and normal, for a top from 1 to 2^33; 0
 * if q is nan or not above 0. */
RELATIVE_FN float relative_quantile(float q, float top)
{
    const float least = top * 0x1p-126f;
    const float more = q < least ? least : q, most = more > 0x1p126f ? 0x1p126f : more;
    return q > 0.0f ? most : 0.0f;
}

/* Return the factors of a vector. q: from relative_quantile(). */
RELATIVE_FN struct relative_scale relative_scale_of(float q, float top)
{
    struct relative_scale s = {0.0f, 0.0f};
    if (q > 0.0f) {
        s.up = top / q;
        s.down = q / top;
    }
    return s;
}

RELATIVE_FN float relative_sent(float d, struct relative_scale s, float share)
{
    return d * s.up / share;
}

/* Return the rank of the `part` quantile among n numbers: ceil(part * n), at least 1. part: in (0,
 * 1], a decimal fraction rounded to double. */
RELATIVE_FN uint32_t relative_rank(double part, uint32_t n)
{
    const double exact = part * (double)n - 1e-9 * (double)n;
    const uint32_t below = (uint32_t)exact, rank = exact > (double)below ? below + 1u : below;
    return rank < 1u ? 1u : rank > n ? n : rank;
}

/* relative_smallest() returns the rank-th smallest (1 to n) of n magnitudes, given as fp32 bits. It
 * bisects from the highest bit down: for bit b, it counts the magnitudes up to relative_most(),
 * then relative_narrow() keeps or raises the lower bound `least`. */
enum { RELATIVE_TOP_BIT = 30 };

RELATIVE_FN uint32_t relative_most(uint32_t least, int b)
{
    return least + ((1u << b) - 1u);
}

RELATIVE_FN uint32_t relative_narrow(uint32_t least, int b, uint32_t below, uint32_t rank)
{
    return below < rank ? relative_most(least, b) + 1u : least;
}

RELATIVE_FN uint32_t relative_smallest(const uint32_t *bits, uint32_t n, uint32_t rank)
{
    uint32_t least = 0u;
    for (int b = RELATIVE_TOP_BIT; b >= 0; b--) {
        const uint32_t most = relative_most(least, b);
        uint32_t below = 0u;
        for (uint32_t i = 0; i < n; i++)
            below += bits[i] <= most;
        least = relative_narrow(least, b, below, rank);
    }
    return least;
}

/* ---- samples of a vector ---- */

/* Return the key of the stream that picks samples of a vector. key: of the vector's own stream. */
RELATIVE_FN uint64_t relative_samples_key(uint64_t key)
{
    return philox_key(key, 0x73616d70u /* "samp": names this use */, 0u, 0u, 0u);
}

/* Return the index of the k-th sample among n elements, drawn with replacement from the first
 * 2^32 - 1; k if n <= samples. */
RELATIVE_FN uint64_t relative_sampled(uint64_t samples_key, uint64_t n, uint32_t samples,
                                      uint32_t k)
{
    const uint64_t among = n < 0xffffffffu ? n : 0xffffffffu;
    return n <= samples ? k : (among * philox_u32(samples_key, k)) >> 32;
}

/* Return the bits of |d|, limited to the largest finite value. */
RELATIVE_FN uint32_t relative_magnitude(uint32_t bits)
{
    const uint32_t size = bits & 0x7fffffffu;
    return size < 0x7f7fffffu ? size : 0x7f7fffffu;
}

#endif
