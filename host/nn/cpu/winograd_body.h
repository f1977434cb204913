/* winograd_body.h : implements winograd_kernels.h for a vector type, which the including file
 * defines (LANES, vec, vec_load and so on). Lanes are channels, so each sum stays in one lane. */
#ifndef WINOGRAD_BODY_H
#define WINOGRAD_BODY_H
#include "nn/cpu/winograd_kernels.h"

/* Registers cannot be indexed, so loops over them must be unrolled. */
#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 24")
#endif
#define INLINE static inline __attribute__((always_inline))

enum { LINE = 64 / sizeof(float) }; /* floats in a cache line */

struct place {
    size_t image;
    int row, column;
};

INLINE struct place first_place(const struct winograd_tiles *t)
{
    const size_t wide = ((size_t)t->image.w + 1) / 2, all = wide * (((size_t)t->image.h + 1) / 2);
    return (struct place){t->first / all, (int)(t->first % all / wide) * 2,
                          (int)(t->first % all % wide) * 2};
}

INLINE void next_place(const struct winograd_tiles *t, struct place *p)
{
    if ((p->column += 2) < t->image.w)
        return;
    p->column = 0;
    if ((p->row += 2) < t->image.h)
        return;
    p->row = 0;
    p->image++;
}

/* The pixel may be outside its image. */
INLINE ptrdiff_t offset_of(const struct winograd_tiles *t, const struct place *p, int row,
                           int column)
{
    return (((ptrdiff_t)p->image * t->image.h + row) * t->image.w + column) * t->image.c;
}

/* Return a mask of n x n pixels: bit i is set if the i-th is inside the image. */
INLINE unsigned inside_of(const struct winograd_tiles *t, int row, int column, int n)
{
    unsigned bits = 0;
    if (row >= 0 && column >= 0 && row + n <= t->image.h && column + n <= t->image.w)
        return (1u << n * n) - 1;
    for (int i = 0; i < n * n; i++) {
        const int y = row + i / n, x = column + i % n;
        bits |= (unsigned)(y >= 0 && y < t->image.h && x >= 0 && x < t->image.w) << i;
    }
    return bits;
}

INLINE vec load_inside(unsigned inside, int i, const float *x)
{
    return inside >> i & 1 ? vec_load(x) : vec_set(0);
}

/* to [4] = B' from [4] */
INLINE void spread_line(const vec *from, vec *to)
{
    to[0] = vec_sub(from[0], from[2]);
    to[1] = vec_add(from[1], from[2]);
    to[2] = vec_sub(from[2], from[1]);
    to[3] = vec_sub(from[1], from[3]);
}

/* inside: mask of the pixels to load. If the whole tile is inside, the caller passes the
 * compile-time constant ALL, so that the compiler drops the tests. */
INLINE void spread_tile(const struct winograd_tiles *t, unsigned inside, const float *x, float *v)
{
    const int c = t->image.c;
    const ptrdiff_t line = (ptrdiff_t)c * t->image.w;
    for (int j = 0; j < c; j += LANES) {
        vec by_column[4][4], to[4];
        UNROLLED for (int q = 0; q < 4; q++)
        {
            vec pixel[4];
            UNROLLED for (int r = 0; r < 4; r++) pixel[r] =
                load_inside(inside, r * 4 + q, x + r * line + q * c + j);
            spread_line(pixel, to);
            UNROLLED for (int r = 0; r < 4; r++) by_column[r][q] = to[r];
        }
        UNROLLED for (size_t r = 0; r < 4; r++)
        {
            spread_line(by_column[r], to);
            UNROLLED for (size_t q = 0; q < 4; q++)
                vec_store(v + (r * 4 + q) * t->pitch + j, to[q]);
        }
    }
}

/* Prefetch the pixels that only the tile below reads: two in each of two lines. They stay cached
 * until that tile's turn, a line of tiles later. */
INLINE void fetch_below(const struct winograd_tiles *t, const float *below)
{
    const ptrdiff_t line = (ptrdiff_t)t->image.c * t->image.w;
    for (int j = 0; j < 2 * t->image.c; j += LINE) {
        __builtin_prefetch(below + j);
        __builtin_prefetch(below + line + j);
    }
}

static void spread(const struct winograd_tiles *t, const float *x, float *v)
{
    enum { ALL = 0xffff };
    const ptrdiff_t below = 4 * (ptrdiff_t)t->image.c * t->image.w + t->image.c;
    struct place p = first_place(t);
    for (int i = 0; i < t->n; i++, next_place(t, &p), v += t->image.c) {
        const unsigned inside = inside_of(t, p.row - 1, p.column - 1, 4);
        const float *from = x + offset_of(t, &p, p.row - 1, p.column - 1);
        fetch_below(t, from + below);
        if (inside == ALL)
            spread_tile(t, ALL, from, v);
        else
            spread_tile(t, inside, from, v);
    }
}

/* Transforms a row [a b] of a 2x2 filter (for dw) to 4 points. weight_line() applies the factor 1/2
 * of the middle two. */
INLINE void own_line(vec a, vec b, vec *to)
{
    to[0] = a;
    to[1] = vec_add(a, b);
    to[2] = vec_sub(a, b);
    to[3] = vec_sub(vec_set(0), b);
}

static void spread_own(const struct winograd_tiles *t, const float *x, float *d)
{
    const int c = t->image.c;
    const ptrdiff_t line = (ptrdiff_t)c * t->image.w;
    struct place p = first_place(t);
    for (int i = 0; i < t->n; i++, next_place(t, &p), d += c) {
        const unsigned inside = inside_of(t, p.row, p.column, 2);
        const float *from = x + offset_of(t, &p, p.row, p.column);
        fetch_below(t, from + 2 * line);
        for (int j = 0; j < c; j += LANES, from += LANES) {
            vec left[4], right[4], to[4];
            own_line(load_inside(inside, 0, from), load_inside(inside, 2, from + line), left);
            own_line(load_inside(inside, 1, from + c), load_inside(inside, 3, from + line + c),
                     right);
            UNROLLED for (size_t r = 0; r < 4; r++)
            {
                own_line(left[r], right[r], to);
                UNROLLED for (size_t q = 0; q < 4; q++)
                    vec_store(d + (r * 4 + q) * t->pitch + j, to[q]);
            }
        }
    }
}

/* to [2] = A' from [4] */
INLINE void gather_line(const vec *from, vec *to)
{
    to[0] = vec_add(vec_add(from[0], from[1]), from[2]);
    to[1] = vec_sub(vec_sub(from[1], from[2]), from[3]);
}

INLINE void gather_vec(const struct winograd_tiles *t, const float *m, vec y[4])
{
    vec by_column[2][4], to[2];
    UNROLLED for (size_t q = 0; q < 4; q++)
    {
        vec point[4];
        UNROLLED for (size_t r = 0; r < 4; r++) point[r] = vec_load(m + (r * 4 + q) * t->pitch);
        gather_line(point, to);
        by_column[0][q] = to[0];
        by_column[1][q] = to[1];
    }
    gather_line(by_column[0], y);
    gather_line(by_column[1], y + 2);
}

static void gather(const struct winograd_tiles *t, const float *m, const float *bias, bool add,
                   float *y)
{
    const int c = t->image.c;
    struct place p = first_place(t);
    for (int i = 0; i < t->n; i++, next_place(t, &p), m += c) {
        const unsigned inside = inside_of(t, p.row, p.column, 2);
        float *first = y + offset_of(t, &p, p.row, p.column);
        fetch_below(t, first + 2 * (ptrdiff_t)c * t->image.w);
        for (int j = 0; j < c; j += LANES) {
            vec tile[4];
            gather_vec(t, m + j, tile);
            UNROLLED for (int k = 0; k < 4; k++)
            {
                float *to = first + ((ptrdiff_t)(k / 2) * t->image.w + k % 2) * c + j;
                if (!(inside >> k & 1))
                    continue;
                if (bias)
                    tile[k] = vec_add(tile[k], vec_load(bias + j));
                vec_store(to, add ? vec_add(vec_load(to), tile[k]) : tile[k]);
            }
        }
    }
}

/* to [4] = G from [3] */
INLINE void filter_line(const vec *from, vec *to)
{
    const vec half = vec_set(0.5f), outer = vec_add(from[0], from[2]);
    to[0] = from[0];
    to[1] = vec_mul(half, vec_add(outer, from[1]));
    to[2] = vec_mul(half, vec_sub(outer, from[1]));
    to[3] = from[2];
}

/* Write filters' 16 points, `point` apart. */
INLINE void filter_vec(vec tap[9], size_t point, float *u)
{
    vec by_column[4][3], to[4];
    UNROLLED for (int q = 0; q < 3; q++)
    {
        const vec column[3] = {tap[q], tap[3 + q], tap[6 + q]};
        filter_line(column, to);
        UNROLLED for (int r = 0; r < 4; r++) by_column[r][q] = to[r];
    }
    UNROLLED for (size_t r = 0; r < 4; r++)
    {
        filter_line(by_column[r], to);
        UNROLLED for (size_t q = 0; q < 4; q++) vec_store(u + (r * 4 + q) * point, to[q]);
    }
}

static float *in_panel(int k, int n, float *u, int row, int j)
{
    int first = 0, wide = PANEL(n);
    while (j - first >= wide) {
        first += wide;
        wide = PANEL(n - first);
    }
    return u + (ptrdiff_t)first * k + (ptrdiff_t)row * wide + (j - first);
}

/* Lanes are input channels, contiguous in w. */
static void filters_turned(int in, int out, const float *w, float *u)
{
    for (int j = 0; j < in; j += LANES)
        for (int o = 0; o < out; o++) {
            const float *from = w + (ptrdiff_t)o * 9 * in + j;
            vec tap[9];
            UNROLLED for (int i = 0; i < 9; i++) tap[i] = vec_load(from + (8 - i) * in);
            filter_vec(tap, (size_t)in * (size_t)out, in_panel(out, in, u, o, j));
        }
}

/* Lanes are filters, not contiguous in w, so blocks of LANES x LANES are transposed first. */
static void filters_straight(int in, int out, const float *w, float *u)
{
    float block[LANES][9][LANES]; /* input, tap, filter */
    for (int j = 0; j < out; j += LANES)
        for (int i = 0; i < in; i += LANES) {
            for (int o = 0; o < LANES; o++)
                for (int k = 0; k < 9; k++)
                    for (int c = 0; c < LANES; c++)
                        block[c][k][o] = w[((ptrdiff_t)(j + o) * 9 + k) * in + i + c];
            for (int c = 0; c < LANES; c++) {
                vec tap[9];
                UNROLLED for (int k = 0; k < 9; k++) tap[k] = vec_load(block[c][k]);
                filter_vec(tap, (size_t)in * (size_t)out, in_panel(in, out, u, i + c, j));
            }
        }
}

static void filters(int in, int out, const float *w, bool turned, float *u)
{
    if (turned)
        filters_turned(in, out, w, u);
    else
        filters_straight(in, out, w, u);
}

/* to [3] = from [4] transformed back by F(3, 2), with the factor 1/2 that own_line() leaves out */
INLINE void weight_line(const vec *from, vec *to)
{
    const vec half = vec_set(0.5f), b = vec_mul(half, from[1]), c = vec_mul(half, from[2]),
              both = vec_add(b, c);
    to[0] = vec_add(from[0], both);
    to[1] = vec_sub(b, c);
    to[2] = vec_add(both, from[3]);
}

INLINE void weight_vec(const float *sums, size_t point, vec tap[9])
{
    vec by_column[3][4], to[3];
    UNROLLED for (size_t q = 0; q < 4; q++)
    {
        vec from[4];
        UNROLLED for (size_t r = 0; r < 4; r++) from[r] = vec_load(sums + (r * 4 + q) * point);
        weight_line(from, to);
        UNROLLED for (size_t r = 0; r < 3; r++) by_column[r][q] = to[r];
    }
    UNROLLED for (size_t r = 0; r < 3; r++) weight_line(by_column[r], tap + r * 3);
}

static void weights(int in, int out, const float *sums, float *dw)
{
    float block[9][LANES][LANES]; /* tap, input, filter */
    for (int j = 0; j < out; j += LANES)
        for (int i = 0; i < in; i += LANES) {
            for (int c = 0; c < LANES; c++) {
                vec tap[9];
                weight_vec(sums + (ptrdiff_t)(i + c) * out + j, (size_t)in * (size_t)out, tap);
                UNROLLED for (int k = 0; k < 9; k++) vec_store(block[8 - k][c], tap[k]);
            }
            for (int o = 0; o < LANES; o++)
                for (int k = 0; k < 9; k++)
                    for (int c = 0; c < LANES; c++)
                        dw[((ptrdiff_t)(j + o) * 9 + k) * in + i + c] = block[k][c][o];
        }
}

/* PRODUCT defines `name`: o [rows][pitch] = a [rows][k] * u [k][columns vectors], with the sums in
 * registers. PRODUCT_ADD: o [rows] += a' b for a [n][a_pitch] and b [n][pitch]. */
#define PRODUCT(name, rows, columns)                                                           \
    INLINE void name(int k, int pitch, const float *a, const float *u, float *o)               \
    {                                                                                          \
        vec sum[rows][columns], of[columns];                                                   \
        UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int c = 0; c < columns; c++)     \
            sum[r][c] = vec_set(0);                                                            \
        for (int i = 0; i < k; i++, u += columns * LANES) {                                    \
            UNROLLED for (int c = 0; c < columns; c++) of[c] = vec_load(u + c * LANES);        \
            UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int c = 0; c < columns; c++) \
                sum[r][c] = vec_fma(vec_set(a[(ptrdiff_t)r * k + i]), of[c], sum[r][c]);       \
        }                                                                                      \
        UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int c = 0; c < columns; c++)     \
            vec_store(o + (ptrdiff_t)r * pitch + c * LANES, sum[r][c]);                        \
    }
#define PRODUCT_ADD(name, rows, columns)                                                       \
    INLINE void name(int n, int a_pitch, int pitch, const float *a, const float *b, float *o)  \
    {                                                                                          \
        vec sum[rows][columns], of[columns];                                                   \
        UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int c = 0; c < columns; c++)     \
            sum[r][c] = vec_set(0);                                                            \
        for (int i = 0; i < n; i++, a += a_pitch, b += pitch) {                                \
            UNROLLED for (int c = 0; c < columns; c++) of[c] = vec_load(b + c * LANES);        \
            UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int c = 0; c < columns; c++) \
                sum[r][c] = vec_fma(vec_set(a[r]), of[c], sum[r][c]);                          \
        }                                                                                      \
        UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int c = 0; c < columns; c++)     \
            vec_store(o + (ptrdiff_t)r * pitch + c * LANES,                                    \
                      vec_add(vec_load(o + (ptrdiff_t)r * pitch + c * LANES), sum[r][c]));     \
    }

/* for the end of the including file */
#define WINOGRAD_KERNELS(isa)                        \
    const struct winograd_kernels winograd_##isa = { \
        .name = #isa,                                \
        .spread = spread,                            \
        .spread_own = spread_own,                    \
        .gather = gather,                            \
        .filters = filters,                          \
        .weights = weights,                          \
        .multiply = multiply,                        \
        .multiply_add = multiply_add,                \
    };
#endif
