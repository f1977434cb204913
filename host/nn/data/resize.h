/* resize.h : cuts squares of a size out of scaled pictures. */
#ifndef RESIZE_H
#define RESIZE_H
#include "nn/data/picture.h"

/* The part [h, w] of a picture from (y, x) on is scaled to to_h x to_w pixels; the result is the
 * square of `side` pixels of it from (top, left) on. */
struct resize {
    int y, x, h, w;
    int to_h, to_w;
    int top, left, side;
};

/* Write the square as RGB to out [side, side, 3], grey pictures thrice. Each pixel is the mean of
 * the part's pixels around it, weighted by a triangle whose half base is one output pixel, at least
 * one input pixel. Bits are those of Pillow's crop() and resize(BILINEAR). Returns 0 or -ENOMEM
 * (reported). */
int picture_resize(const struct picture *p, const struct resize *r, uint8_t *out);

#endif
