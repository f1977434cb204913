/* view.h : chooses how to augment a training image: random crop, flip and cutout.
 *
 *   image in a border --window at a random place--> --flip, one in two--> --a square becomes 0-->
 *         crop, reflect                                  flip                  cutout
 *
 * Source: DavidNet, https://github.com/davidcpage/cifar10-fast, core.py. */
#ifndef VIEW_H
#define VIEW_H
#include "hls/arith/draw.h"

struct augment {
    int crop; /* width of the border in pixels; usually 4; 0: none */
    /* 0: the border is black (0 before normalisation). 1: it mirrors the image without its edge
     * pixels (`reflect` of numpy and PyTorch); crop must be less than the image's sides */
    int reflect;
    int flip;   /* 1: half of the images are flipped, at random */
    int cutout; /* side of a square in the image that becomes 0 after normalisation; 0: none */
};

/* A view of an image. Its pixel (y, x) is pixel (y + dy, x + dx) of the image in its border,
 * mirrored left to right if flip is 1. A square with sides of `cut` pixels and first corner
 * (cut_y, cut_x) is 0. */
struct view {
    int dy, dx, reflect, flip;
    int cut, cut_y, cut_x;
};

/* Choose the view of an image of h x w pixels, both at least a.cutout; depends only on (seed,
 * epoch, image). Disabled augmentations draw random numbers too, so the others stay the same. */
PHILOX_FN struct view view_choose(struct augment a, uint64_t seed, uint64_t epoch, uint32_t image,
                                  int h, int w)
{
    struct draw draw = draw_open(seed, DRAW_AUGMENT, epoch, image);
    const uint32_t places = 2 * (uint32_t)a.crop + 1;
    struct view v;
    v.dy = (int)draw_below(&draw, places) - a.crop;
    v.dx = (int)draw_below(&draw, places) - a.crop;
    v.flip = (int)(draw_u32(&draw) >> 31) & a.flip;
    v.reflect = a.reflect;
    v.cut = a.cutout;
    v.cut_y = (int)draw_below(&draw, (uint32_t)(h - a.cutout) + 1);
    v.cut_x = (int)draw_below(&draw, (uint32_t)(w - a.cutout) + 1);
    return v;
}

/* Return which of the image's n lines (or columns) appears at position `at`, or -1 for the black
 * border. at: from -crop to n + crop - 1. */
PHILOX_FN int view_line(int reflect, int at, int n)
{
    if (at >= 0 && at < n)
        return at;
    if (!reflect)
        return -1;
    return at < 0 ? -at : 2 * (n - 1) - at;
}

PHILOX_FN int view_is_cut(struct view v, int y, int x)
{
    return y >= v.cut_y && y < v.cut_y + v.cut && x >= v.cut_x && x < v.cut_x + v.cut;
}

#endif
