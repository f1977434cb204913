/* test_quant_rtl.c : compares rtl/memory/quant.sv with quant_kernel() of hls/core/quant.c: all
 * codes' boundaries, special values, random floats; blocks of random length.
 *
 * usage: test_quant_rtl [long]   long: 10^6 random floats per format, all boundaries of fp16 */
#include "rtl_cast.h"

static struct cast_bench bench;
static struct beat x[CAST_N / 16], codes[CAST_N / 16];
static uint32_t n_x;

static void send(void)
{
    uint32_t status;
    for (uint32_t i = n_x; i % 16; i++) /* padding may have any value */
        x[i / 16].w[i % 16] = rtl_rand(&bench.rand);
    quant_kernel(x, codes, n_x, bench.byte, bench.by, bench.up, &status);
    CHECK(status == 0, "format %02x is refused", bench.byte);
    bench.n_in = cast_add(bench.in, bench.n_in, x, n_x, 16);
    bench.n_want =
        cast_add(bench.want, bench.n_want, codes, n_x, 512 / beat_format(bench.byte).width);
    n_x = 0;
    if (bench.n_in > CAST_IN - CAST_N / 16)
        cast_go(&bench, true);
}

static void add(uint32_t bits)
{
    x[n_x / 16].w[n_x % 16] = bits;
    n_x++;
    if (n_x == CAST_N || (n_x % 16 == n_x % 7 && rtl_chance(&bench.rand, 4)))
        send();
}

static void add_near(uint32_t bits)
{
    for (uint32_t d = 0; d < 3; d++) {
        add(bits + d - 1);
        add((bits + d - 1) ^ 0x80000000u);
    }
}

/* Returns the fp32 bits of point `at` / 2^shift: codes are even points, boundaries odd ones. */
static uint32_t point(struct mf_fmt f, uint32_t at, int shift)
{
    const uint32_t field = at >> (f.m + 1), frac = at & ((2u << f.m) - 1u);
    const struct mf_num v = {.sig = field ? frac | 2u << f.m : frac,
                             .exp = (field ? (int)field : 1) - mf_bias(f) - f.m - 1 - shift};
    return mf_pack(mf_fp32(), v, MF_NEAREST, MF_INF, 0);
}

static void special(void)
{
    add_near(0);
    for (uint32_t bit = 0; bit < 31; bit++)
        add_near(1u << bit);
    for (uint32_t field = 1; field < 256; field++)
        add_near(field << 23);
    add_near(0x7fffffff);
    add_near(0x7fc00000);
}

int main(int argc, char **argv)
{
    static const int shifts[] = {0,    1,   -1,   5,   -17, 24,  -30,  97,      -100,      115,
                                 -126, 140, -140, 151, 290, 300, -300, 1 << 20, -(1 << 20)};
    enum { SHIFTS = sizeof shifts / sizeof *shifts };
    const bool is_long = argc > 1 && !strcmp(argv[1], "long");
    const uint32_t randoms = is_long ? 1000000 : 100000;
    cast_open(&bench, argc, argv, true, 41);
    for (int i = 0; i < CARD_FORMATS * SHIFTS * 2; i++) {
        const struct mf_fmt f = beat_format(card_formats[i / 2 / SHIFTS]).fmt;
        const uint32_t step = !is_long && mf_width(f) == 16 ? 97 : 1, end = 2 * mf_inf(f) + 6;
        cast_set(&bench, card_formats[i / 2 / SHIFTS], shifts[i / 2 % SHIFTS], i & 1);
        for (uint32_t at = 0; at < end; at += at + 100 < end && at > 100 ? step : 1)
            add_near(point(f, at, bench.by));
        special();
        for (uint32_t k = 0; k < randoms / (2 * SHIFTS); k++)
            add(rtl_rand(&bench.rand));
        /* of the format's range */
        for (uint32_t k = 0; k < randoms / (2 * SHIFTS); k++)
            add((rtl_rand(&bench.rand) & 0x807fffff) |
                ((uint32_t)(130 - bench.by - (int)(rtl_rand(&bench.rand) % 32)) & 255) << 23);
        send();
        cast_go(&bench, true);
    }
    printf("%llu values compared\n", (unsigned long long)bench.seen);

    cast_set(&bench, 0x52, 0, 1);
    for (uint32_t i = 0; i < 16 * CAST_N; i++)
        add(rtl_rand(&bench.rand));
    if (n_x)
        send();
    const uint32_t beats = bench.n_in;
    const uint64_t clocks = cast_go(&bench, false);
    printf("%u beats: %llu clocks, %.3f a beat\n", beats, (unsigned long long)clocks,
           (double)clocks / beats);
    CHECK(clocks <= beats + 8, "%llu clocks", (unsigned long long)clocks);
    model_close(bench.m);
    DONE();
}
