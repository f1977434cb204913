/* conv_low.cu : conv2d and linear with products that round at every step (gemm_low.cu), with the
 * CPU's bits. rows(x) has a row of values for each window. Sums have the order of
 * host/nn/cpu/cpu_conv.c and layer_linear.c:
 *
 *     forward    y = bias + rows(x) * w^T
 *     backward   stride 1, dx wanted:  dx (+)= rows(dy) * turned(w)
 *                                      turned(dw) = x^T * rows(dy)
 *                otherwise:            dw = dy^T * rows(x)
 *                                      dx (+)= row2im(dy * w), pixel after pixel
 *
 * Sums over pixels are cut at the CPU's blocks (hls/nn/conv_block.h). Rows are made for many
 * blocks, a chunk, at a time. */
#include "device/nn/conv.cuh"
#include "device/nn/gemm_low.cuh"
#include "hls/nn/conv_block.h"

enum {
    /* Floats of a chunk's rows, and of the partial sums of dw; at least one block and one sum. */
    CHUNK_VALUES = 1 << 22,
    CHUNK_PIXELS = 1 << 16,
    PARTS = 1 << 10, /* CHUNK_PIXELS and PARTS limit the grid */
};

static __host__ __device__ inline size_t row_values(const nn_window &g)
{
    return (size_t)g.k * (size_t)g.k * (size_t)g.in.c;
}

static __host__ __device__ inline size_t pixels_of(nn_shape s)
{
    return (size_t)s.h * (size_t)s.w;
}

/* Values are zeros outside of the image. */
static __global__ void k_low_rows(nn_window g, const float *x, size_t first, size_t n, float *rows)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x, row = row_values(g),
                 wide = pixels_of(g.out);
    if (i >= n * row)
        return;
    const size_t pixel = first + i / row, image = pixel / wide;
    const int at = (int)(i % row), inside = (int)(pixel % wide), tap = at / g.in.c;
    const int apart = window_dilation(g);
    const int y = inside / g.out.w * g.stride - g.pad + tap / g.k * apart,
              left = inside % g.out.w * g.stride - g.pad;
    const int column = left + tap % g.k * apart;
    const bool there = y >= 0 && y < g.in.h && column >= 0 && column < g.in.w;
    const size_t from = (image * (size_t)g.in.h + (size_t)y) * (size_t)g.in.w + (size_t)column;
    rows[i] = there ? x[from * (size_t)g.in.c + (size_t)(at % g.in.c)] : 0.0f;
}

/* The first output line or column whose window covers i. end_of(): one after the last. */
static __device__ inline int first_of(const nn_window &g, int i)
{
    const int behind = i + g.pad - window_reach(g);
    return behind <= 0 ? 0 : (behind + g.stride - 1) / g.stride;
}
static __device__ inline int end_of(const nn_window &g, int i, int out)
{
    const int end = (i + g.pad) / g.stride + 1;
    return end < out ? end : out;
}

/* Adds each value where k_low_rows reads it, pixel after pixel. dx begins at image0. */
static __global__ void k_low_back(nn_window g, const float *rows, size_t first, size_t n,
                                  size_t image0, size_t size, float *dx)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= size)
        return;
    const size_t c = i % (size_t)g.in.c, pixel = i / (size_t)g.in.c,
                 image = image0 + pixel / pixels_of(g.in);
    const int inside = (int)(pixel % pixels_of(g.in)), y = inside / g.in.w, x = inside % g.in.w;
    const int y_end = end_of(g, y, g.out.h), x_end = end_of(g, x, g.out.w),
              apart = window_dilation(g);
    float sum = dx[i];
    for (int v = first_of(g, y); v < y_end; v++)
        for (int u = first_of(g, x); u < x_end; u++) {
            const size_t from = (image * (size_t)g.out.h + (size_t)v) * (size_t)g.out.w + (size_t)u;
            const int down = y + g.pad - v * g.stride, right = x + g.pad - u * g.stride;
            const int tap = down / apart * g.k + right / apart;
            if (down % apart == 0 && right % apart == 0 && from >= first && from - first < n)
                sum = __fadd_rn(
                    sum, rows[(from - first) * row_values(g) + (size_t)tap * (size_t)g.in.c + c]);
        }
    dx[i] = sum;
}

/* to[k*k turned][out][in] = w[out][k*k][in] */
static __global__ void k_low_turn(nn_window g, const float *w, float *to)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    const size_t in = (size_t)g.in.c, out = (size_t)g.out.c, taps = (size_t)g.k * (size_t)g.k;
    if (i >= out * taps * in)
        return;
    const size_t filter = i / in % out, tap = taps - 1 - i / (in * out);
    to[i] = w[(filter * taps + tap) * in + i % in];
}

/* dw[out][k*k][in] = turned[in][k*k turned][out] */
static __global__ void k_low_turn_back(nn_window g, const float *turned, float *dw)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    const size_t in = (size_t)g.in.c, out = (size_t)g.out.c, taps = (size_t)g.k * (size_t)g.k;
    if (i >= out * taps * in)
        return;
    const size_t tap = i / in % taps, filter = i / (in * taps);
    dw[i] = turned[(i % in * taps + taps - 1 - tap) * out + filter];
}

/* ---- biases: exact fp32 and double, as on the CPU ---- */

static __global__ void k_low_spread(size_t n, int c, const float *bias, float *y)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i < n)
        y[i] = bias[i % (size_t)c];
}

/* Adds rows in order, which decides the last bit, and loads ahead. */
static __global__ void k_low_sum(size_t n_rows, int c, const float *y, float *sum)
{
    enum { AHEAD = 16 };
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= (size_t)c)
        return;
    double s = 0;
    size_t r = 0;
    for (; r + AHEAD <= n_rows; r += AHEAD) {
        float v[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            v[j] = y[(r + (size_t)j) * (size_t)c + i];
#pragma unroll
        for (int j = 0; j < AHEAD; j++)
            s = __dadd_rn(s, (double)v[j]);
    }
    for (; r < n_rows; r++)
        s = __dadd_rn(s, (double)y[r * (size_t)c + i]);
    sum[i] = (float)s;
}

static int spread(size_t n_rows, int c, const float *bias, float *y, cudaStream_t s)
{
    const size_t n = n_rows * (size_t)c;
    if (!bias || n == 0)
        return 0;
    k_low_spread<<<cu_blocks(n), CU_THREADS, 0, s>>>(n, c, bias, y);
    return cu_check("bias");
}

static int sum_rows(struct dev_nn *d, size_t n_rows, int c, const float *y, float *sum)
{
    if (!sum || c == 0)
        return 0;
    k_low_sum<<<cu_blocks((size_t)c), CU_THREADS, 0, cu_stream(d->s)>>>(n_rows, c, y, sum);
    const int rc = cu_check("sum of rows");
    return rc < 0 ? rc : rows_unscale(d, (size_t)c, sum);
}

static nn_window turned(const nn_window *g)
{
    const nn_window back = {g->out, g->in,          g->k,       1, window_reach(*g) - g->pad,
                            1,      g->block_least, g->dilation};
    return back;
}

static bool can_turn(const nn_window *g)
{
    return g->stride == 1 && g->pad <= window_reach(*g);
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct cut {
    size_t row, all; /* of a row; pixels */
    size_t block, chunk;
    int parts;
};

static cut cut_of(const nn_window *g, int batch)
{
    cut c;
    c.row = row_values(*g);
    c.all = (size_t)batch * pixels_of(g->out);
    c.block = (size_t)conv_block_pixels((int)c.row, g->out.c, g->block_least);
    const size_t blocks = at_most(CHUNK_VALUES / c.row, CHUNK_PIXELS) / c.block;
    c.chunk = (blocks ? blocks : 1) * c.block;
    const size_t n_blocks = (at_most(c.chunk, c.all) + c.block - 1) / c.block;
    const size_t parts = at_most(at_most(CHUNK_VALUES / conv_weights(g), PARTS), n_blocks);
    c.parts = parts ? (int)parts : 1;
    return c;
}

/* Sizes in floats. */
struct low_scratch {
    float *weights, *dweights, *parts, *rows;
};

static size_t parts_size(const nn_window *g, int batch)
{
    return (size_t)cut_of(g, batch).parts * conv_weights(g);
}

static size_t rows_size(const nn_window *g, int batch)
{
    const cut c = cut_of(g, batch);
    return at_most(c.chunk, c.all) * c.row;
}

static size_t larger(size_t (*size)(const nn_window *, int), const nn_window *g, int batch)
{
    const size_t there = size(g, batch);
    if (!can_turn(g))
        return there;
    const nn_window back = turned(g);
    const size_t turned_size = size(&back, batch);
    return turned_size > there ? turned_size : there;
}

static low_scratch scratch_of(const nn_window *g, int batch, void *memory)
{
    low_scratch s;
    s.weights = (float *)memory;
    s.dweights = s.weights + conv_weights(g);
    s.parts = s.dweights + conv_weights(g);
    s.rows = s.parts + larger(parts_size, g, batch);
    return s;
}

int low_conv_plan(const struct nn_window *g, int max_batch, size_t *scratch_bytes)
{
    *scratch_bytes =
        (2 * conv_weights(g) + larger(parts_size, g, max_batch) + larger(rows_size, g, max_batch)) *
        sizeof(float);
    return 0;
}

static int make_rows(const nn_window *g, const float *x, size_t first, size_t n, float *rows,
                     cudaStream_t s)
{
    k_low_rows<<<cu_blocks(n * row_values(*g)), CU_THREADS, 0, s>>>(*g, x, first, n, rows);
    return cu_check("rows of a convolution");
}

int low_conv_forward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                     const float *w, const float *bias, float *y, void *scratch)
{
    const cudaStream_t s = cu_stream(d->s);
    const low_scratch memory = scratch_of(g, batch, scratch);
    const cut c = cut_of(g, batch);
    const int out = g->out.c, row = (int)c.row;
    int rc = spread(c.all, out, bias, y, s);
    for (size_t first = 0; rc == 0 && first < c.all; first += c.chunk) {
        const size_t n = at_most(c.chunk, c.all - first);
        rc = make_rows(g, x, first, n, memory.rows, s);
        if (rc == 0)
            rc = nn_gemm_low(&d->rule, false, true, (int)n, out, row, memory.rows, row, w, row,
                             bias != NULL, y + first * (size_t)out, out, d->s);
    }
    return rc;
}

static int backward_turned(struct dev_nn *d, const nn_window *g, int batch, const float *x,
                           const float *w, const float *dy, float *dx, bool add, float *dw,
                           const low_scratch &memory)
{
    const cudaStream_t s = cu_stream(d->s);
    const nn_window back = turned(g);
    const cut c = cut_of(&back, batch);
    const int in = g->in.c, row = (int)c.row;
    const unsigned weight_blocks = cu_blocks(conv_weights(g));
    k_low_turn<<<weight_blocks, CU_THREADS, 0, s>>>(*g, w, memory.weights);
    int rc = cu_check("weights of a convolution");
    for (size_t first = 0; rc == 0 && first < c.all; first += c.chunk) {
        const size_t n = at_most(c.chunk, c.all - first), at = first * (size_t)in;
        rc = make_rows(&back, dy, first, n, memory.rows, s);
        if (rc == 0)
            rc = nn_gemm_low(&d->rule, false, false, (int)n, in, row, memory.rows, row,
                             memory.weights, in, add, dx + at, in, d->s);
        if (rc == 0)
            rc = gemm_low_runs(&d->rule, in, row, (int)n, (int)c.block, x + at, memory.rows,
                               first != 0, memory.dweights, memory.parts, c.parts, s);
    }
    if (rc < 0)
        return rc;
    k_low_turn_back<<<weight_blocks, CU_THREADS, 0, s>>>(*g, memory.dweights, dw);
    return cu_check("weight gradient of a convolution");
}

static int add_back(const nn_window *g, const float *rows, size_t first, size_t n, float *dx,
                    cudaStream_t s)
{
    const size_t image0 = first / pixels_of(g->out), image1 = (first + n - 1) / pixels_of(g->out);
    const size_t image = conv_elements(g->in, 1), size = (image1 - image0 + 1) * image;
    k_low_back<<<cu_blocks(size), CU_THREADS, 0, s>>>(*g, rows, first, n, image0, size,
                                                      dx + image0 * image);
    return cu_check("data gradient of a convolution");
}

/* Works for any stride. dx may be NULL. */
static int backward_rows(struct dev_nn *d, const nn_window *g, int batch, const float *x,
                         const float *w, const float *dy, float *dx, bool add, float *dw,
                         const low_scratch &memory)
{
    const cudaStream_t s = cu_stream(d->s);
    const cut c = cut_of(g, batch);
    const int out = g->out.c, row = (int)c.row;
    int rc = 0;
    if (dx && !add)
        rc = cu_try(cudaMemsetAsync(dx, 0, conv_elements(g->in, batch) * sizeof *dx, s), "zeroing");
    for (size_t first = 0; rc == 0 && first < c.all; first += c.chunk) {
        const size_t n = at_most(c.chunk, c.all - first);
        const float *from = dy + first * (size_t)out;
        rc = make_rows(g, x, first, n, memory.rows, s);
        if (rc == 0)
            rc = gemm_low_runs(&d->rule, out, row, (int)n, (int)c.block, from, memory.rows,
                               first != 0, dw, memory.parts, c.parts, s);
        if (rc == 0 && dx)
            rc = nn_gemm_low(&d->rule, false, false, (int)n, row, out, from, out, w, row, false,
                             memory.rows, row, d->s);
        if (rc == 0 && dx)
            rc = add_back(g, memory.rows, first, n, dx, s);
    }
    return rc;
}

int low_conv_backward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                      const float *w, const float *dy, float *dx, bool add, float *dw, float *dbias,
                      void *scratch)
{
    const low_scratch memory = scratch_of(g, batch, scratch);
    const size_t n_rows = (size_t)batch * pixels_of(g->out);
    int rc = sum_rows(d, n_rows, g->out.c, dy, dbias);
    if (rc == 0)
        rc = dx && can_turn(g) ? backward_turned(d, g, batch, x, w, dy, dx, add, dw, memory)
                               : backward_rows(d, g, batch, x, w, dy, dx, add, dw, memory);
    return rc < 0 ? rc : rows_unscale(d, conv_weights(g), dw);
}

int low_linear_forward(struct dev_nn *d, int batch, int in, int out, const float *x, const float *w,
                       const float *bias, float *y)
{
    const int rc = spread((size_t)batch, out, bias, y, cu_stream(d->s));
    return rc < 0 ? rc
                  : nn_gemm_low(&d->rule, false, true, batch, out, in, x, in, w, in, bias != NULL,
                                y, out, d->s);
}

int low_linear_backward(struct dev_nn *d, int batch, int in, int out, const float *x,
                        const float *w, const float *dy, float *dx, float *dw, float *dbias)
{
    int rc =
        nn_gemm_low(&d->rule, true, false, out, in, batch, dy, out, x, in, false, dw, in, d->s);
    if (rc == 0)
        rc = rows_unscale(d, (size_t)in * (size_t)out, dw);
    if (rc == 0)
        rc = sum_rows(d, (size_t)batch, out, dy, dbias);
    if (rc == 0 && dx)
        rc = nn_gemm_low(&d->rule, false, false, batch, in, out, dy, out, w, in, false, dx, in,
                         d->s);
    return rc;
}
