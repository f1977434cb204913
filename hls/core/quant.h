/* quant.h : the HLS cores that make packed codes of fp32 and fp32 of packed codes, with a power of
 * two on the way. */
#ifndef QUANT_H
#define QUANT_H
#include "hls/core/beat.h"

enum { QUANT_REFUSED = 1 }; /* a format, shift or overflow that is none; nothing was written */
enum { QUANT_MAX_SHIFT = 1 << 20 };

/* codes = x * 2^shift rounded once, to nearest.
 *   x       [ceil(n / 16)] beats of fp32
 *   codes   [ceil(n * width / 512)] beats, out; zero codes behind n
 *   fmt     the format's byte (hls/core/beat.h)        shift   at most QUANT_MAX_SHIFT either way
 *   saturate   1: what is too large becomes the largest finite; 0: inf
 *   status   [1] out: 0 or QUANT_REFUSED */
void quant_kernel(const struct beat *x, struct beat *codes, uint32_t n, uint32_t fmt, int32_t shift,
                  uint32_t saturate, uint32_t *status);

/* The way back: x = code * 2^shift; exact, or rounded once where it is an fp32 subnormal. Zeros
 * behind n. */
void unquant_kernel(const struct beat *codes, struct beat *x, uint32_t n, uint32_t fmt,
                    int32_t shift, uint32_t *status);

#endif
