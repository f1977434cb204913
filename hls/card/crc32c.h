/* crc32c.h : CRC32C (Castagnoli), the checksum of iSCSI and of our frames, 4 bits at a time with a
 * table of 16 entries.
 *
 *     crc32c(bytes, n)            -> the CRC of n bytes; 0 if n is 0
 *     crc32c_more(crc, bytes, n)  -> the CRC of the message that has `crc`, extended by n bytes
 *
 * Bytes are processed from bit 0 to bit 7. The state starts as all ones and is inverted at the end.
 * A message followed by its own CRC (little endian) has the CRC CRC32C_RESIDUE. Sources: RFC 3720,
 * B.4, whose vectors tests/hls/test_packet.c checks; Castagnoli, Braeuer, Herrmann, IEEE Trans.
 * Comm. 41(6), 1993. */
#ifndef CRC32C_H
#define CRC32C_H
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CRC32C_FN static __host__ __device__ inline
#else
#define CRC32C_FN static inline
#endif

#define CRC32C_RESIDUE 0x48674bc7u

CRC32C_FN uint32_t crc32c_more(uint32_t crc, const void *bytes, size_t n)
{
    const uint32_t of_nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                    0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                    0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const uint8_t *at = (const uint8_t *)bytes;
    uint32_t state = ~crc;
    for (size_t i = 0; i < n; i++) {
        state ^= at[i];
        state = state >> 4 ^ of_nibble[state & 15u];
        state = state >> 4 ^ of_nibble[state & 15u];
    }
    return ~state;
}

CRC32C_FN uint32_t crc32c(const void *bytes, size_t n)
{
    return crc32c_more(0u, bytes, n);
}

#endif
