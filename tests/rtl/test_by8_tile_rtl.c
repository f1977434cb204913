/* test_by8_tile_rtl.c : runs test_tile_rtl.c on a tile of 8 lanes. */
#include "test_tile_rtl.c"
