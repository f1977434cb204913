/* winograd_kernels.h : what an instruction set does of winograd.h: tiles to points and back, and
 * the products of each point. Inside winograd*.c and its test. */
#ifndef WINOGRAD_KERNELS_H
#define WINOGRAD_KERNELS_H
#include "nn/cpu/winograd.h"
#include "vec/vec_isa.h"

enum {
    WINOGRAD_POINTS = 16,
    WINOGRAD_CHANNELS = 16, /* channels come in so many */
    WINOGRAD_ROWS = 24      /* tiles that a product takes at once, or a divisor of it */
};

/* Tiles [first, first + n) of a batch of images [h][w][c], counted along lines of 2x2 pixels. */
struct winograd_tiles {
    struct nn_shape image;
    size_t first;
    int n;
    size_t pitch; /* elements from one point of a block to the next */
};

struct winograd_kernels {
    const char *name;
    /* v [16][n][c] = B' x B, x the 4x4 pixels around each tile; zero outside the image */
    void (*spread)(const struct winograd_tiles *t, const float *x, float *v);
    /* d [16][n][c] = H x H', x the tile's own 2x2 pixels in the place of a filter; H as F(3, 2) has
     * it, but for the factor 1/2 of its two middle lines: 1 0, 1 1, 1 -1, 0 -1 */
    void (*spread_own)(const struct winograd_tiles *t, const float *x, float *d);
    /* y (+)= bias + A' m A, m [16][n][c]. bias [c] or NULL */
    void (*gather)(const struct winograd_tiles *t, const float *m, const float *bias, bool add,
                   float *y);
    /* u [16][k][n], columns in panels as `multiply` wants them: G w G' of w [out][3][3][in], k =
     * in, n = out; turned: w turned by 180 degrees, k = out, n = in */
    void (*filters)(int in, int out, const float *w, bool turned, float *u);
    /* o [rows][n] = a [rows][k] * u [k][n] of one point; rows: a multiple of WINOGRAD_ROWS */
    void (*multiply)(int rows, int k, int n, const float *a, const float *u, float *o);
    /* dw [out][3][3][in] = the sums [16][in][out] of v * d, turned by 180 degrees */
    void (*weights)(int in, int out, const float *sums, float *dw);
    /* o [m][n] += a' b, a [rows][m], b [rows][n] */
    void (*multiply_add)(int rows, int m, int n, const float *a, const float *b, float *o);
};

#ifdef VEC_X86
extern const struct winograd_kernels winograd_avx2, winograd_avx512;
#endif

/* With an instruction set; NULL: this CPU has it not, or it has nothing for this. */
const struct winograd_kernels *winograd_kernels(enum vec_isa isa);

#endif
