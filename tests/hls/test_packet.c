/* test_packet.c : checks CRC32C (vectors of RFC 3720, a bit-by-bit one) and the packet header:
 * any single wrong bit is detected. */
#include <string.h>
#include "check.h"
#include "hls/card/packet.h"
#include "hls/arith/philox.h"

enum { SEED = 11 };

static uint32_t crc_by_bits(const uint8_t *bytes, size_t n)
{
    uint32_t state = ~0u;
    for (size_t i = 0; i < 8 * n; i++) {
        uint32_t out = (state ^ (uint32_t)(bytes[i / 8] >> i % 8)) & 1u;
        state = state >> 1 ^ (out ? 0x82f63b78u : 0u);
    }
    return ~state;
}

static void check_crc(void)
{
    uint8_t bytes[300];
    CHECK(crc32c("123456789", 9) == 0xe3069283, "%08x", crc32c("123456789", 9));
    CHECK(crc32c("", 0) == 0, "%08x", crc32c("", 0));
    memset(bytes, 0, 32);
    CHECK(crc32c(bytes, 32) == 0x8a9136aa, "%08x", crc32c(bytes, 32));
    memset(bytes, 0xff, 32);
    CHECK(crc32c(bytes, 32) == 0x62a8ab43, "%08x", crc32c(bytes, 32));
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    CHECK(crc32c(bytes, 32) == 0x46dd794e, "%08x", crc32c(bytes, 32));
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(31 - i);
    CHECK(crc32c(bytes, 32) == 0x113fdb5c, "%08x", crc32c(bytes, 32));

    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)philox_u32(SEED, i);
    for (uint32_t n = 0; n + 4 < sizeof bytes; n++) {
        uint32_t crc = crc32c(bytes, n);
        uint32_t cut = n ? philox_u32(SEED + 1, n) % n : 0;
        CHECK(crc == crc_by_bits(bytes, n), "%u bytes: %08x", n, crc);
        CHECK(crc == crc32c_more(crc32c(bytes, cut), bytes + cut, n - cut), "%u bytes, cut at %u",
              n, cut);
        uint8_t behind[sizeof bytes];
        memcpy(behind, bytes, n);
        pkt_put_uint(behind + n, crc, 4);
        CHECK(crc32c(behind, n + 4) == CRC32C_RESIDUE, "%u bytes and their CRC: %08x", n,
              crc32c(behind, n + 4));
    }
}

static void check_places(void)
{
    static const struct {
        const char *name;
        int at, n_bytes;
    } field[] = {
#define PKT_FIELD(NAME, name, at, n_bytes, what) {#name, at, n_bytes},
#include "hls/card/packet.def"
    };
    int owners[PKT_HEADER_BYTES] = {0};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        CHECK(field[i].at % field[i].n_bytes == 0, "%s at %d", field[i].name, field[i].at);
        for (int at = field[i].at; at < field[i].at + field[i].n_bytes && at < PKT_HEADER_BYTES;
             at++)
            owners[at]++;
    }
    for (int at = 0; at < PKT_HEADER_BYTES; at++)
        CHECK(owners[at] == 1, "byte %d belongs to %d fields", at, owners[at]);
    CHECK(PKT_HEADER_BYTES == PKT_BEAT_BYTES, "the header is one beat");
}

static void check_header(uint32_t trial)
{
    uint8_t raw[PKT_HEADER_BYTES], bytes[PKT_HEADER_BYTES];
    for (uint32_t i = 0; i < sizeof raw; i++)
        raw[i] = (uint8_t)philox_u32(SEED + 2, trial * 64 + i);
    struct pkt_header h = pkt_get(raw);
    h.magic = PKT_MAGIC_VALUE;
    pkt_put(h, bytes);
    CHECK(!memcmp(bytes + 4, raw + 4, 56), "trial %u: bytes 4..59 changed", trial);
    CHECK(pkt_get(bytes).header_crc == crc_by_bits(bytes, 60), "trial %u: header_crc", trial);
    CHECK(pkt_good(bytes), "trial %u", trial);
#define PKT_FIELD(NAME, name, at, n_bytes, what) \
    CHECK(at == PKT_HEADER_CRC_AT || pkt_get(bytes).name == h.name, "trial %u: %s", trial, #name);
#include "hls/card/packet.def"
    for (int bit = 0; bit < 8 * PKT_HEADER_BYTES; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(!pkt_good(bytes), "trial %u: bit %d is wrong and not seen", trial, bit);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    printf("seed %d\n", SEED);
    check_crc();
    check_places();
    for (uint32_t trial = 0; trial < 200; trial++)
        check_header(trial);
    struct pkt_header h = {
        .magic = PKT_MAGIC_VALUE, .len = 0x0102, .key = 0x1122334455667788, .in_fmt = 0xc3};
    uint8_t bytes[PKT_HEADER_BYTES];
    pkt_put(h, bytes);
    CHECK(!memcmp(bytes, "ncs\1\2\1\0\0\x88\x77\x66\x55\x44\x33\x22\x11", 16), "little endian");
    CHECK(bytes[27] == 0xc3, "in_fmt is %02x", bytes[27]);
    h = pkt_put_bitmap(h, 0x123456789abcdef0u);
    CHECK(h.tag == 0x9abcdef0u && h.count == 0x12345678u &&
              pkt_get_bitmap(h) == 0x123456789abcdef0u,
          "a PONG's bitmap: %08x %08x", h.tag, h.count);
    DONE();
}
