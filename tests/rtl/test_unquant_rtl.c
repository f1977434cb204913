/* test_unquant_rtl.c : compares rtl/memory/unquant.sv with unquant_kernel() of hls/core/quant.c:
 * all codes of all formats, at all shifts that give different values. */
#include "rtl_cast.h"

static struct cast_bench bench;
static struct beat codes[8192 / 32 + 1], x[8192 / 16 + 1];

/* codes: from `first` on, n of them, in an order that mixes small and large ones */
static void block(uint32_t first, uint32_t n)
{
    const uint32_t width = beat_format(bench.byte).width, per_beat = 512 / width;
    uint32_t status, i = 0;
    memset(codes, 0, sizeof codes);
    for (; i < n; i++)
        codes[i / per_beat] = beat_put(codes[i / per_beat], width, i % per_beat, (first + i) * 5);
    for (; i % per_beat; i++) /* padding may have any value */
        codes[i / per_beat] =
            beat_put(codes[i / per_beat], width, i % per_beat, rtl_rand(&bench.rand));
    unquant_kernel(codes, x, n, bench.byte, bench.by, &status);
    CHECK(status == 0, "format %02x is refused", bench.byte);
    bench.n_in = cast_add(bench.in, bench.n_in, codes, n, per_beat);
    bench.n_want = cast_add(bench.want, bench.n_want, x, n, 16);
}

static void all_codes(uint32_t byte, int shift)
{
    const uint32_t all = 1u << beat_format(byte).width;
    cast_set(&bench, byte, shift, 0);
    for (uint32_t at = 0, n; at < all; at += n) {
        n = all - at < 8192 ? all - at : 8192;
        if (rtl_chance(&bench.rand, 100))
            n = 1 + rtl_rand(&bench.rand) % n;
        block(at, n);
    }
    cast_go(&bench, true);
}

int main(int argc, char **argv)
{
    static const int far[] = {-513, -600, -(1 << 20), 512, 600, 1 << 20};
    cast_open(&bench, argc, argv, false, 42);
    for (int i = 0; i < CARD_FORMATS; i++) {
        for (int shift = -200; shift <= 200; shift++)
            all_codes(card_formats[i], shift);
        for (int k = 0; k < 6; k++)
            all_codes(card_formats[i], far[k]);
    }
    printf("%llu values compared\n", (unsigned long long)bench.seen);

    for (int i = 0; i < 3; i++) {
        const uint32_t width = 4u << i;
        cast_set(&bench, card_formats[i == 0 ? 0 : i == 1 ? 6 : 9], 0, 0);
        for (int k = 0; k < 25; k++)
            block((uint32_t)k, 8192);
        const uint32_t beats = bench.n_want;
        const uint64_t clocks = cast_go(&bench, false);
        printf("%u bits, %u beats out: %llu clocks, %.3f a beat\n", width, beats,
               (unsigned long long)clocks, (double)clocks / beats);
        CHECK(clocks <= beats + 8, "%llu clocks", (unsigned long long)clocks);
    }
    model_close(bench.m);
    DONE();
}
