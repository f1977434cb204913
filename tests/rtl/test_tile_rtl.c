/* test_tile_rtl.c : tests the tile with formats of 4, 8 and 16 bits. */
#include "tile_check.h"

static struct tile_bench bench;

int main(int argc, char **argv)
{
    struct mf_fmt fmts[CARD_FORMATS], fours[CARD_FORMATS];
    const unsigned n = tile_formats(4, 16, fmts), n_fours = tile_formats(4, 4, fours);
    const uint64_t seed = 4;
    printf("seed %llu\n", (unsigned long long)seed);
    tile_open(&bench, argc, argv, seed);
    for (unsigned i = 0; i < n; i++)
        if (mf_width(fmts[i]) < 16)
            tile_pairs(&bench, fmts[i], fmts[i], 0);
    for (unsigned i = 0; i < n_fours; i++)
        for (unsigned j = 0; j < n; j++)
            for (unsigned shift = 0; shift < 7; shift++)
                tile_pairs(&bench, fours[i], fmts[j], shift);
    tile_mix(&bench, fmts, n, 700);
    tile_close(&bench);
    DONE();
}
