/* view.h : how a training image is changed before it is used: what is asked for, what chance makes
 * of it for one image, and which pixel then stands where. Shared dialect, as draw.h.
 *
 *     image in a border --window at a random place--> --left to right, in one case of two--> --a square becomes 0-->
 *           crop, reflect                                   flip                                  cutout
 *
 * As DavidNet does it: https://github.com/davidcpage/cifar10-fast, core.py. */
#ifndef VIEW_H
#define VIEW_H
#include "hls/arith/draw.h"

struct augment {
    int crop; /* pixels of border, 0 = none; usually 4 */
    /* 0: the border is black, pixel 0 BEFORE normalisation; 1: it shows the image as in a mirror, so
     * that the pixels at its edge are not repeated (`reflect` of numpy and PyTorch): crop is less
     * than its sides then */
    int reflect;
    int flip;   /* 0 or 1 */
    int cutout; /* side of a square, inside the image, that is 0 BEHIND normalisation; 0 = none */
};

/* Pixel (y, x) shows the image in its border at (y + dy, x + dx), read right to left if flipped;
 * but 0 in the square of `cut` pixels a side from (cut_y, cut_x) on. */
struct view {
    int dy, dx, reflect, flip;
    int cut, cut_y, cut_x;
};

/* Of an image of h x w pixels, no less than a.cutout each. Keyed by (seed, epoch, image), and what
 * is not asked for is drawn, too: one augmentation changes nothing of another. */
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

/* Which of n lines (or columns) stands at `at`, which may lie in the border; -1: black. */
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
