/* frame.c : frames of the wire protocol as a host makes and reads them, with the CPU's CRC. */
#include "offload/window/frame.h"
#include "base/crc.h"
#include "offload/window/siphash.h"

size_t frame_put_header(struct pkt_header h, size_t payload_bytes, uint8_t *frame)
{
    h.magic = PKT_MAGIC_VALUE;
    h.len = (uint16_t)(PKT_HEADER_BYTES + payload_bytes);
    h.payload_crc = crc_of(frame + PKT_HEADER_BYTES, payload_bytes);
#define PKT_FIELD(NAME, name, at, n_bytes, what) pkt_put_uint(frame + at, h.name, n_bytes);
#include "hls/card/packet.def"
    pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc_of(frame, PKT_HEADER_CRC_AT), PKT_HEADER_CRC_BYTES);
    return PKT_HEADER_BYTES + payload_bytes;
}

bool frame_whole(const uint8_t *bytes, size_t n)
{
    return n >= PKT_HEADER_BYTES &&
           pkt_get_uint(bytes + PKT_MAGIC_AT, PKT_MAGIC_BYTES) == PKT_MAGIC_VALUE &&
           pkt_get_uint(bytes + PKT_LEN_AT, PKT_LEN_BYTES) == n &&
           crc_of(bytes, PKT_HEADER_BYTES) == CRC32C_RESIDUE &&
           crc_of(bytes + PKT_HEADER_BYTES, n - PKT_HEADER_BYTES) ==
               pkt_get_uint(bytes + PKT_PAYLOAD_CRC_AT, PKT_PAYLOAD_CRC_BYTES);
}

uint32_t frame_tag(uint32_t tag, uint64_t nonce, uint64_t at, uint32_t count)
{
    uint8_t bytes[20];
    pkt_put_uint(bytes, nonce, 8);
    pkt_put_uint(bytes + 8, at, 8);
    pkt_put_uint(bytes + 16, count, 4);
    return crc_more(tag, bytes, sizeof bytes);
}

uint32_t frame_secret_tag(uint32_t tag, const uint64_t secret[2], uint64_t at, uint32_t count)
{
    uint8_t bytes[16];
    pkt_put_uint(bytes, tag, 4);
    pkt_put_uint(bytes + 4, count, 4);
    pkt_put_uint(bytes + 8, at, 8);
    return (uint32_t)siphash(secret, bytes, sizeof bytes);
}

const char *frame_nak_reason(uint32_t status)
{
    switch (status) {
#define PKT_NAK(NAME, value, what) \
    case value:                    \
        return what;
#include "hls/card/packet.def"
    default:
        return "no reason that is known";
    }
}
