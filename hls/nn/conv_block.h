/* conv_block.h : cuts the sum over pixels of a convolution's weight gradient into the same blocks
 * on CPU and GPU. If sums are rounded, the cuts affect the bits. */
#ifndef CONV_BLOCK_H
#define CONV_BLOCK_H
#include "hls/arith/mf.h"

enum { CONV_BLOCK_VALUES = 28000, CONV_BLOCK_PRODUCTS = 1000000, CONV_BLOCK_STEP = 8 };

/* Return the number of pixels per block, a multiple of CONV_BLOCK_STEP. A pixel has `row` values,
 * each of which takes part in `other` products. Limits: CONV_BLOCK_VALUES values and
 * CONV_BLOCK_PRODUCTS products per block. But a block has at least CONV_BLOCK_STEP and `least` (a
 * multiple of it, or 0) pixels. */
MF_FN int conv_block_pixels(int row, int other, int least)
{
    const int products = CONV_BLOCK_PRODUCTS / other;
    const int most = products < CONV_BLOCK_VALUES ? products : CONV_BLOCK_VALUES;
    const int n = most / row / CONV_BLOCK_STEP * CONV_BLOCK_STEP;
    const int bound = least < CONV_BLOCK_STEP ? CONV_BLOCK_STEP : least;
    return n < bound ? bound : n;
}

#endif
