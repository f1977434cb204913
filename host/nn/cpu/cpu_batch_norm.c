/* cpu_batch_norm.c : normalises batches, fused with the addition and ReLU that follow. Loops run
 * over lines of m pixels (w = c * m values) with each channel's factors repeated m times, so they
 * vectorise for any c. Sums have type real within a tile of lines, and double across tiles. A
 * tile's variance is taken about its own mean, and tiles are merged (Chan, Golub, LeVeque 1983), so
 * digits do not cancel and memory is read once. */
#include <math.h>
#include <string.h>
#include "nn/cpu/cpu_ops.h"

enum { LANES_MIN = 128, TILE_LINES = 32, COLUMNS = 32 };

static int lanes_of(int c)
{
    return c >= LANES_MIN ? c : (LANES_MIN + c - 1) / c * c;
}

/* scratch: doubles per channel, reals per lane */
enum { N_DOUBLES = 4, N_LANES = 7 };
struct scratch_norm {
    double *d[N_DOUBLES];
    real *lane[N_LANES];
    int w;
};

static struct scratch_norm scratch_of_norm(int c, void *memory)
{
    struct scratch_norm s = {.w = lanes_of(c)};
    double *d = memory;
    for (int i = 0; i < N_DOUBLES; i++, d += c)
        s.d[i] = d;
    real *r = (real *)(void *)d;
    for (int i = 0; i < N_LANES; i++, r += s.w)
        s.lane[i] = r;
    return s;
}

int cpu_batch_norm_plan(void *ctx, int c, size_t *scratch_bytes)
{
    (void)ctx;
    *scratch_bytes =
        (size_t)c * N_DOUBLES * sizeof(double) + (size_t)lanes_of(c) * N_LANES * sizeof(real);
    return 0;
}

struct tile {
    size_t at;
    int lines, w;
};

static struct tile tile_at(size_t at, size_t n, int w)
{
    size_t lines = (n - at) / (size_t)w;
    if (lines == 0)
        return (struct tile){at, 1, (int)(n - at)};
    return (struct tile){at, lines < TILE_LINES ? (int)lines : TILE_LINES, w};
}

static size_t tile_end(struct tile t)
{
    return t.at + (size_t)t.lines * (size_t)t.w;
}

static void spread(int c, int w, const double *value, real *lane)
{
    for (int j = 0; j < w; j += c)
        for (int i = 0; i < c; i++)
            lane[j + i] = (real)value[i];
}

static void fold(int c, int w, const real *lane, double *sum)
{
    for (int j = 0; j < w; j += c)
        for (int i = 0; i < c; i++)
            sum[i] += (double)lane[j + i];
}

CPU_HOT static void tile_sum(struct tile t, const real *restrict x, real *restrict acc)
{
    x += t.at;
    memset(acc, 0, (size_t)t.w * sizeof *acc);
    for (int l = 0; l < t.lines; l++, x += t.w)
        for (int j = 0; j < t.w; j++)
            acc[j] += x[j];
}

CPU_HOT static void tile_squares(struct tile t, const real *restrict x, const real *restrict mean,
                                 real *restrict acc)
{
    x += t.at;
    memset(acc, 0, (size_t)t.w * sizeof *acc);
    for (int l = 0; l < t.lines; l++, x += t.w)
        for (int j = 0; j < t.w; j++) {
            real d = x[j] - mean[j];
            acc[j] += d * d;
        }
}

/* Sums the first w columns of x. */
CPU_HOT static void sum_columns(size_t n, int c, int w, const real *x, real *sum)
{
    double s[COLUMNS] = {0};
    for (size_t r = 0; r < n; r++, x += c)
        for (int i = 0; i < w; i++)
            s[i] += (double)x[i];
    for (int i = 0; i < w; i++)
        sum[i] = (real)s[i];
}

void cpu_sum_rows(size_t n, int c, const real *x, real *sum)
{
    for (int i = 0; i < c; i += COLUMNS)
        sum_columns(n, c, c - i < COLUMNS ? c - i : COLUMNS, x + i, sum + i);
}

/* var: biased. */
static void moments(size_t n, int c, const real *x, double *mean, double *var,
                    struct scratch_norm *s)
{
    double *tile_mean = s->d[2], *tile_var = s->d[3];
    double seen = 0;
    memset(mean, 0, (size_t)c * sizeof *mean);
    memset(var, 0, (size_t)c * sizeof *var);
    for (struct tile t = {0}; t.at < n * (size_t)c; t.at = tile_end(t)) {
        t = tile_at(t.at, n * (size_t)c, s->w);
        double count = (double)t.lines * t.w / c;
        memset(tile_mean, 0, (size_t)c * sizeof *mean);
        memset(tile_var, 0, (size_t)c * sizeof *var);
        tile_sum(t, x, s->lane[0]);
        fold(c, t.w, s->lane[0], tile_mean);
        for (int i = 0; i < c; i++)
            tile_mean[i] /= count;
        spread(c, t.w, tile_mean, s->lane[1]);
        tile_squares(t, x, s->lane[1], s->lane[0]);
        fold(c, t.w, s->lane[0], tile_var);
        for (int i = 0; i < c; i++) {
            double d = tile_mean[i] - mean[i], rounded = tile_mean[i] - (double)(real)tile_mean[i];
            var[i] +=
                tile_var[i] - count * rounded * rounded + d * d * seen * count / (seen + count);
            mean[i] += d * count / (seen + count);
        }
        seen += count;
    }
    for (int i = 0; i < c; i++)
        var[i] = var[i] > 0 ? var[i] / (double)n : 0;
}

struct lanes {
    const real *restrict mean, *restrict scale, *restrict shift;
    const real *restrict outer; /* gamma if swapped, since `scale` then lacks it */
};

/* y = relu((x - mean) * scale + shift + addend) */
CPU_HOT static void tile_apply(struct tile t, const struct lanes *f, bool relu,
                               const real *restrict x, const real *restrict addend,
                               real *restrict y)
{
    const real *restrict mean = f->mean, *restrict scale = f->scale, *restrict shift = f->shift;
    real floor = relu ? 0 : (real)-INFINITY;
    x += t.at, y += t.at;
    if (addend)
        addend += t.at;
    for (int l = 0; l < t.lines; l++, x += t.w, y += t.w) {
        if (addend) {
            for (int j = 0; j < t.w; j++) {
                real v = (x[j] - mean[j]) * scale[j] + shift[j] + addend[j];
                y[j] = v < floor ? floor : v;
            }
            addend += t.w;
        } else {
            for (int j = 0; j < t.w; j++) {
                real v = (x[j] - mean[j]) * scale[j] + shift[j];
                y[j] = v < floor ? floor : v;
            }
        }
    }
}

/* y = relu((addend + (x - mean) * scale) * outer + shift) */
CPU_HOT static void tile_apply_swapped(struct tile t, const struct lanes *f, bool relu,
                                       const real *restrict x, const real *restrict addend,
                                       real *restrict y)
{
    const real *restrict mean = f->mean, *restrict scale = f->scale, *restrict shift = f->shift,
                         *restrict outer = f->outer;
    real floor = relu ? 0 : (real)-INFINITY;
    x += t.at, y += t.at, addend += t.at;
    for (int l = 0; l < t.lines; l++, x += t.w, y += t.w, addend += t.w)
        for (int j = 0; j < t.w; j++) {
            real v = (addend[j] + (x[j] - mean[j]) * scale[j]) * outer[j] + shift[j];
            y[j] = v < floor ? floor : v;
        }
}

/* Fills s->lane[0] to [2] with mean, scale and shift, and s->lane[5] with gamma. */
static struct lanes lanes_of_norm(const struct nn_batch_norm *f, const real *mean,
                                  const real *inv_std, struct scratch_norm *s)
{
    for (int j = 0; j < s->w; j += f->c)
        for (int i = 0; i < f->c; i++) {
            s->lane[0][j + i] = mean[i];
            s->lane[1][j + i] = (f->swapped ? 1 : f->gamma[i]) * inv_std[i] * f->factor;
            s->lane[2][j + i] = f->swapped ? f->beta[i] : f->beta[i] * f->factor;
            s->lane[5][j + i] = f->gamma[i];
        }
    return (struct lanes){s->lane[0], s->lane[1], s->lane[2], s->lane[5]};
}

static void apply(const struct nn_batch_norm *f, size_t n, const real *mean, const real *inv_std,
                  const real *x, const real *addend, real *y, struct scratch_norm *s)
{
    struct lanes lanes = lanes_of_norm(f, mean, inv_std, s);
    size_t end = n * (size_t)f->c;
    for (struct tile t = {0}; t.at < end; t.at = tile_end(t)) {
        t = tile_at(t.at, end, s->w);
        (f->swapped ? tile_apply_swapped : tile_apply)(t, &lanes, f->relu, x, addend, y);
    }
}

void cpu_batch_norm_forward(void *ctx, const struct nn_batch_norm *f, size_t n, const real *x,
                            const real *addend, real *y, void *scratch)
{
    (void)ctx;
    struct scratch_norm s = scratch_of_norm(f->c, scratch);
    double *mean = s.d[0], *var = s.d[1], unbiased = n > 1 ? (double)n / (double)(n - 1) : 1;
    moments(n, f->c, x, mean, var, &s);
    for (int i = 0; i < f->c; i++) {
        f->mean[i] = (real)mean[i];
        f->inv_std[i] = (real)(1 / sqrt(var[i] + f->eps));
        f->run_mean[i] += (real)(f->momentum * (mean[i] - (double)f->run_mean[i]));
        f->run_var[i] += (real)(f->momentum * (var[i] * unbiased - (double)f->run_var[i]));
    }
    apply(f, n, f->mean, f->inv_std, x, addend, y, &s);
}

void cpu_batch_norm_eval(void *ctx, const struct nn_batch_norm *f, size_t n, const real *x,
                         const real *addend, real *y, void *scratch)
{
    (void)ctx;
    struct scratch_norm s = scratch_of_norm(f->c, scratch);
    for (int i = 0; i < f->c; i++)
        f->inv_std[i] = (real)(1 / sqrt((double)f->run_var[i] + f->eps));
    apply(f, n, f->run_mean, f->inv_std, x, addend, y, &s);
}

CPU_HOT static void tile_mask(struct tile t, const real *restrict y, real *restrict dy)
{
    y += t.at, dy += t.at;
    for (int j = 0; j < t.lines * t.w; j++)
        dy[j] = y[j] > 0 ? dy[j] : 0;
}

/* Return dy if the ReLU passed tile_apply's sum, else 0. d: x - mean. */
static inline real passed(real d, real scale, real shift, real dy)
{
    return d * scale + shift > 0 ? dy : 0;
}

CPU_HOT static void tile_sums(struct tile t, const struct lanes *f, bool relu,
                              const real *restrict x, const real *restrict dy, real *restrict sum,
                              real *restrict dot)
{
    const real *restrict mean = f->mean, *restrict scale = f->scale, *restrict shift = f->shift;
    x += t.at, dy += t.at;
    memset(sum, 0, (size_t)t.w * sizeof *sum);
    memset(dot, 0, (size_t)t.w * sizeof *dot);
    for (int l = 0; l < t.lines; l++, x += t.w, dy += t.w)
        if (relu)
            for (int j = 0; j < t.w; j++) {
                real d = x[j] - mean[j], g = passed(d, scale[j], shift[j], dy[j]);
                sum[j] += g;
                dot[j] += g * d;
            }
        else
            for (int j = 0; j < t.w; j++) {
                sum[j] += dy[j];
                dot[j] += dy[j] * (x[j] - mean[j]);
            }
}

/* Let g be dy where the ReLU passed, else 0. Set dy to gamma * g, the addend's gradient. Sum g, g *
 * (x - mean), and g times the value that gamma multiplies, into sum, dot and mix [w]. */
CPU_HOT static void tile_sums_swapped(struct tile t, const struct lanes *f, bool relu,
                                      const real *restrict x, const real *restrict addend,
                                      real *restrict dy, real *restrict sum, real *restrict dot,
                                      real *restrict mix)
{
    const real *restrict mean = f->mean, *restrict scale = f->scale, *restrict shift = f->shift,
                         *restrict outer = f->outer;
    x += t.at, addend += t.at, dy += t.at;
    memset(sum, 0, (size_t)t.w * sizeof *sum);
    memset(dot, 0, (size_t)t.w * sizeof *dot);
    memset(mix, 0, (size_t)t.w * sizeof *mix);
    for (int l = 0; l < t.lines; l++, x += t.w, addend += t.w, dy += t.w)
        for (int j = 0; j < t.w; j++) {
            real d = x[j] - mean[j], inner = addend[j] + d * scale[j];
            real g = !relu || inner * outer[j] + shift[j] > 0 ? dy[j] : 0;
            sum[j] += g;
            dot[j] += g * d;
            mix[j] += g * inner;
            dy[j] = outer[j] * g;
        }
}

/* dx = scale * (dx where the ReLU passed - level - (x - mean) * slope), in place because compilers
 * do not vectorise loops over pointers that may be equal. */
CPU_HOT static void tile_dx(struct tile t, const struct lanes *f, const real *restrict level,
                            const real *restrict slope, bool relu, const real *restrict x,
                            real *restrict dx)
{
    const real *restrict mean = f->mean, *restrict scale = f->scale, *restrict shift = f->shift;
    x += t.at, dx += t.at;
    for (int l = 0; l < t.lines; l++, x += t.w, dx += t.w)
        if (relu)
            for (int j = 0; j < t.w; j++) {
                real d = x[j] - mean[j];
                dx[j] = scale[j] * (passed(d, scale[j], shift[j], dx[j]) - level[j] - d * slope[j]);
            }
        else
            for (int j = 0; j < t.w; j++)
                dx[j] = scale[j] * (dx[j] - level[j] - (x[j] - mean[j]) * slope[j]);
}

void cpu_batch_norm_backward(void *ctx, const struct nn_batch_norm *f, size_t n, const real *x,
                             const real *addend, const real *y, real *dy, real *dx, real *dgamma,
                             real *dbeta, void *scratch)
{
    struct scratch_norm s = scratch_of_norm(f->c, scratch);
    double *sum = s.d[0], *dot = s.d[1], *mix = s.d[2];
    real *level = s.lane[3], *slope = s.lane[4];
    struct lanes lanes = lanes_of_norm(f, f->mean, f->inv_std, &s);
    bool relu = f->relu && !f->addend; /* with an addend only y tells if the ReLU passed */
    size_t end = n * (size_t)f->c;
    memset(sum, 0, (size_t)f->c * sizeof *sum);
    memset(dot, 0, (size_t)f->c * sizeof *dot);
    memset(mix, 0, (size_t)f->c * sizeof *mix);
    for (struct tile t = {0}; t.at < end; t.at = tile_end(t)) {
        t = tile_at(t.at, end, s.w);
        if (f->swapped) {
            tile_sums_swapped(t, &lanes, f->relu, x, addend, dy, s.lane[3], s.lane[4], s.lane[6]);
            fold(f->c, t.w, s.lane[6], mix);
        } else {
            if (f->relu && f->addend)
                tile_mask(t, y, dy);
            tile_sums(t, &lanes, relu, x, dy, s.lane[3], s.lane[4]);
        }
        fold(f->c, t.w, s.lane[3], sum);
        fold(f->c, t.w, s.lane[4], dot);
    }
    for (int i = 0; i < f->c; i++) {
        double inv_std = (double)f->inv_std[i], k = (double)f->factor;
        /* factor already in the dx that tile_dx reads */
        double outer = f->swapped ? (double)f->gamma[i] : 1;
        dbeta[i] = (real)(f->swapped ? sum[i] : sum[i] * k);
        dgamma[i] = (real)(f->swapped ? mix[i] : dot[i] * inv_std * k);
        sum[i] = sum[i] * outer / (double)n;
        dot[i] *= inv_std * inv_std * outer / (double)n;
    }
    cpu_unscale(ctx, (size_t)f->c, dgamma);
    cpu_unscale(ctx, (size_t)f->c, dbeta);
    spread(f->c, s.w, sum, level);
    spread(f->c, s.w, dot, slope);
    for (struct tile t = {0}; t.at < end; t.at = tile_end(t)) {
        t = tile_at(t.at, end, s.w);
        if (dx != dy)
            memcpy(dx + t.at, dy + t.at, (tile_end(t) - t.at) * sizeof *dx);
        tile_dx(t, &lanes, level, slope, relu, x, dx);
    }
}
