/* card.h : sizes of a card (card.def) in C: CARD_SLOTS, CARD_SUM_BITS, CARD_MHZ and so on. */
#ifndef CARD_H
#define CARD_H

enum {
#define CARD(NAME, value, what) CARD_##NAME = value,
#include "card.def"
};

#endif
