/* pack.h : Packs codes of 2 to 32 bits into a dense bit string, and unpacks them. vec.h draws the
 * layout. */
#ifndef PACK_H
#define PACK_H
#include <stddef.h>
#include <stdint.h>

/* Packs codes[n], each below 2^width, into bytes[(n*width + 7) / 8] of any alignment. Unused high
 * bits of the last byte become zero. A code whose index is a multiple of 8 starts on a byte, so a
 * long vector can be packed in blocks. */
void pack_write(unsigned width, const uint32_t *codes, size_t n, uint8_t *bytes);

/* Unpacks n codes from bytes[(n*width + 7) / 8]. Reads no other bytes, and ignores unused high
 * bits of the last one. */
void pack_read(unsigned width, const uint8_t *bytes, size_t n, uint32_t *codes);

#endif
