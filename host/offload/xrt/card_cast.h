/* card_cast.h : fp32 to packed codes and back by a card in this machine, in its own memory (the
 * kernels expmax, quant and unquant). No files.
 *
 *     card_cast_open -> card_cast_begin for a kernel -> its runs, on c->x and c->codes -> ... -> card_cast_close
 *
 * All return 0 or a negative errno, and then one line in why; nothing prints. -EIO, -ETIMEDOUT: the
 * card is good for nothing any more. */
#ifndef CARD_CAST_H
#define CARD_CAST_H
#include "hls/arith/mf.h"
#include "offload/xrt/xrt_card.h"

enum { CARD_CAST_ARGS = 5 }; /* buffers of a kernel, at most */

struct card_cast {
    struct xrt_card card;
    enum kernel kernel; /* begun */
    uint32_t fmt, width;
    size_t most;    /* values of a run: what the card has memory for */
    float *x;       /* [most], filled by the caller (EXPMAX, QUANT) or by the run (UNQUANT) */
    uint8_t *codes; /* [packed, most] the other way around; EXPMAX: NULL */
    struct xrt_card_buffer buffers[CARD_CAST_ARGS];
    char why[XRT_WHY_BYTES];
};

/* card, xclbin: as xrt_card_open() has them. fmt: one that card_fits_format() liked. After a failure
 * nothing is open. */
int card_cast_open(struct card_cast *c, const char *card, const char *xclbin, struct mf_fmt fmt,
                   double timeout_s);
void card_cast_close(struct card_cast *c); /* legal when zeroed */

/* Buffers for this kernel, in place of those of another one. -ENOMEM: not even 256 KiB of
 * values find room. */
int card_cast_begin(struct card_cast *c, enum kernel k);

/* The largest |x| of n values, as fp32 bits without the sign: vec_ops.absmax(). EXPMAX. */
int card_cast_absmax(struct card_cast *c, size_t n, uint32_t *largest, double timeout_s);

/* codes = x * 2^shift of n values, rounded to nearest; zero bits behind them. QUANT. */
int card_cast_encode(struct card_cast *c, size_t n, int shift, bool saturate, double timeout_s);

/* x = codes * 2^shift. UNQUANT. */
int card_cast_decode(struct card_cast *c, size_t n, int shift, double timeout_s);

#endif
