/* test_hls_quant.c : compares the HLS casts with the plain backend's in every format of the
 * card. */
#include "card_formats.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "hls/core/quant.h"
#include "vec/vec.h"
#include <string.h>

enum { SEED = 4, MAX_N = 300, BEATS = MAX_N / 16 + 10, CANARY = 0xa5 };
static uint64_t drawn;
static struct beat x[BEATS], codes[BEATS], back[BEATS];
static float plain[MAX_N], plain_back[MAX_N];

static uint32_t draw(void)
{
    return philox_u32(SEED, drawn++);
}

static const uint8_t *bytes_of(const struct beat *b)
{
    static uint8_t bytes[BEATS * 64];
    for (int i = 0; i < BEATS; i++)
        beat_store(b[i], bytes + 64 * i);
    return bytes;
}

static void all(const uint8_t *bytes, size_t from, size_t to, uint8_t want, const char *what)
{
    for (size_t i = from; i < to; i++)
        CHECK(bytes[i] == want, "%s: byte %zu is %02x", what, i, bytes[i]);
}

static void one(uint32_t byte)
{
    const struct mf_fmt f = beat_format(byte).fmt;
    const uint32_t n = draw() % MAX_N, saturate = draw() % 2, spread = draw() % 3;
    const int shift = spread == 2 ? (int)(draw() % 300) - 150 : (int)(draw() % 20) - 10;
    for (uint32_t i = 0; i < 16 * BEATS; i++)
        x[i / 16].w[i % 16] = spread ? draw() : (draw() & 0x80ffffff) | (100 + draw() % 40) << 23;
    for (uint32_t i = 0; i < n; i++)
        memcpy(&plain[i], &x[i / 16].w[i % 16], sizeof *plain);

    struct vec_cast cast = {
        .fmt = f, .round = MF_NEAREST, .overflow = saturate ? MF_SATURATE : MF_INF};
    uint8_t want[MAX_N * 2];
    uint32_t status = 7;
    vec_plain.encode(&cast, plain, n, 0, shift, want);
    memset(codes, CANARY, sizeof codes);
    quant_kernel(x, codes, n, byte, shift, saturate, &status);
    size_t used = vec_bytes(f, n), end = (used + 63) / 64 * 64;
    const uint8_t *got = bytes_of(codes);
    CHECK(status == 0 && !memcmp(got, want, used), "format %02x, n %u, shift %d", byte, n, shift);
    all(got, used, end, 0, "codes behind n");
    all(got, end, sizeof codes, CANARY, "beyond the codes");

    const uint32_t per_beat = 512 / mf_width(f);
    for (uint32_t i = n; i % per_beat; i++) /* padding may have any value */
        codes[i / per_beat] = beat_put(codes[i / per_beat], mf_width(f), i % per_beat, draw());
    vec_plain.decode(f, want, n, -shift, 1, plain_back);
    memset(back, CANARY, sizeof back);
    unquant_kernel(codes, back, n, byte, -shift, &status);
    end = (4 * (size_t)n + 63) / 64 * 64;
    got = bytes_of(back);
    for (uint32_t i = 0; i < n; i++)
        CHECK(!memcmp(&plain_back[i], &back[i / 16].w[i % 16], 4), "format %02x back, value %u",
              byte, i);
    all(got, 4 * (size_t)n, end, 0, "values behind n");
    all(got, end, sizeof back, CANARY, "beyond the values");
}

static void refused(uint32_t byte, int32_t shift, uint32_t saturate)
{
    uint32_t status = 0;
    memset(codes, CANARY, sizeof codes);
    quant_kernel(x, codes, 100, byte, shift, saturate, &status);
    CHECK(status == QUANT_REFUSED, "format %x, shift %d, saturate %u was taken", byte, shift,
          saturate);
    if (saturate < 2) {
        status = 0;
        unquant_kernel(x, codes, 100, byte, shift, &status);
        CHECK(status == QUANT_REFUSED, "format %x, shift %d was taken back", byte, shift);
    }
    all(bytes_of(codes), 0, sizeof codes, CANARY, "refused");
}

int main(void)
{
    printf("seed %d\n", SEED);
    uint32_t legal = 0;
    for (uint32_t byte = 0; byte < 600; byte++) {
        if (!beat_format(byte).width) {
            refused(byte, 0, 0);
            continue;
        }
        CHECK(beat_format_byte(beat_format(byte).fmt) == byte && legal < CARD_FORMATS &&
                  memchr(card_formats, (int)byte, CARD_FORMATS),
              "format %x", byte);
        legal++;
        for (int i = 0; i < 100; i++)
            one(byte);
    }
    CHECK(legal == CARD_FORMATS, "%u formats", legal);
    static const struct mf_fmt unknown[] = {
        {4, 3, MF_NUMBERS}, {3, 4, MF_NO_INF}, {5, 2, MF_NUMBERS}, {2, 3, MF_NUMBERS},
        {8, 7, MF_IEEE},    {8, 23, MF_IEEE},  {5, 10, MF_NO_INF}};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK(beat_format_byte(unknown[i]) == 256, "e%dm%d", unknown[i].e, unknown[i].m);
    refused(0x43, QUANT_MAX_SHIFT + 1, 0);
    refused(0x43, -QUANT_MAX_SHIFT - 1, 0);
    refused(0x43, 0, 2);
    DONE();
}
