/* card.h : sizes of a card in C: CARD_SLOTS, CARD_SUM_BITS, CARD_MHZ and so on. hls/card/card.def
 * describes each of them. */
#ifndef CARD_H
#define CARD_H

enum {
#define CARD(NAME, value, what) CARD_##NAME = value,
#include "card.def"
};

#endif
