/* card_cast.h : Casts fp32 to packed codes and back by a card in this machine, in its own memory
 * (kernels expmax, quant and unquant).
 *
 *     card_cast_open -> card_cast_begin for a kernel -> its runs, on c->x and c->codes -> ...
 *                    -> card_cast_close
 *
 * All functions return 0 or a negative errno, then with one line in why, and print nothing. After
 * -EIO or -ETIMEDOUT the card is unusable. */
#ifndef CARD_CAST_H
#define CARD_CAST_H
#include "hls/arith/mf.h"
#include "offload/xrt/xrt_card.h"

enum { CARD_CAST_ARGS = 5 }; /* most buffers of a kernel */

struct card_cast {
    struct xrt_card card;
    enum kernel kernel; /* begun */
    uint32_t fmt, width;
    size_t most;    /* values per run; limited by card memory */
    float *x;       /* [most], filled by the caller (EXPMAX, QUANT) or by the run (UNQUANT) */
    uint8_t *codes; /* [packed, most], the other way around; EXPMAX: NULL */
    struct xrt_card_buffer buffers[CARD_CAST_ARGS];
    char why[XRT_WHY_BYTES];
};

/* Opens the card. card, xclbin: as for xrt_card_open(). fmt: accepted by card_fits_format(). After
 * a failure nothing is open. */
int card_cast_open(struct card_cast *c, const char *card, const char *xclbin, struct mf_fmt fmt,
                   double timeout_s);
void card_cast_close(struct card_cast *c); /* legal when zeroed */

/* Makes buffers for kernel k instead of those of an earlier kernel. -ENOMEM: the card has no room
 * even for 256 KiB of values. */
int card_cast_begin(struct card_cast *c, enum kernel k);

/* EXPMAX: returns the largest |x| of n values as fp32 bits without the
 * sign, like vec_ops.absmax(). */
int card_cast_absmax(struct card_cast *c, size_t n, uint32_t *largest, double timeout_s);

/* QUANT: codes = x * 2^shift of n values, rounded to nearest, followed by zero bits. */
int card_cast_encode(struct card_cast *c, size_t n, int shift, bool saturate, double timeout_s);

/* UNQUANT: x = codes * 2^shift. */
int card_cast_decode(struct card_cast *c, size_t n, int shift, double timeout_s);

#endif
