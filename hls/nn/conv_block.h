/* conv_block.h : into which blocks of pixels a convolution's sum over pixels is cut. Where sums
 * round, the cuts decide bits, so CPU and GPU share them. */
#ifndef CONV_BLOCK_H
#define CONV_BLOCK_H
#include "hls/arith/mf.h"

enum { CONV_BLOCK_VALUES = 28000, CONV_BLOCK_PRODUCTS = 1000000, CONV_BLOCK_STEP = 8 };

/* Pixels a block: few enough for CONV_BLOCK_VALUES in rows and CONV_BLOCK_PRODUCTS in a GEMM with
 * `other` columns; but `least`, a multiple of CONV_BLOCK_STEP or 0. */
MF_FN int conv_block_pixels(int row, int other, int least)
{
    const int products = CONV_BLOCK_PRODUCTS / other;
    const int most = products < CONV_BLOCK_VALUES ? products : CONV_BLOCK_VALUES;
    const int n = most / row / CONV_BLOCK_STEP * CONV_BLOCK_STEP;
    const int bound = least < CONV_BLOCK_STEP ? CONV_BLOCK_STEP : least;
    return n < bound ? bound : n;
}

#endif
