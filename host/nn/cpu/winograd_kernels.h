/* winograd_kernels.h : declares the parts of winograd.h for an instruction set; private to it. */
#ifndef WINOGRAD_KERNELS_H
#define WINOGRAD_KERNELS_H
#include "nn/cpu/winograd.h"
#include "vec/vec_isa.h"

enum {
    WINOGRAD_POINTS = 16,
    WINOGRAD_CHANNELS = 16, /* channels and filters come in multiples of it */
    /* A product has a multiple of these tiles, itself a multiple of those that a kernel multiplies
     * at once. */
    WINOGRAD_ROWS = 24
};

/* Tiles [first, first + n) of a batch of images, counted along lines of 2x2 pixels. */
struct winograd_tiles {
    struct nn_shape image;
    size_t first;
    int n;
    size_t pitch; /* elements between points of a block */
};

struct winograd_kernels {
    const char *name;
    /* v [16][n][c] = B' x B, x: the 4x4 pixels around each tile, zero outside the image. */
    void (*spread)(const struct winograd_tiles *t, const float *x, float *v);
    /* d [16][n][c] = H x H', x: the tile's own 2x2 pixels as a filter. H: matrix of F(3, 2) with
     * the rows 1 0, 1 1, 1 -1, 0 -1, without the 1/2 of the middle two. */
    void (*spread_own)(const struct winograd_tiles *t, const float *x, float *d);
    /* y = bias + A' m A for m [16][n][c], added to y if `add`. bias: [c] or NULL. */
    void (*gather)(const struct winograd_tiles *t, const float *m, const float *bias, bool add,
                   float *y);
    /* u [16][k][n] = G w G' for w [out][3][3][in], k = in and n = out. Columns are in panels, as
     * `multiply` reads them. turned: w is rotated by 180 degrees, k = out and n = in. */
    void (*filters)(int in, int out, const float *w, bool turned, float *u);
    /* o [rows][n] = a [rows][k] * u [k][n] for one point. rows: multiple of WINOGRAD_ROWS. */
    void (*multiply)(int rows, int k, int n, const float *a, const float *u, float *o);
    /* dw [out][3][3][in] = sums [16][in][out] of v * d, rotated by 180 degrees. */
    void (*weights)(int in, int out, const float *sums, float *dw);
    /* o [m][n] += a' b for a [rows][m] and b [rows][n] */
    void (*multiply_add)(int rows, int m, int n, const float *a, const float *b, float *o);
};

#ifdef VEC_X86
extern const struct winograd_kernels winograd_avx2, winograd_avx512;
#endif

/* Return an instruction set's kernels, or NULL if there are none or this CPU lacks it. */
const struct winograd_kernels *winograd_kernels(enum vec_isa isa);

#endif
