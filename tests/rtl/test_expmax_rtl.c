/* test_expmax_rtl.c : compares rtl/memory/expmax.sv with expmax_kernel() of hls/core/expmax.c: all
 * exponents, special values, numbers of ranks, blocks of random length.
 *
 * usage: test_expmax_rtl [long]   long: 10^6 blocks instead of 10^5 */
#include "check.h"
#include "hls/core/expmax.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include <stdbool.h>
#include <string.h>

enum { MAX_N = 16 * 1000, MAX_WAIT = 95 };

static struct {
    struct model *m;
    uint8_t *rst, *in_values, *in_last, *in_valid, *in_ready, *exponent, *out_valid, *out_ready;
    uint32_t *ranks, *in_data, *absmax;
    uint64_t rand;
} dut;
static struct beat x[MAX_N / 16];

/* Returns the clocks from the first beat to the last; *wait: from there to the result. */
static uint32_t run(uint32_t n, uint32_t ranks, unsigned stall, uint32_t *wait)
{
    uint32_t absmax, status, clocks = 0;
    int32_t exponent;
    *dut.ranks = ranks;
    for (uint32_t i = 0; i < n || i == 0; i += 16) {
        while (rtl_chance(&dut.rand, stall)) {
            *dut.in_last = (uint8_t)(rtl_rand(&dut.rand) & 1);
            model_tick(dut.m);
        }
        memcpy(dut.in_data, x[i / 16].w, BEAT_SIZE);
        *dut.in_values = (uint8_t)(n - i < 16 ? n - i : 16);
        *dut.in_last = n - i <= 16;
        *dut.in_valid = 1;
        CHECK(*dut.in_ready && !*dut.out_valid, "n %u, beat %u: not ready", n, i / 16);
        model_tick(dut.m);
        *dut.in_valid = 0;
        clocks++;
    }
    *dut.in_valid = stall != 0; /* a beat that comes too early is not taken */
    for (*wait = 1; !*dut.out_valid && *wait < 200; ++*wait) {
        CHECK(!*dut.in_ready, "ready while it computes");
        model_tick(dut.m);
    }
    CHECK(*wait <= MAX_WAIT, "n %u: no result after %u clocks", n, *wait);
    expmax_kernel(x, n, ranks, &exponent, &absmax, &status);
    while (rtl_chance(&dut.rand, stall))
        model_tick(dut.m);
    CHECK(*dut.out_valid && (int8_t)*dut.exponent == exponent && *dut.absmax == absmax,
          "n %u, ranks %u, largest %08x: exponent %d, not %d; %08x", n, ranks, absmax,
          (int8_t)*dut.exponent, exponent, *dut.absmax);
    *dut.in_valid = 0;
    *dut.out_ready = 1;
    model_tick(dut.m);
    *dut.out_ready = 0;
    return clocks;
}

static uint32_t some_ranks(void)
{
    const uint32_t r = rtl_rand(&dut.rand);
    return r % 16 == 0 ? 0 : r % 16 == 1 ? UINT32_MAX : r % 3 ? 1 + r % 64 : r >> (r & 31);
}

static void one_value(uint32_t bits)
{
    uint32_t wait;
    for (uint32_t i = 0; i < 16; i++)
        x[0].w[i] = rtl_rand(&dut.rand);
    x[0].w[0] = bits;
    run(1, some_ranks(), 0, &wait);
}

static void blocks(uint32_t n_blocks)
{
    uint32_t wait;
    for (uint32_t k = 0; k < n_blocks; k++) {
        const uint32_t n = rtl_rand(&dut.rand) % (rtl_chance(&dut.rand, 10) ? 500 : 40),
                       most = rtl_rand(&dut.rand) % (rtl_chance(&dut.rand, 30) ? 257 : 255);
        for (uint32_t i = 0; i < (n + 16) / 16 * 16; i++) {
            const uint32_t r = rtl_rand(&dut.rand), field = most ? r % most : 0;
            x[i / 16].w[i % 16] = (r & 0x807fffff) | (rtl_chance(&dut.rand, 3) ? most : field)
                                                         << 23;
        }
        run(n, some_ranks(), rtl_stall(&dut.rand), &wait);
    }
}

int main(int argc, char **argv)
{
    struct model *m = dut.m = model_open(argc, argv);
    const bool is_long = argc > 1 && !strcmp(argv[1], "long");
    dut.rand = 43;
    printf("seed 43\n");
    dut.rst = model_port(m, "rst_i", NULL);
    dut.ranks = model_port(m, "n_ranks_i", NULL);
    dut.in_data = model_port(m, "in_data_i", NULL);
    dut.in_values = model_port(m, "in_values_i", NULL);
    dut.in_last = model_port(m, "in_last_i", NULL);
    dut.in_valid = model_port(m, "in_valid_i", NULL);
    dut.in_ready = model_port(m, "in_ready_o", NULL);
    dut.exponent = model_port(m, "exponent_o", NULL);
    dut.absmax = model_port(m, "absmax_o", NULL);
    dut.out_valid = model_port(m, "out_valid_o", NULL);
    dut.out_ready = model_port(m, "out_ready_i", NULL);
    *dut.rst = 1;
    model_tick(m);
    *dut.rst = 0;
    for (uint32_t field = 0; field < 256; field++)
        for (uint32_t bit = 0; bit < 24; bit++)
            for (uint32_t d = 0; d < 3; d++)
                one_value((field << 23 | 1u << bit >> 1) + d - 1);
    blocks(is_long ? 1000000 : 100000);
    uint32_t wait;
    for (uint32_t i = 0; i < MAX_N; i++)
        x[i / 16].w[i % 16] = rtl_rand(&dut.rand) % 0x7f000000;
    const uint32_t clocks = run(MAX_N, 3, 0, &wait);
    printf("%d beats: %u clocks, %.3f a beat, and %u to the result\n", MAX_N / 16, clocks,
           (double)clocks / (MAX_N / 16), wait);
    x[0].w[0] = 1;
    run(1, 1, 0, &wait);
    CHECK(wait == MAX_WAIT, "%u clocks", wait);
    model_close(m);
    DONE();
}
