/* card.h : what a card is, in C: CARD_SLOTS, CARD_SUM_BITS, CARD_MHZ and so on. hls/card/card.def is the
 * list and says what each of them is. */
#ifndef CARD_H
#define CARD_H

enum {
#define CARD(NAME, value, what) CARD_##NAME = value,
#include "card.def"
};

#endif
