/* test_crc_beat_rtl.c : compares the CRC of 64 bytes a clock with the byte-by-byte one: each bit
 * of a beat (enough, as the circuit is linear), gaps, beats in parts. */
#include <string.h>
#include "check.h"
#include "hls/card/crc32c.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"

enum { SEED = 23, MAX_BEATS = 24 };

static struct {
    struct model *m;
    uint32_t *data, *crc;
    uint8_t *rst, *valid, *first, *part;
} dut;

static uint32_t beat(const uint8_t *bytes, int first, int part)
{
    memcpy(dut.data, bytes, 64);
    *dut.valid = 1;
    *dut.first = (uint8_t)first;
    *dut.part = (uint8_t)part;
    model_tick(dut.m);
    *dut.valid = 0;
    model_tick(dut.m);
    return *dut.crc;
}

static void gap(uint64_t *rand)
{
    while (rtl_chance(rand, 80)) {
        dut.data[rtl_rand(rand) % 16] = rtl_rand(rand);
        *dut.first = (uint8_t)(rtl_rand(rand) & 1);
        *dut.part = (uint8_t)(rtl_rand(rand) & 1);
        model_tick(dut.m);
    }
}

static void check_bits(void)
{
    for (int bit = -1; bit < 512; bit++) {
        uint8_t bytes[128] = {0};
        if (bit >= 0)
            bytes[bit / 8] = (uint8_t)(1 << bit % 8);
        CHECK(beat(bytes, 1, 0) == crc32c(bytes, 64), "bit %d: %08x", bit, *dut.crc);
        CHECK(beat(bytes + 64, 0, 0) == crc32c(bytes, 128), "bit %d, one beat later: %08x", bit,
              *dut.crc);
    }
}

/* parts: 1, 2 or 4 clocks a beat, each with its share of the 64 bytes, the rest 0 */
static void check_message(uint64_t *rand, int n_beats, int parts)
{
    uint8_t bytes[64 * MAX_BEATS];
    for (int i = 0; i < 64 * n_beats; i++)
        bytes[i] = (uint8_t)rtl_rand(rand);
    for (int b = 0; b < n_beats; b++) {
        uint32_t crc = 0;
        for (int p = 0; p < parts; p++) {
            uint8_t now[64] = {0};
            memcpy(now + p * 64 / parts, bytes + 64 * b + p * 64 / parts, 64 / (size_t)parts);
            gap(rand);
            crc = beat(now, b == 0 && p == 0, p > 0);
        }
        CHECK(crc == crc32c(bytes, 64 * (size_t)(b + 1)), "beat %d of %d, %d parts: %08x", b,
              n_beats, parts, crc);
    }
}

int main(int argc, char **argv)
{
    uint64_t rand = SEED;
    printf("seed %d\n", SEED);
    dut.m = model_open(argc, argv);
    dut.data = model_port(dut.m, "data_i", NULL);
    dut.crc = model_port(dut.m, "crc_o", NULL);
    dut.rst = model_port(dut.m, "rst_i", NULL);
    dut.valid = model_port(dut.m, "valid_i", NULL);
    dut.first = model_port(dut.m, "first_i", NULL);
    dut.part = model_port(dut.m, "part_i", NULL);
    *dut.rst = 1;
    model_tick(dut.m);
    *dut.rst = 0;
    check_bits();
    for (int i = 0; i < 5000; i++)
        check_message(&rand, 1 + (int)(rtl_rand(&rand) % MAX_BEATS), 1 << i % 3);
    model_close(dut.m);
    DONE();
}
