/* levels_pack.h : packs codes of 1, 2, 4, 8 and 16 bits in loops that compilers vectorise. */
#ifndef LEVELS_PACK_H
#define LEVELS_PACK_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LEVELS_BLOCK = 256 }; /* most elements at a time */

/* Prefetches the n floats 4 KiB after x, which need not exist. */
static inline void levels_ahead(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch((const char *)((uintptr_t)(x + i) + 4096));
}

static inline size_t levels_less(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline float levels_float(const void *from)
{
    float x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline uint32_t levels_bits(const void *from)
{
    uint32_t x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* ---- codes, one per 32-bit word, to bytes and back ----
 *
 * n: a multiple of LEVEL_BUCKET_UNIT. Codes of less than 8 bits are joined in pairs until a byte is
 * full:
 *
 *     | 0 0 b | 0 0 a |  ->  | 0 b a |        by x | x >> (8 - width) */

union levels_bytes_or_twos {
    uint8_t ones[2 * LEVELS_BLOCK];
    uint16_t twos[LEVELS_BLOCK];
};

static inline void levels_pack(uint32_t bits, const uint32_t *codes, size_t n, uint8_t *bytes)
{
    union levels_bytes_or_twos a, b, *from = &a, *to = &b;
    if (bits == 16) {
        for (size_t i = 0; i < n; i++)
            a.twos[i] = (uint16_t)codes[i];
        memcpy(bytes, a.twos, n * sizeof *a.twos);
        return;
    }
    for (size_t i = 0; i < n; i++)
        a.ones[i] = (uint8_t)codes[i];
    for (; bits < 8; bits *= 2, n /= 2) {
        for (size_t i = 0; i < n / 2; i++)
            to->ones[i] = (uint8_t)(from->twos[i] | from->twos[i] >> (8 - bits));
        union levels_bytes_or_twos *was = from;
        from = to, to = was;
    }
    memcpy(bytes, from->ones, n);
}

static inline void levels_unpack(uint32_t bits, const uint8_t *bytes, size_t n, uint32_t *codes)
{
    union levels_bytes_or_twos a, b, *from = &a, *to = &b;
    size_t n_bytes = n / 8 * bits;
    if (bits == 16) {
        memcpy(a.twos, bytes, n_bytes);
        for (size_t i = 0; i < n; i++)
            codes[i] = a.twos[i];
        return;
    }
    memcpy(a.ones, bytes, n_bytes);
    for (uint32_t width = 4; width >= bits; width /= 2, n_bytes *= 2) {
        for (size_t i = 0; i < n_bytes; i++)
            to->twos[i] = (uint16_t)((from->ones[i] | from->ones[i] << (8 - width)) &
                                     (0x101 * ((1 << width) - 1)));
        union levels_bytes_or_twos *was = from;
        from = to, to = was;
    }
    for (size_t i = 0; i < n; i++)
        codes[i] = from->ones[i];
}

#endif
