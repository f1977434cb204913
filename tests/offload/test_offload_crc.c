/* test_offload_crc.c : compares the fast CRC32C with its definition, for lengths and alignments
 * of all paths. */
#include "base/crc.h"
#include "check.h"
#include "hls/card/crc32c.h"
#include "hls/arith/philox.h"

enum { SEED = 5, MAX_N = 1600 };

int main(void)
{
    static uint8_t bytes[MAX_N + 16];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)philox_u32(SEED, i);
    CHECK(crc_of("123456789", 9) == 0xe3069283, "%08x", crc_of("123456789", 9));
    CHECK(crc_of(bytes, 0) == 0, "%08x", crc_of(bytes, 0));
    for (uint32_t n = 0; n < MAX_N; n++) {
        const uint8_t *at = bytes + philox_u32(SEED + 1, n) % 16;
        const uint32_t cut = n ? philox_u32(SEED + 2, n) % n : 0, want = crc32c(at, n);
        CHECK(crc_of(at, n) == want, "%u bytes: %08x, not %08x", n, crc_of(at, n), want);
        CHECK(crc_more(crc_of(at, cut), at + cut, n - cut) == want, "%u bytes, cut at %u", n, cut);
    }
    DONE();
}
