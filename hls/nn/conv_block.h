/* conv_block.h : cuts the pixels of a convolution's weight gradient into blocks, alike on CPU and
 * GPU. Where sums round, the cuts decide bits. */
#ifndef CONV_BLOCK_H
#define CONV_BLOCK_H
#include "hls/arith/mf.h"

enum { CONV_BLOCK_VALUES = 28000, CONV_BLOCK_PRODUCTS = 1000000, CONV_BLOCK_STEP = 8 };

/* Return the pixels per block: within CONV_BLOCK_VALUES of `row` values each and
 * CONV_BLOCK_PRODUCTS of a GEMM with `other` columns, but at least `least` (a
 * multiple of CONV_BLOCK_STEP, or 0). */
MF_FN int conv_block_pixels(int row, int other, int least)
{
    const int products = CONV_BLOCK_PRODUCTS / other;
    const int most = products < CONV_BLOCK_VALUES ? products : CONV_BLOCK_VALUES;
    const int n = most / row / CONV_BLOCK_STEP * CONV_BLOCK_STEP;
    const int bound = least < CONV_BLOCK_STEP ? CONV_BLOCK_STEP : least;
    return n < bound ? bound : n;
}

#endif
