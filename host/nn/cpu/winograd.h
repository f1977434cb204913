/* winograd.h : conv2d of 3x3 windows, stride 1 and a border of 1 by Winograd's minimal filtering
 * F(2x2, 3x3): 16 products for every 2x2 pixels, channel and filter where there were 36. Source:
 * Lavin, Gray 2016 (arXiv 1509.09308), 4.1.
 *
 *     a tile of y [2][2] = A' ( sum over channels of (G w G') * (B' x B) ) A        x: the 4x4 pixels around, *: by elements
 *
 *          | 1  0 -1  0 |        | 1    0   0  |
 *     B' = | 0  1  1  0 |    G = | 1/2  1/2 1/2|    A' = | 1 1  1  0 |
 *          | 0 -1  1  0 |        | 1/2 -1/2 1/2|         | 0 1 -1 -1 |
 *          | 0  1  0 -1 |        | 0    0   1  |
 *
 * The sum over channels is a matrix product for each of the 16 points, over a block of tiles that
 * stays in the nearest caches. dx is the same of dy, with the weights turned by 180 degrees; and
 * those 4x4 pixels of dy, with 2x2 of x for filters, sum up to dw, turned too: F(3x3, 2x2).
 *
 * Sums run over channels (dw: over tiles) in order, each product added without a rounding of its
 * own: the same bits with every instruction set, whatever else is in the batch. Rounding errors are
 * about those of im2row and GEMM (test_winograd). In float alone: nobody calls this in the network
 * of doubles that tests have. */
#ifndef WINOGRAD_H
#define WINOGRAD_H
#include <stdbool.h>
#include <stddef.h>
#include "hls/nn/layer.h"

/* The best that this CPU has for it: AVX-512, or AVX2 with FMA; NULL: neither. winograd_isa: its
 * name. */
struct winograd_kernels;
const struct winograd_kernels *winograd_best(void);
const char *winograd_isa(const struct winograd_kernels *by);

/* A window that it is for: 3x3, stride 1, a border of 1, channels and filters in sixteens, one
 * group, taps side by side. */
bool winograd_fits(const struct nn_window *g);

size_t winograd_scratch(const struct nn_window *g); /* bytes, on 64 */

/* As conv_forward and conv_backward of hls/nn/layers.def, but for dbias; dx must be wanted. */
void winograd_forward(const struct winograd_kernels *by, const struct nn_window *g, int batch,
                      const real *x, const real *w, const real *bias, real *y, void *scratch);
void winograd_backward(const struct winograd_kernels *by, const struct nn_window *g, int batch,
                       const real *x, const real *w, const real *dy, real *dx, bool add, real *dw,
                       void *scratch);

#endif
