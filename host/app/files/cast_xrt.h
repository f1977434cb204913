/* cast_xrt.h : runs `cast` and `uncast` on a card in this machine (kernels expmax, quant, unquant),
 * with the same bytes as on the CPU. */
#ifndef CAST_XRT_H
#define CAST_XRT_H
#include "app/files/codes_in.h"
#include "base/file.h"
#include "codec/codec.h"

/* Checks that a card can cast with this settled codec and --round. */
int cast_xrt_check(const struct codec *codec, const char *round);

/* Casts `in`, open and unread, to `out`, which the caller commits. card: "xrt", "xrt:1" or
 * "xrt:BDF". xclbin: the container; NULL: that of NARROWCAST_XCLBIN. Sets *shift. */
int cast_xrt(const struct codec *codec, struct file_in *in, struct file_out *out, const char *card,
             const char *xclbin, int *shift);

/* Decodes: x = code * 2^shift. */
int uncast_xrt(struct codes_in *in, int shift, struct file_out *out, const char *card,
               const char *xclbin);

/* ---- options of --on xrt ---- */

/* first fields of an option's row; NULL if not given */
#define CARD_WORDS_CARD                                                                            \
    "card", "xrt[:BDF]", NULL,                                                                     \
        "The card to use with --on xrt: xrt for the first one, xrt:1 for the second, xrt:65:00.1 " \
        "for the one at that address of the bus."
#define CARD_WORDS_XCLBIN                                                                         \
    "xclbin", "FILE", NULL,                                                                       \
        "The xclbin to load into the card with --on xrt (see `narrowcast xclbin`). Default: the " \
        "file named by "                                                                          \
        "NARROWCAST_XCLBIN."

/* Refuses --card and --xclbin without an --on that uses them. */
int card_words_check(const char *on, const char *card, const char *xclbin);

/* card: NULL for the first card. */
static inline const char *card_words_name(const char *card)
{
    return card ? card : "xrt";
}

#endif
