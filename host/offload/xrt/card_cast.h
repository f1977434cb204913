/* card_cast.h : casts fp32 to packed codes and back on a card of this machine, in the card's own
 * memory (kernels expmax, quant and unquant).
 *
 *     card_cast_open
 *     card_cast_begin      makes buffers c->x and c->codes for one of the kernels
 *     card_cast_absmax, card_cast_encode or card_cast_decode, any number of times
 *     card_cast_begin      for another kernel, and so on
 *     card_cast_close
 *
 * All functions return 0, or a negative errno with one line in c->why, and print nothing. After
 * -EIO or -ETIMEDOUT the card is unusable. */
#ifndef CARD_CAST_H
#define CARD_CAST_H
#include "hls/arith/mf.h"
#include "offload/xrt/xrt_card.h"

enum { CARD_CAST_BUFFERS = 4 }; /* of a kernel, at most */

struct card_cast {
    struct xrt_card card;
    enum kernel kernel; /* of card_cast_begin() */
    uint32_t fmt, width;
    size_t most;    /* values per run, limited by card memory */
    float *x;       /* [most], input of EXPMAX and QUANT, output of UNQUANT */
    uint8_t *codes; /* [packed, most], output of QUANT, input of UNQUANT; NULL for EXPMAX */
    struct xrt_card_buffer buffers[CARD_CAST_BUFFERS];
    char why[XRT_WHY_BYTES];
};

/* card, xclbin: as for xrt_card_open(). fmt: accepted by card_fits_format(). After a failure
 * nothing is open. */
int card_cast_open(struct card_cast *c, const char *card, const char *xclbin, struct mf_fmt fmt,
                   double timeout_s);
void card_cast_close(struct card_cast *c); /* legal when zeroed */

/* Makes buffers for kernel k and frees earlier ones. Returns -ENOMEM if the card has no room even
 * for 256 KiB of values. */
int card_cast_begin(struct card_cast *c, enum kernel k);

/* EXPMAX: *largest is the largest |x| of n values, as the bits of an fp32 without sign
 * (vec_ops.absmax()). */
int card_cast_absmax(struct card_cast *c, size_t n, uint32_t *largest, double timeout_s);

/* QUANT: codes = x * 2^shift of n values, to nearest; zeros up to the last beat's end. */
int card_cast_encode(struct card_cast *c, size_t n, int shift, bool saturate, double timeout_s);

/* UNQUANT: x = codes * 2^shift of n codes. */
int card_cast_decode(struct card_cast *c, size_t n, int shift, double timeout_s);

#endif
