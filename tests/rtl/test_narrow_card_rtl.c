/* test_narrow_card_rtl.c : runs test_card_rtl.c on a card with Narrow=1. */
#define PAIR_NARROW
#include "test_card_rtl.c"
