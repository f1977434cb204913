/* sum_pack.cuh : moves sixteen packed codes at a time, or C, between memory of any alignment and
 * registers.
 *
 * A chunk of 16 codes of w bits has 2w bytes, so it begins on a byte. C is 8 or 16. Codes of common
 * widths stay in words as loaded (16 of W = 4, 8, 16 or 32: 2, 4, 8 or 16 words). Others are read
 * by pack_at(), and written by pack_store() or, code by code, by pack_writer. */
#ifndef SUM_PACK_CUH
#define SUM_PACK_CUH
#include "device/run/cu.cuh"
#include "hls/arith/mf.h"

enum { PACK_CODES = 16 };

template <int W, int C = PACK_CODES> struct pack_words {
    enum { N = C * W / 32, PER = C / N, ALIGN = N == 2 ? 8 : 16 };
    uint32_t w[N];
};

/* Codes are sign-extended to 32 bits, as the adders expect. */
template <int W, int C>
static __device__ inline uint32_t pack_code(const pack_words<W, C> &p, int k)
{
    const uint32_t word = p.w[k / pack_words<W, C>::PER];
    const int at = k % pack_words<W, C>::PER;
    if (W == 8)
        return (uint32_t)(int32_t)(int8_t)(word >> (8 * at));
    if (W == 16)
        return (uint32_t)(int32_t)(int16_t)(word >> (16 * at));
    if (W == 4)
        return (uint32_t)((int32_t)(word << (28 - 4 * at)) >> 28);
    return word;
}

static __device__ inline uint32_t pack_own_bits(struct mf_fmt f, uint32_t code)
{
    return code & (0xffffffffu >> (32 - mf_width(f)));
}
static __device__ inline uint32_t pack_spread(struct mf_fmt f, uint32_t code)
{
    return (uint32_t)((int32_t)(code << (32 - mf_width(f))) >> (32 - mf_width(f)));
}

/* Returns nonzero if the magnitude of a code is `inf` or above.
 *     | s mmmmmmm | s mmmmmmm | ...  ->  | 0 mmmmmmm | ...  + (128 - inf) each
 * Only such a magnitude's sum reaches bit 7, and nothing carries further. */
template <int W> static __device__ inline uint32_t pack_special(uint32_t word, uint32_t inf)
{
    const uint32_t ones = W == 4 ? 0x11111111u : W == 8 ? 0x01010101u : 0x00010001u;
    const uint32_t half = 1u << (W - 1);
    return ((word & (ones * (half - 1u))) + ones * (half - inf)) & (ones * half);
}

/* left: codes to the vector's end, here and below. */
static __device__ inline unsigned pack_bytes(unsigned w, size_t left, unsigned c = PACK_CODES)
{
    return left >= c ? c / 8u * w : ((unsigned)left * w + 7u) / 8u;
}

static __device__ inline uint32_t pack_at(const uint8_t *bytes, unsigned n_bytes, unsigned w,
                                          size_t i)
{
    const size_t bit = i * w, first = bit / 8;
    uint64_t word = 0;
    for (unsigned b = 0; b < 5; b++)
        if (first + b < n_bytes && 8 * b < (bit & 7) + w)
            word |= (uint64_t)bytes[first + b] << (8 * b);
    return (uint32_t)((int32_t)((uint32_t)(word >> (bit & 7)) << (32 - w)) >> (32 - w));
}

/* p: GPU memory, aligned to ALIGN. */
template <int W, int C>
static __device__ inline void pack_fetch(const uint8_t *p, pack_words<W, C> *to)
{
#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(p));
#endif
    if (pack_words<W, C>::N == 2) {
        const uint2 v = *(const uint2 *)p;
        to->w[0] = v.x, to->w[1] = v.y;
    } else {
#pragma unroll
        for (int q = 0; q < pack_words<W, C>::N / 4; q++) {
            const uint4 v = ((const uint4 *)p)[q];
            to->w[4 * q] = v.x, to->w[4 * q + 1] = v.y, to->w[4 * q + 2] = v.z,
                      to->w[4 * q + 3] = v.w;
        }
    }
}

/* Codes from `left` on are 0. */
template <int W, int C>
static __device__ inline void pack_load(const uint8_t *p, unsigned w, size_t left,
                                        pack_words<W, C> *to)
{
    typedef pack_words<W, C> words;
    const unsigned n_bytes = pack_bytes(w, left, C), align = (unsigned)(uintptr_t)p & 15u;
    if (left >= C && (align & (words::ALIGN - 1u)) == 0u) {
        pack_fetch(p, to);
    } else if (left >= C && (align & 3u) == 0u) {
#pragma unroll
        for (int i = 0; i < words::N; i++)
            to->w[i] = ((const uint32_t *)p)[i];
    } else {
#pragma unroll
        for (int i = 0; i < words::N; i++) {
            uint32_t word = 0;
#pragma unroll
            for (unsigned b = 0; b < 4; b++)
                if (4u * i + b < n_bytes)
                    word |= (uint32_t)p[4 * i + b] << (8 * b);
            to->w[i] = word;
        }
    }
}

/* Loads of whole, aligned chunks are issued together. */
template <int W>
static __device__ inline void pack_load_both(const uint8_t *p, const uint8_t *q, unsigned w,
                                             size_t left, pack_words<W> *a, pack_words<W> *b)
{
    const unsigned align = (unsigned)((uintptr_t)p | (uintptr_t)q);
    if (left >= PACK_CODES && (align & (pack_words<W>::ALIGN - 1u)) == 0u) {
        pack_fetch(p, a);
        pack_fetch(q, b);
    } else {
        pack_load(p, w, left, a);
        pack_load(q, w, left, b);
    }
}

template <int N>
static __device__ inline void pack_put(uint8_t *p, const uint32_t *words, unsigned n_bytes)
{
    const unsigned align = (unsigned)(uintptr_t)p & 15u;
    if (N % 4 == 0 && n_bytes == 4 * N && align == 0u) {
#pragma unroll
        for (int q = 0; q < N / 4; q++)
            ((uint4 *)p)[q] =
                make_uint4(words[4 * q], words[4 * q + 1], words[4 * q + 2], words[4 * q + 3]);
    } else if (N == 2 && n_bytes == 8 && (align & 7u) == 0u) {
        *(uint2 *)p = make_uint2(words[0], words[N - 1]);
    } else if (n_bytes == 4 * N && (align & 3u) == 0u) {
#pragma unroll
        for (int i = 0; i < N; i++)
            ((uint32_t *)p)[i] = words[i];
    } else {
#pragma unroll
        for (int i = 0; i < N; i++)
#pragma unroll
            for (unsigned b = 0; b < 4; b++)
                if (4u * i + b < n_bytes)
                    p[4 * i + b] = (uint8_t)(words[i] >> (8 * b));
    }
}

/* Stores no bytes after code left - 1. Unused bits of its last byte become zero. */
template <int C>
static __device__ inline void pack_store(uint8_t *p, unsigned w, size_t left, uint32_t (&codes)[C])
{
    const unsigned n_bytes = pack_bytes(w, left, C);
    if (left < C)
#pragma unroll
        for (int k = 0; k < C; k++)
            codes[k] = (size_t)k < left ? codes[k] : 0u;
    if (w == 8) {
        uint32_t words[C / 4];
#pragma unroll
        for (int i = 0; i < C / 4; i++)
            words[i] = codes[4 * i] | codes[4 * i + 1] << 8 | codes[4 * i + 2] << 16 |
                       codes[4 * i + 3] << 24;
        pack_put<C / 4>(p, words, n_bytes);
    } else if (w == 16) {
        uint32_t words[C / 2];
#pragma unroll
        for (int i = 0; i < C / 2; i++)
            words[i] = codes[2 * i] | codes[2 * i + 1] << 16;
        pack_put<C / 2>(p, words, n_bytes);
    } else if (w == 4) {
        uint32_t words[C / 8] = {};
#pragma unroll
        for (int k = 0; k < C; k++)
            words[k / 8] |= codes[k] << (4 * (k % 8));
        pack_put<C / 8>(p, words, n_bytes);
    } else if (w == 32) {
        pack_put<C>(p, codes, n_bytes);
    } else {
        uint64_t word = 0;
        unsigned held = 0, at = 0;
#pragma unroll
        for (int k = 0; k < C; k++) {
            word |= (uint64_t)codes[k] << held;
            for (held += w; held >= 8; held -= 8, word >>= 8)
                if (at < n_bytes)
                    p[at++] = (uint8_t)word;
        }
    }
}

/* Writes each byte as soon as it is full. */
struct pack_writer {
    uint8_t *to;
    uint64_t word;
    unsigned w, held;
};

static __device__ inline struct pack_writer pack_writer_at(uint8_t *codes, size_t chunk, unsigned w)
{
    struct pack_writer p = {codes + chunk * (2u * w), 0, w, 0};
    return p;
}
static __device__ inline void pack_write_code(struct pack_writer *p, uint32_t code)
{
    p->word |= (uint64_t)code << p->held;
    for (p->held += p->w; p->held >= 8; p->held -= 8, p->word >>= 8)
        *p->to++ = (uint8_t)p->word;
}
static __device__ inline void pack_write_rest(struct pack_writer *p)
{
    if (p->held != 0)
        *p->to = (uint8_t)p->word;
}

#endif
