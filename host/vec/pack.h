/* pack.h : packs codes of 2 to 32 bits into a dense bit string (layout: vec.h), and unpacks
 * them. */
#ifndef PACK_H
#define PACK_H
#include <stddef.h>
#include <stdint.h>

/* Packs codes[n], each below 2^width, into bytes[(n*width + 7) / 8] of any alignment, with unused
 * high bits zero. Every 8th code starts on a byte: a long vector can be packed in blocks. */
void pack_write(unsigned width, const uint32_t *codes, size_t n, uint8_t *bytes);

/* Inverts pack_write(). Reads no other bytes, and ignores the last one's unused high bits. */
void pack_read(unsigned width, const uint8_t *bytes, size_t n, uint32_t *codes);

#endif
