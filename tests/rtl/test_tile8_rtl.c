/* test_tile8_rtl.c : tests the tile for 8-bit formats only. */
#include "tile_check.h"

static struct tile_bench bench;

int main(int argc, char **argv)
{
    struct mf_fmt fmts[CARD_FORMATS];
    const unsigned n = tile_formats(8, 8, fmts);
    const uint64_t seed = 8;
    printf("seed %llu\n", (unsigned long long)seed);
    tile_open(&bench, argc, argv, seed);
    for (unsigned i = 0; i < n; i++)
        tile_pairs(&bench, fmts[i], fmts[i], 0);
    for (unsigned i = 0; i < n; i++)
        tile_pairs(&bench, fmts[i], fmts[(i + 1) % n], i % 6 + 1);
    tile_mix(&bench, fmts, n, 700);
    tile_close(&bench);
    DONE();
}
