/* packet.h : converts the header of a packet from and to 64 bytes, and defines its fields in C.
 *
 *     pkt_get(bytes)           reads the header in bytes[64] without checking it
 *     pkt_put(header, bytes)   writes bytes[64] and computes header_crc
 *     pkt_good(bytes)          returns 1 if magic and header_crc are right; used only by tests
 *     pkt_put_bitmap(header, bitmap), pkt_get_bitmap(header)     a PONG's bitmap: bit r is rank r
 *
 * Each field of packet.def has PKT_<NAME>_AT (first byte) and PKT_<NAME>_BYTES. Other rows give
 * PKT_OP_SUM, PKT_NAK_BAD_OP, PKT_PONG_FILLING, PKT_STATUS_PINF (a mask), PKT_MAX_RANKS and so
 * on. */
#ifndef PACKET_H
#define PACKET_H
#include "crc32c.h"

enum {
#define PKT_CONST(NAME, value, what)             PKT_##NAME = value,
#define PKT_FIELD(NAME, name, at, n_bytes, what) PKT_##NAME##_AT = at, PKT_##NAME##_BYTES = n_bytes,
#define PKT_OP(NAME, value, what)                PKT_OP_##NAME = value,
#define PKT_NAK(NAME, value, what)               PKT_NAK_##NAME = value,
#define PKT_PONG(NAME, value, what)              PKT_PONG_##NAME = value,
#define PKT_STATUS(NAME, bit, what)              PKT_STATUS_##NAME = 1 << bit,
#include "packet.def"
    PKT_HEADER_BYTES = 64,
    /* fails to compile (divides by 0) if a PONG's bitmap has fewer bits than there are ranks */
    PKT_RANKS_FIT = 1 / (PKT_MAX_RANKS <= 8 * (PKT_TAG_BYTES + PKT_COUNT_BYTES))
};

#define PKT_UINT_1 uint8_t
#define PKT_UINT_2 uint16_t
#define PKT_UINT_4 uint32_t
#define PKT_UINT_8 uint64_t

struct pkt_header {
#define PKT_FIELD(NAME, name, at, n_bytes, what) PKT_UINT_##n_bytes name;
#include "packet.def"
};

/* Little endian; n_bytes <= 8. */
CRC32C_FN void pkt_put_uint(uint8_t *bytes, uint64_t value, int n_bytes)
{
    for (int i = 0; i < 8; i++)
        if (i < n_bytes)
            bytes[i] = (uint8_t)(value >> (8 * i));
}

CRC32C_FN uint64_t pkt_get_uint(const uint8_t *bytes, int n_bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        if (i < n_bytes)
            value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* Write h to bytes[64] with a new header_crc; h.header_crc is ignored. */
CRC32C_FN void pkt_put(struct pkt_header h, uint8_t *bytes)
{
#define PKT_FIELD(NAME, name, at, n_bytes, what) pkt_put_uint(bytes + at, h.name, n_bytes);
#include "packet.def"
    pkt_put_uint(bytes + PKT_HEADER_CRC_AT, crc32c(bytes, PKT_HEADER_CRC_AT), PKT_HEADER_CRC_BYTES);
}

CRC32C_FN struct pkt_header pkt_get(const uint8_t *bytes)
{
    struct pkt_header h;
#define PKT_FIELD(NAME, name, at, n_bytes, what) \
    h.name = (PKT_UINT_##n_bytes)pkt_get_uint(bytes + at, n_bytes);
#include "packet.def"
    return h;
}

CRC32C_FN struct pkt_header pkt_put_bitmap(struct pkt_header h, uint64_t bitmap)
{
    h.tag = (uint32_t)bitmap;
    h.count = (uint32_t)(bitmap >> (8 * PKT_TAG_BYTES));
    return h;
}

CRC32C_FN uint64_t pkt_get_bitmap(struct pkt_header h)
{
    return h.tag | (uint64_t)h.count << (8 * PKT_TAG_BYTES);
}

CRC32C_FN int pkt_good(const uint8_t *bytes)
{
    return pkt_get_uint(bytes + PKT_MAGIC_AT, PKT_MAGIC_BYTES) == PKT_MAGIC_VALUE &&
           crc32c(bytes, PKT_HEADER_BYTES) == CRC32C_RESIDUE;
}

#endif
