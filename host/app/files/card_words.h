/* card_words.h : which card in this machine does the work of `reduce`, `cast` and `uncast` with
 * --on xrt: two rows of their tables of options. */
#ifndef CARD_WORDS_H
#define CARD_WORDS_H

/* name, metavar, fallback, help of a row; text, NULL where not given */
#define CARD_WORDS_CARD                                                                   \
    "card", "xrt[:BDF]", NULL,                                                            \
        "Which card (--on xrt): xrt, the first; xrt:1, the second; xrt:65:00.1, the one " \
        "there."
#define CARD_WORDS_XCLBIN                                                                     \
    "xclbin", "FILE", NULL,                                                                   \
        "What the card is to run (--on xrt), as `narrowcast xclbin` lists it. Default: what " \
        "NARROWCAST_XCLBIN names."

/* Do they go with this --on? Returns 0 or -EINVAL with a line. */
int card_words_check(const char *on, const char *card, const char *xclbin);

/* The card's name, NULL: of the first. */
static inline const char *card_words_name(const char *card)
{
    return card ? card : "xrt";
}

#endif
