/* cast_xrt.h : `cast` and `uncast` by a card in this machine: its kernels expmax, quant and unquant.
 * The bytes of the CPU. */
#ifndef CAST_XRT_H
#define CAST_XRT_H
#include "app/files/codes_in.h"
#include "base/file.h"
#include "codec/codec.h"

/* Can a card cast so? codec: settled; round: the user's word. 0, or -EINVAL with a line. */
int cast_xrt_check(const struct codec *codec, const char *round);

/* in is open and unread; out is left to the caller to commit. card: "xrt", "xrt:1", "xrt:BDF";
 * xclbin: NULL: NARROWCAST_XCLBIN. Returns 0 or a negative errno with a line. */
int cast_xrt(const struct codec *codec, struct file_in *in, struct file_out *out, const char *card,
             const char *xclbin, int *shift);

/* shift: as the CPU's way back has it, x = code * 2^shift. */
int uncast_xrt(struct codes_in *in, int shift, struct file_out *out, const char *card,
               const char *xclbin);

/* ---- which card in this machine does the work of `reduce`, `cast` and `uncast` with
 * --on xrt: two rows of their tables of options ---- */

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
