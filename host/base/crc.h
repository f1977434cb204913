/* crc.h : CRC32C as fast as this CPU has it: hls/card/crc32c.h is the definition, and what runs where
 * there is nothing better. */
#ifndef CRC_H
#define CRC_H
#include <stddef.h>
#include <stdint.h>

/* The CRC of what crc is the CRC of, followed by bytes [n]. Any alignment; n may be 0. */
uint32_t crc_more(uint32_t crc, const void *bytes, size_t n);

/* The CRC of bytes [n]; 0 of none. */
static inline uint32_t crc_of(const void *bytes, size_t n)
{
    return crc_more(0, bytes, n);
}

#endif
