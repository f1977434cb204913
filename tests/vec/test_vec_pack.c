/* test_vec_pack.c : packing of every width and tail equals a bit-by-bit reference. */
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/pack.h"
#include <string.h>

enum { MAX_N = 130, GUARD = 9, SEED = 1 };

static unsigned bit_of(const uint8_t *bytes, size_t b)
{
    return bytes[b / 8] >> b % 8 & 1;
}

static void check_width(unsigned width, size_t n, size_t offset)
{
    const size_t bytes = (n * width + 7) / 8;
    uint32_t codes[MAX_N], back[MAX_N + 1];
    uint8_t box[GUARD + 8 + MAX_N * 4 + GUARD], *at = box + GUARD + offset;
    for (size_t i = 0; i < n; i++)
        codes[i] = philox_u32(SEED, i + 1000 * width) >> (32 - width);

    memset(box, 0xa5, sizeof box);
    pack_write(width, codes, n, at);
    for (size_t i = 0; i < sizeof box; i++)
        CHECK((box + i >= at && box + i < at + bytes) || box[i] == 0xa5,
              "width %u n %zu: byte %zu written", width, n, i);
    for (size_t b = 0; b < bytes * 8; b++) {
        unsigned want = b < n * width ? codes[b / width] >> b % width & 1 : 0;
        CHECK(bit_of(at, b) == want, "width %u n %zu offset %zu: bit %zu", width, n, offset, b);
    }

    /* exact size, for sanitizers */
    uint8_t *exact = malloc(bytes + 1);
    memcpy(exact + 1, at, bytes);
    if (n * width % 8)
        /* unused bits must not be read as codes */
        exact[bytes] |= (uint8_t)(0xff << n * width % 8);
    back[n] = 0xdeadbeef;
    pack_read(width, exact + 1, n, back);
    CHECK(n == 0 || memcmp(codes, back, n * sizeof *codes) == 0, "width %u n %zu: codes come back",
          width, n);
    CHECK(back[n] == 0xdeadbeef, "width %u n %zu: code beyond written", width, n);
    free(exact);
}

int main(void)
{
    printf("seed %d\n", SEED);
    for (unsigned width = 2; width <= 32; width++)
        for (size_t n = 0; n <= MAX_N; n++)
            for (size_t offset = 0; offset < 8; offset++)
                check_width(width, n, offset);

    const uint32_t six[3] = {0x2a, 0x15, 0x33};
    uint8_t bytes[3];
    pack_write(6, six, 3, bytes);
    CHECK(bytes[0] == 0x6a && bytes[1] == 0x35 && bytes[2] == 0x03, "6-bit codes: %02x %02x %02x",
          bytes[0], bytes[1], bytes[2]);
    DONE();
}
