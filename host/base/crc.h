/* crc.h : computes CRC32C by this CPU's fastest method. hls/card/crc32c.h defines it and is the
 * fallback. */
#ifndef CRC_H
#define CRC_H
#include <stddef.h>
#include <stdint.h>

/* Return crc extended by bytes [n], of any alignment. */
uint32_t crc_more(uint32_t crc, const void *bytes, size_t n);

/* Return the CRC of bytes [n]; 0 if n is 0. */
static inline uint32_t crc_of(const void *bytes, size_t n)
{
    return crc_more(0, bytes, n);
}

#endif
