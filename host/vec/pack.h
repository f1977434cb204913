/* pack.h : codes of 2..32 bits to a dense bit string and back; vec.h draws the layout. */
#ifndef PACK_H
#define PACK_H
#include <stddef.h>
#include <stdint.h>

/* codes [n], each below 2^width -> bytes [(n*width + 7) / 8], any alignment; unused high bits of
 * the last byte are zero. A run of codes whose first index is a multiple of 8 starts on a byte
 * whatever the width: long vectors go in blocks. */
void pack_write(unsigned width, const uint32_t *codes, size_t n, uint8_t *bytes);

/* The way back; reads those bytes and none beyond, and ignores unused high bits. */
void pack_read(unsigned width, const uint8_t *bytes, size_t n, uint32_t *codes);

#endif
