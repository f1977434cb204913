/* quant.h : the HLS cores that convert fp32 to packed codes and back, scaled by a power of two. */
#ifndef QUANT_H
#define QUANT_H
#include "hls/core/beat.h"

enum { QUANT_REFUSED = 1 }; /* status: illegal fmt, shift or saturate; nothing else was written */
enum { QUANT_MAX_SHIFT = 1 << 20 };

/* Encode: codes = x * 2^shift, each rounded once to nearest.
 *   x          [ceil(n / 16)] beats of fp32
 *   codes      [ceil(n * width / 512)] beats, out: n codes, then zero codes; width: bits of a code
 *   fmt        byte of the format (beat.h)
 *   shift      at most QUANT_MAX_SHIFT in magnitude
 *   saturate   1: a value that is too large becomes the largest finite one; 0: inf
 *   status     [1] out: 0 or QUANT_REFUSED */
void quant_kernel(const struct beat *x, struct beat *codes, uint32_t n, uint32_t fmt, int32_t shift,
                  uint32_t saturate, uint32_t *status);

/* Decode: x = code * 2^shift, exact, except that an fp32 subnormal is rounded once and a value
 * beyond fp32 becomes inf. Writes zeros after the n-th value. Arguments: as in quant_kernel(). */
void unquant_kernel(const struct beat *codes, struct beat *x, uint32_t n, uint32_t fmt,
                    int32_t shift, uint32_t *status);

#endif
