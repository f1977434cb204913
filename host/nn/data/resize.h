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

/* Write the square as RGB to out [side, side, 3], grey pictures thrice. Each pixel is a mean of
 * pixels of the part, weighted by a triangle over the pixel's size in the picture, at least one
 * pixel: as `resize` of Pillow (BILINEAR), with its bits unless Pillow scales columns first.
 * Returns 0 or -ENOMEM (reported). */
int picture_resize(const struct picture *p, const struct resize *r, uint8_t *out);

#endif
