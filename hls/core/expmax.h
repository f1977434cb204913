/* expmax.h : the HLS core that finds the exponent of a block of fp32, for a power-of-two scale. */
#ifndef EXPMAX_H
#define EXPMAX_H
#include "hls/core/beat.h"

enum { EXPMAX_ALL_ZERO = -128, EXPMAX_NOT_FINITE = 127, EXPMAX_MAX = 126 };
enum { EXPMAX_REFUSED = 1 }; /* status: n_ranks is 0 */

/* Compute the int8 that a rank sends for a block: E = ceil(log2(n_ranks * max |x|)), clamped to
 * +-126; EXPMAX_ALL_ZERO if all values are 0 or n is 0; EXPMAX_NOT_FINITE if a value is inf or nan.
 *   x          [ceil(n / 16)] beats of fp32; values after the n-th are ignored
 *   exponent   [1] out: E; 0 if refused
 *   absmax     [1] out: fp32 bits of the largest |x|
 *   status     [1] out: 0 or EXPMAX_REFUSED
 * Source: APS paper, Algorithm 1. */
void expmax_kernel(const struct beat *x, uint32_t n, uint32_t n_ranks, int32_t *exponent,
                   uint32_t *absmax, uint32_t *status);

#endif
