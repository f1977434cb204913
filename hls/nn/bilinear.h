/* bilinear.h : bilinear upscaling of images, as PyTorch's with align_corners=False: pixel i covers
 * [i, i + 1).
 *
 *     from |   a   |   b   |      place = (to + 1/2) * n_from / n_to - 1/2, not below 0
 *     to   | . | . | . | . |      value = (1 - part) * a + part * b
 *
 * Source pixels are computed with integers. Only `part` (once) and the sums are rounded. */
#ifndef BILINEAR_H
#define BILINEAR_H
#include "hls/arith/mf.h"

struct bilinear {
    int first, second; /* source pixels; equal at the ends */
    float part;        /* weight of the second: 0 <= part < 1 */
};

/* Return the source pixels of pixel `to` in a line scaled up from n_from to n_to pixels; n_from <=
 * n_to <= 32767. */
MF_FN struct bilinear bilinear_at(int to, int n_from, int n_to)
{
    const int scaled = (2 * to + 1) * n_from - n_to, place = scaled < 0 ? 0 : scaled;
    struct bilinear b;
    b.first = place / (2 * n_to);
    b.second = b.first + 1 < n_from ? b.first + 1 : b.first;
    b.part = (float)(place % (2 * n_to)) / (float)(2 * n_to);
    return b;
}

/* Return the weight of source pixel `from` in pixel `to`. `from` must be one of the two sources of
 * `to`. */
MF_FN float bilinear_share(int to, int from, int n_from, int n_to)
{
    const struct bilinear b = bilinear_at(to, n_from, n_to);
    return b.first == b.second ? 1.0f : b.first == from ? 1.0f - b.part : b.part;
}

/* Return the first of the n_to pixels to which source pixel `from` contributes; bilinear_end(): the
 * one after the last. */
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

/* Return a and b mixed; every operation is rounded. Callers interpolate first along lines, then
 * between lines. */
MF_FN float bilinear_mix(float a, float b, float part)
{
#ifdef __CUDA_ARCH__
    return __fadd_rn(__fmul_rn(1.0f - part, a), __fmul_rn(part, b));
#else
    return (1.0f - part) * a + part * b;
#endif
}

#endif
