/* pack.c : packs and unpacks codes byte by byte. */
#include "vec/pack.h"

void pack_write(unsigned width, const uint32_t *codes, size_t n, uint8_t *bytes)
{
    if (width == 8) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)codes[i];
        return;
    }
    if (width == 16) {
        for (size_t i = 0; i < n; i++) {
            bytes[2 * i] = (uint8_t)codes[i];
            bytes[2 * i + 1] = (uint8_t)(codes[i] >> 8);
        }
        return;
    }
    uint64_t word = 0; /* pending bits: at most 7 plus one code */
    unsigned held = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)codes[i] << held;
        for (held += width; held >= 8; held -= 8) {
            *bytes++ = (uint8_t)word;
            word >>= 8;
        }
    }
    if (held)
        *bytes = (uint8_t)word;
}

void pack_read(unsigned width, const uint8_t *bytes, size_t n, uint32_t *codes)
{
    if (width == 8) {
        for (size_t i = 0; i < n; i++)
            codes[i] = bytes[i];
        return;
    }
    if (width == 16) {
        for (size_t i = 0; i < n; i++)
            codes[i] = (uint32_t)bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8;
        return;
    }
    const uint32_t mask = UINT32_MAX >> (32 - width);
    uint64_t word = 0;
    unsigned held = 0;
    for (size_t i = 0; i < n; i++) {
        for (; held < width; held += 8)
            word |= (uint64_t)*bytes++ << held;
        codes[i] = (uint32_t)word & mask;
        word >>= width;
        held -= width;
    }
}
