/* crc.h : computes CRC32C by the fastest method of this CPU. hls/card/crc32c.h defines CRC32C and
 * is the fallback. */
#ifndef CRC_H
#define CRC_H
#include <stddef.h>
#include <stdint.h>

/* Extend crc by bytes [n] and return the new CRC. bytes may have any alignment, and n may be 0. */
uint32_t crc_more(uint32_t crc, const void *bytes, size_t n);

/* Return the CRC of bytes [n], which is 0 if n is 0. */
static inline uint32_t crc_of(const void *bytes, size_t n)
{
    return crc_more(0, bytes, n);
}

#endif
