/* test_narrow_rtl.c : tests the tile of a card with Narrow=1: e1m6f and e2m5f in, 8 bits out. */
#include "tile_check.h"

static struct tile_bench bench;

int main(int argc, char **argv)
{
    const struct mf_fmt in[] = {beat_format(0x96).fmt, beat_format(0xa5).fmt};
    struct mf_fmt out[CARD_FORMATS];
    const unsigned n_out = tile_formats(8, 8, out);
    const uint64_t seed = 15;
    printf("seed %llu\n", (unsigned long long)seed);
    tile_open(&bench, argc, argv, seed);
    for (unsigned i = 0; i < 2 * n_out; i++)
        tile_pairs(&bench, in[i % 2], out[i / 2], i % 7);
    tile_mix(&bench, in, 2, 700);
    tile_close(&bench);
    DONE();
}
