/* cast_xrt.h : runs `cast` and `uncast` on a card in this machine, with its kernels expmax, quant
 * and unquant. The resulting bytes are the same as on the CPU.
 *
 * Int results are 0 or a negative errno that has been reported. */
#ifndef CAST_XRT_H
#define CAST_XRT_H
#include "app/files/codes_in.h"
#include "base/file.h"
#include "codec/codec.h"

/* Checks that a card can cast with this codec and rounding. codec: already settled. round: the text
 * of the option. */
int cast_xrt_check(const struct codec *codec, const char *round);

/* Casts `in`, open and unread, to `out`, which the caller commits. card: "xrt", "xrt:1" or
 * "xrt:BDF". xclbin: the container, or NULL to use NARROWCAST_XCLBIN. *shift is set. */
int cast_xrt(const struct codec *codec, struct file_in *in, struct file_out *out, const char *card,
             const char *xclbin, int *shift);

/* Decodes `in` to `out`: x = code * 2^shift. */
int uncast_xrt(struct codes_in *in, int shift, struct file_out *out, const char *card,
               const char *xclbin);

/* ---- options that choose the card for --on xrt ---- */

/* Name, metavar, fallback and help of a row of options. The values are NULL if not given. */
#define CARD_WORDS_CARD                                                                            \
    "card", "xrt[:BDF]", NULL,                                                                     \
        "The card to use with --on xrt: xrt for the first one, xrt:1 for the second, xrt:65:00.1 " \
        "for the one at that address of the bus."                                                  \
        "there."
#define CARD_WORDS_XCLBIN                                                                         \
    "xclbin", "FILE", NULL,                                                                       \
        "The xclbin to load into the card with --on xrt (see `narrowcast xclbin`). Default: the " \
        "file named by "                                                                          \
        "NARROWCAST_XCLBIN."

/* Checks that --card and --xclbin are given only with an --on that uses them. */
int card_words_check(const char *on, const char *card, const char *xclbin);

/* Returns the card's name, or that of the first card if card is NULL. */
static inline const char *card_words_name(const char *card)
{
    return card ? card : "xrt";
}

#endif
