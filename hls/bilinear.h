/* bilinear.h : images scaled up: which two pixels of a line a new one lies between, and how much the
 * second counts. Corners are not aligned, as in PyTorch's interpolate: pixel i covers [i, i + 1).
 *
 *     from |   a   |   b   |      place = (to + 1/2) * n_from / n_to - 1/2, not below 0
 *     to   | . | . | . | . |      value = (1 - part) * a + part * b
 * Whole numbers decide the pixels, so nothing rounds but `part`, once, and the sums. */
#ifndef BILINEAR_H
#define BILINEAR_H
#include "hls/mf.h"

struct bilinear {
    int first, second; /* pixels; equal at the ends */
    float part;        /* of the second: 0 <= part < 1 */
};

/* Pixel `to` of n_to, from a line of n_from, which are no more.   n_to <= 32767 */
MF_FN struct bilinear bilinear_at(int to, int n_from, int n_to)
{
    const int scaled = (2 * to + 1) * n_from - n_to, place = scaled < 0 ? 0 : scaled;
    struct bilinear b;
    b.first = place / (2 * n_to);
    b.second = b.first + 1 < n_from ? b.first + 1 : b.first;
    b.part = (float)(place % (2 * n_to)) / (float)(2 * n_to);
    return b;
}

/* The value between a and b, every operation rounded. First along a line, then between lines. */
MF_FN float bilinear_mix(float a, float b, float part)
{
#ifdef __CUDA_ARCH__
    return __fadd_rn(__fmul_rn(1.0f - part, a), __fmul_rn(part, b));
#else
    return (1.0f - part) * a + part * b;
#endif
}

#endif
