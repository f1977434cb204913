/* bilinear.h : images scaled up: which two pixels of a line a new one lies between, and how much the
 * second counts. Corners are not aligned, as in PyTorch's interpolate: pixel i covers [i, i + 1).
 *
 *     from |   a   |   b   |      place = (to + 1/2) * n_from / n_to - 1/2, not below 0
 *     to   | . | . | . | . |      value = (1 - part) * a + part * b
 * Whole numbers decide the pixels, so nothing rounds but `part`, once, and the sums. */
#ifndef BILINEAR_H
#define BILINEAR_H
#include "hls/arith/mf.h"

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

/* How much pixel `from` counts in pixel `to`, one of those below: bilinear_mix() as a factor. */
MF_FN float bilinear_share(int to, int from, int n_from, int n_to)
{
    const struct bilinear b = bilinear_at(to, n_from, n_to);
    return b.first == b.second ? 1.0f : b.first == from ? 1.0f - b.part : b.part;
}

/* Pixels [begin, end) of n_to are all that pixel `from` counts in. */
MF_FN int bilinear_begin(int from, int n_from, int n_to)
{
    const int place = (2 * from - 1) * n_to - n_from; /* to >= place / (2 * n_from) */
    return place <= 0 ? 0 : (place + 2 * n_from - 1) / (2 * n_from);
}

MF_FN int bilinear_end(int from, int n_from, int n_to)
{
    const int place = (2 * from + 3) * n_to - n_from; /* to < place / (2 * n_from) */
    const int end = (place + 2 * n_from - 1) / (2 * n_from);
    return end < n_to ? end : n_to;
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
