/* winograd.h : convolves 3x3 windows of stride 1 and border 1 with Winograd's minimal filtering
 * F(2x2, 3x3): 16 products instead of 36 per 2x2 pixels, channel and filter (Lavin, Gray 2016,
 * arXiv 1509.09308, 4.1).
 *
 *   tile of y [2][2] = A' ( sum over channels of (G w G') * (B' x B) ) A
 *                      x: the 4x4 pixels around the tile; *: elementwise
 *
 *          | 1  0 -1  0 |        | 1    0   0  |
 *     B' = | 0  1  1  0 |    G = | 1/2  1/2 1/2|    A' = | 1 1  1  0 |
 *          | 0 -1  1  0 |        | 1/2 -1/2 1/2|         | 0 1 -1 -1 |
 *          | 0  1  0 -1 |        | 0    0   1  |
 *
 * A transformed tile has 16 points, and each point's sum over channels is a matrix product over a
 * cached block of tiles. dx is computed the same way from dy and weights rotated by 180 degrees.
 * The rotated dw is the sum over tiles of F(3x3, 2x2) of the 4x4 pixels of dy, with the 2x2 pixels
 * of x as filter.
 *
 * Sums run over channels (dw: tiles) in order with fused multiply-adds, so bits do not depend on
 * instruction set and batch size. Rounding errors are about those of GEMM (test_winograd). Only for
 * float. */
#ifndef WINOGRAD_H
#define WINOGRAD_H
#include <stdbool.h>
#include <stddef.h>
#include "hls/nn/layer.h"

/* Return the best kernels for this CPU (AVX-512, else AVX2 with FMA, else NULL). */
struct winograd_kernels;
const struct winograd_kernels *winograd_best(void);

/* True for 3x3 windows of stride 1 and border 1, one group, no dilation, and multiples of 16
 * channels and filters. */
bool winograd_fits(const struct nn_window *g);

size_t winograd_scratch(const struct nn_window *g); /* bytes; 64-byte aligned */

/* As conv_forward and conv_backward of hls/nn/layers.def, without dbias. dx must not be NULL. */
void winograd_forward(const struct winograd_kernels *by, const struct nn_window *g, int batch,
                      const real *x, const real *w, const real *bias, real *y, void *scratch);
void winograd_backward(const struct winograd_kernels *by, const struct nn_window *g, int batch,
                       const real *x, const real *w, const real *dy, real *dx, bool add, real *dw,
                       void *scratch);

#endif
