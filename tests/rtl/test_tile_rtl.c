/* test_tile_rtl.c : tests the tile with formats of 4, 8 and 16 bits. */
#include "tile_check.h"

static struct tile_bench bench;

int main(int argc, char **argv)
{
    const struct mf_fmt fmts[] = {tile_fmt(1, 6, 0), tile_fmt(2, 5, 0), tile_fmt(3, 4, 0),
                                  tile_fmt(4, 3, 0), tile_fmt(5, 2, 0), tile_fmt(4, 3, 1),
                                  tile_fmt(1, 2, 0), tile_fmt(2, 1, 0), tile_fmt(3, 0, 0),
                                  tile_fmt(5, 10, 0)};
    const uint64_t seed = 4;
    printf("seed %llu\n", (unsigned long long)seed);
    tile_open(&bench, argc, argv, seed);
    for (unsigned i = 0; i < 9; i++)
        tile_pairs(&bench, fmts[i], fmts[i], 0);
    for (unsigned i = 6; i < 9; i++)
        for (unsigned j = 0; j < 10; j++)
            for (unsigned shift = 0; shift < 7; shift++)
                tile_pairs(&bench, fmts[i], fmts[j], shift);
    tile_mix(&bench, fmts, 10, 700);
    tile_close(&bench);
    DONE();
}
