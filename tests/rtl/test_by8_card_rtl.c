/* test_by8_card_rtl.c : runs test_card_rtl.c on a card of 8 bytes a clock. */
#include "test_card_rtl.c"
