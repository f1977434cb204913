/* test_tile8_rtl.c : tests the tile for 8-bit formats only. */
#include "tile_check.h"

static struct tile_bench bench;

int main(int argc, char **argv)
{
    const struct mf_fmt fmts[] = {tile_fmt(1, 6, 0), tile_fmt(2, 5, 0), tile_fmt(3, 4, 0),
                                  tile_fmt(4, 3, 0), tile_fmt(5, 2, 0), tile_fmt(4, 3, 1)};
    const uint64_t seed = 8;
    printf("seed %llu\n", (unsigned long long)seed);
    tile_open(&bench, argc, argv, seed);
    for (unsigned i = 0; i < 6; i++)
        tile_pairs(&bench, fmts[i], fmts[i], 0);
    for (unsigned i = 0; i < 6; i++)
        tile_pairs(&bench, fmts[i], fmts[(i + 1) % 6], i + 1);
    tile_mix(&bench, fmts, 6, 700);
    tile_close(&bench);
    DONE();
}
