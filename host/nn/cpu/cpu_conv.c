/* cpu_conv.c : convolves with im2row and GEMM in cache-sized blocks of pixels, or with winograd.h
 * where it fits. A row has the k*k*c values under an output pixel's window.
 *
 *   forward    y [pixels][out] = rows(x) [pixels][k*k*in] * w^T
 *   backward   dw = dy^T * rows(x)
 *              drows = dy * w, added back to the pixels of dx they came from (row2im)
 *
 * For stride 1, dx is a convolution of dy with rotated weights, and the same rows of dy give the
 * rotated dw: dx = rows(dy) * turned(w), turned(dw) = x^T * rows(dy). One im2row serves both
 * GEMMs, and nothing is added back.
 *
 * Blocks are small enough for OpenBLAS to multiply without packing (bench_train). */
#include <string.h>
#include "hls/nn/conv_block.h"
#include "nn/cpu/cpu_ops.h"
#include "nn/cpu/winograd.h"

static const struct winograd_kernels *by_winograd(const struct cpu *cpu, const struct nn_window *g)
{
    return winograd_fits(g) ? cpu->winograd : NULL;
}

static int row_values(int k, int c)
{
    return k * k * c;
}

/* Return the convolution that computes dx from dy, for stride 1. */
static struct nn_window turned(const struct nn_window *g)
{
    return (struct nn_window){.in = g->out,
                              .out = g->in,
                              .k = g->k,
                              .stride = 1,
                              .pad = window_reach(*g) - g->pad,
                              .dilation = g->dilation};
}

static bool can_turn(const struct nn_window *g)
{
    return g->stride == 1 && g->pad <= window_reach(*g);
}

struct scratch {
    real *rows, *weights, *dweights;
};

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct scratch scratch_of(const struct nn_window *g, void *memory)
{
    size_t n_weights = (size_t)row_values(g->k, g->in.c) * (size_t)g->out.c;
    struct scratch s = {.weights = memory};
    s.dweights = s.weights + n_weights;
    s.rows = s.dweights + n_weights;
    return s;
}

size_t cpu_conv_whole_scratch(const struct cpu *cpu, const struct nn_window *g)
{
    size_t longest = (size_t)row_values(g->k, g->in.c > g->out.c ? g->in.c : g->out.c);
    size_t n_weights = (size_t)row_values(g->k, g->in.c) * (size_t)g->out.c;
    size_t least = max_size(CONV_BLOCK_STEP, (size_t)g->block_least);
    size_t rows = (2 * n_weights + max_size(CONV_BLOCK_VALUES, longest * least)) * sizeof(real);
    return by_winograd(cpu, g) ? max_size(rows, winograd_scratch(g)) : rows;
}

struct place {
    int image, y, x;
};

static struct place place_of(const struct nn_window *g, size_t pixel)
{
    size_t wide = (size_t)g->out.w, image = wide * (size_t)g->out.h;
    return (struct place){(int)(pixel / image), (int)(pixel % image / wide), (int)(pixel % wide)};
}

/* n: at most the pixels left in the row. */
static inline void advance(const struct nn_window *g, struct place *p, int n)
{
    p->x += n;
    if (p->x < g->out.w)
        return;
    p->x = 0;
    if (++p->y < g->out.h)
        return;
    p->y = 0;
    p->image++;
}

/* A window: its first pixel, which may be outside the image, and the part inside. */
struct span {
    ptrdiff_t start; /* elements */
    int y0, y1, x0, x1;
};

static inline struct span span_of(const struct nn_window *g, struct place p)
{
    int y = p.y * g->stride - g->pad, x = p.x * g->stride - g->pad;
    return (struct span){
        .start = (((ptrdiff_t)p.image * g->in.h + y) * g->in.w + x) * g->in.c,
        .y0 = y < 0 ? -y : 0,
        .y1 = g->in.h - y < g->k ? g->in.h - y : g->k,
        .x0 = x < 0 ? -x : 0,
        .x1 = g->in.w - x < g->k ? g->in.w - x : g->k,
    };
}

/* Copies n runs of `size` reals. Runs are short, so loops are faster than a memcpy per run. */
static inline void copy_runs(int n, int size, real *restrict to, ptrdiff_t to_pitch,
                             const real *restrict from, ptrdiff_t from_pitch)
{
    int j = 0;
    for (; j + 16 <= size; j += 16)
        for (int i = 0; i < n; i++)
            for (int v = 0; v < 16; v++)
                to[i * to_pitch + j + v] = from[i * from_pitch + j + v];
    for (; j < size; j++)
        for (int i = 0; i < n; i++)
            to[i * to_pitch + j] = from[i * from_pitch + j];
}

static inline void edge_rows(const struct nn_window *g, const real *x, struct place p, int n,
                             real *rows)
{
    int c = g->in.c, line = g->k * c, pitch = g->in.w * c;
    for (int i = 0; i < n; i++, p.x++, rows += g->k * line) {
        struct span s = span_of(g, p);
        memset(rows, 0, (size_t)(g->k * line) * sizeof *rows);
        copy_runs(s.y1 - s.y0, (s.x1 - s.x0) * c, rows + s.y0 * line + s.x0 * c, line,
                  x + s.start + s.y0 * pitch + s.x0 * c, pitch);
    }
}

static inline void inner_rows(const struct nn_window *g, const real *x, struct place p, int n,
                              real *rows)
{
    int c = g->in.c, line = g->k * c, pitch = g->in.w * c;
    struct span s = span_of(g, p);
    if (s.y1 - s.y0 < g->k)
        memset(rows, 0, (size_t)n * (size_t)(g->k * line) * sizeof *rows);
    for (int ky = s.y0; ky < s.y1; ky++)
        copy_runs(n, line, rows + ky * line, g->k * line, x + s.start + ky * pitch, g->stride * c);
}

static inline ptrdiff_t tap_at(const struct nn_window *g, struct place p, int ky, int kx)
{
    const int y = p.y * g->stride - g->pad + ky * g->dilation,
              x = p.x * g->stride - g->pad + kx * g->dilation;
    if (y < 0 || y >= g->in.h || x < 0 || x >= g->in.w)
        return -1;
    return (((ptrdiff_t)p.image * g->in.h + y) * g->in.w + x) * g->in.c;
}

static void dilated_rows(const struct nn_window *g, const real *x, size_t first, int n, real *rows)
{
    const size_t bytes = (size_t)g->in.c * sizeof *rows;
    struct place p = place_of(g, first);
    for (int i = 0; i < n; i++, advance(g, &p, 1))
        for (int tap = 0; tap < g->k * g->k; tap++, rows += g->in.c) {
            const ptrdiff_t from = tap_at(g, p, tap / g->k, tap % g->k);
            if (from >= 0)
                memcpy(rows, x + from, bytes);
            else
                memset(rows, 0, bytes);
        }
}

CPU_HOT static void dilated_rows_add(const struct nn_window *g, const real *restrict rows,
                                     size_t first, int n, real *restrict dx)
{
    const int c = g->in.c;
    struct place p = place_of(g, first);
    for (int i = 0; i < n; i++, advance(g, &p, 1))
        for (int tap = 0; tap < g->k * g->k; tap++, rows += c) {
            const ptrdiff_t to = tap_at(g, p, tap / g->k, tap % g->k);
            for (int j = 0; to >= 0 && j < c; j++)
                dx[to + j] += rows[j];
        }
}

static inline int clamp(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

CPU_HOT static void im2row(const struct nn_window *g, const real *x, size_t first, int n,
                           real *rows)
{
    if (g->dilation > 1) {
        dilated_rows(g, x, first, n, rows);
        return;
    }
    int row = g->k * g->k * g->in.c;
    /* columns [left, right) have whole windows */
    int left = (g->pad + g->stride - 1) / g->stride,
        right = (g->in.w + g->pad - g->k + g->stride) / g->stride;
    struct place p = place_of(g, first);
    for (int run; n > 0; n -= run, advance(g, &p, run)) {
        run = n < g->out.w - p.x ? n : g->out.w - p.x;
        int a = clamp(left - p.x, 0, run), b = clamp(right - p.x, a, run);
        struct place inner = p, after = p;
        inner.x += a, after.x += b;
        edge_rows(g, x, p, a, rows);
        inner_rows(g, x, inner, b - a, rows + (ptrdiff_t)a * row);
        edge_rows(g, x, after, run - b, rows + (ptrdiff_t)b * row);
        rows += (ptrdiff_t)run * row;
    }
}

CPU_HOT static void row2im_add(const struct nn_window *g, const real *restrict rows, size_t first,
                               int n, real *restrict dx)
{
    if (g->dilation > 1) {
        dilated_rows_add(g, rows, first, n, dx);
        return;
    }
    int c = g->in.c, line = g->k * c, pitch = g->in.w * c;
    struct place p = place_of(g, first);
    for (int i = 0; i < n; i++, advance(g, &p, 1), rows += g->k * line) {
        struct span s = span_of(g, p);
        for (int ky = s.y0; ky < s.y1; ky++)
            for (int j = s.x0 * c; j < s.x1 * c; j++)
                dx[s.start + ky * pitch + j] += rows[ky * line + j];
    }
}

/* Return the rows of n output pixels: of a 1x1 window they are x itself, else they are written to
 * `rows`. */
static const real *rows_of(const struct nn_window *g, const real *x, size_t first, int n,
                           real *rows)
{
    if (g->k == 1 && g->stride == 1 && g->pad == 0)
        return x + first * (size_t)g->in.c;
    im2row(g, x, first, n, rows);
    return rows;
}

/* Write `to` in order; the few source lines stay cached. */
static void transpose(int rows, int columns, const real *from, real *to)
{
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < rows; r++)
            *to++ = from[(ptrdiff_t)r * columns + c];
}

/* to [k*k turned][out][in] = w [out][k*k][in] */
static void turn_weights(const struct nn_window *g, const real *w, real *to)
{
    ptrdiff_t in = g->in.c, out = g->out.c, kk = g->k * g->k;
    for (ptrdiff_t pixel = kk - 1; pixel >= 0; pixel--)
        for (ptrdiff_t o = 0; o < out; o++, to += in)
            memcpy(to, w + (o * kk + pixel) * in, (size_t)in * sizeof *to);
}

/* dw [out][k*k][in] = turned [in][k*k turned][out] */
static void turn_back(const struct nn_window *g, const real *turned_dw, real *dw)
{
    ptrdiff_t in = g->in.c, out = g->out.c, kk = g->k * g->k;
    for (ptrdiff_t pixel = 0; pixel < kk; pixel++)
        for (ptrdiff_t o = 0; o < out; o++)
            for (ptrdiff_t i = 0; i < in; i++)
                dw[(o * kk + pixel) * in + i] = turned_dw[(i * kk + kk - 1 - pixel) * out + o];
}

void cpu_conv_whole_forward(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *w, const real *bias, real *y, void *scratch)
{
    const struct winograd_kernels *by = by_winograd(ctx, g);
    if (by) {
        winograd_forward(by, g, batch, x, w, bias, y, scratch);
        return;
    }
    struct scratch s = scratch_of(g, scratch);
    int row = row_values(g->k, g->in.c), out = g->out.c,
        block = conv_block_pixels(row, out, g->block_least);
    size_t all = batch_pixels(g->out, batch);
    transpose(out, row, w, s.weights);
    for (size_t first = 0; first < all; first += (size_t)block) {
        int n = all - first < (size_t)block ? (int)(all - first) : block;
        real *to = y + first * (size_t)out;
        const real *rows = rows_of(g, x, first, n, s.rows);
        for (int i = 0; bias && i < n; i++)
            memcpy(to + (size_t)i * (size_t)out, bias, (size_t)out * sizeof *to);
        cpu_gemm(ctx, false, false, n, out, row, rows, row, s.weights, out, bias ? 1 : 0, to, out);
    }
}

static void backward_turned(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *w, const real *dy, real *dx, bool add, real *dw,
                            struct scratch s)
{
    struct nn_window back = turned(g);
    int in = g->in.c, row = row_values(g->k, g->out.c),
        block = conv_block_pixels(row, in, g->block_least);
    size_t all = batch_pixels(g->in, batch);
    turn_weights(g, w, s.weights);
    for (size_t first = 0; first < all; first += (size_t)block) {
        int n = all - first < (size_t)block ? (int)(all - first) : block;
        size_t at = first * (size_t)in;
        const real *rows = rows_of(&back, dy, first, n, s.rows);
        cpu_gemm(ctx, false, false, n, in, row, rows, row, s.weights, in, add ? 1 : 0, dx + at, in);
        cpu_gemm(ctx, true, false, in, row, n, x + at, in, rows, row, first ? 1 : 0, s.dweights,
                 row);
    }
    turn_back(g, s.dweights, dw);
}

static void backward_rows(void *ctx, const struct nn_window *g, int batch, const real *x,
                          const real *w, const real *dy, real *dx, bool add, real *dw,
                          struct scratch s)
{
    int row = row_values(g->k, g->in.c), out = g->out.c,
        block = conv_block_pixels(row, out, g->block_least);
    size_t all = batch_pixels(g->out, batch);
    if (dx && !add)
        memset(dx, 0, batch_elements(g->in, batch) * sizeof *dx);
    for (size_t first = 0; first < all; first += (size_t)block) {
        int n = all - first < (size_t)block ? (int)(all - first) : block;
        const real *from = dy + first * (size_t)out;
        const real *rows = rows_of(g, x, first, n, s.rows);
        cpu_gemm(ctx, true, false, out, row, n, from, out, rows, row, first ? 1 : 0, dw, row);
        if (!dx)
            continue;
        cpu_gemm(ctx, false, false, n, row, out, from, out, w, row, 0, s.rows, row);
        row2im_add(g, s.rows, first, n, dx);
    }
}

void cpu_conv_whole_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                             const real *w, const real *dy, real *dx, bool add, real *dw,
                             real *dbias, void *scratch)
{
    if (dbias)
        cpu_sum_rows(batch_pixels(g->out, batch), g->out.c, dy, dbias);
    const struct winograd_kernels *by = by_winograd(ctx, g);
    if (dx && by) {
        winograd_backward(by, g, batch, x, w, dy, dx, add, dw, scratch);
        return;
    }
    if (dx && can_turn(g))
        backward_turned(ctx, g, batch, x, w, dy, dx, add, dw, scratch_of(g, scratch));
    else
        backward_rows(ctx, g, batch, x, w, dy, dx, add, dw, scratch_of(g, scratch));
}
