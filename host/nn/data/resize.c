/* resize.c : scales a picture's rows, then its columns, in fixed point.
 *
 *   part [h, w] --rows, as many as the columns need--> [lines, side] --columns--> square */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "nn/data/resize.h"

enum { BITS = 22, CHANNELS = 3 }; /* BITS: fraction of a weight */

/* Weights of input lines for each of `n` output lines. */
struct taps {
    int n, room; /* room: most inputs of an output */
    int *first, *count;
    int32_t *weights; /* [n, room] */
};

static void taps_fini(struct taps *t)
{
    free(t->first);
    free(t->count);
    free(t->weights);
}

static double triangle(double x)
{
    x = x < 0 ? -x : x;
    return x < 1 ? 1 - x : 0;
}

/* Fills tap i, of output line `line`. half: half of the triangle's base, in input lines. */
static void fill(struct taps *t, int i, int line, int in, double scale, double half, double *share)
{
    const double centre = (line + 0.5) * scale;
    const int low = (int)(centre - half + 0.5), high = (int)(centre + half + 0.5);
    const int first = low < 0 ? 0 : low, end = high > in ? in : high;
    double sum = 0;
    t->first[i] = first;
    t->count[i] = end - first;
    for (int k = 0; k < end - first; k++)
        sum += share[k] = triangle((k + first - centre + 0.5) / half);
    for (int k = 0; k < end - first; k++)
        t->weights[i * t->room + k] = (int32_t)(share[k] / sum * ((int32_t)1 << BITS) + 0.5);
}

/* in lines become `to`; the n lines from `from` on are wanted. */
static int taps_init(struct taps *t, int in, int to, int from, int n)
{
    const double scale = (double)in / to, half = scale < 1 ? 1 : scale;
    *t = (struct taps){.n = n, .room = 2 * (int)(half + 1) + 1};
    t->first = buf_alloc((size_t)n * sizeof *t->first);
    t->count = buf_alloc((size_t)n * sizeof *t->count);
    t->weights = buf_alloc((size_t)n * (size_t)t->room * sizeof *t->weights);
    double *share = buf_alloc((size_t)t->room * sizeof *share);
    const bool there = t->first && t->count && t->weights && share;
    for (int i = 0; i < n && there; i++)
        fill(t, i, from + i, in, scale, half, share);
    free(share);
    return there ? 0 : -ENOMEM;
}

/* Returns the weighted mean of inputs `step` bytes apart, at most 255: even PICTURE_SIDE_MAX
 * weights, rounded by 1/2 each, add less than 1/2. in: input `origin`. */
static uint8_t mix(const struct taps *t, int i, const uint8_t *in, int origin, size_t step)
{
    int64_t sum = (int64_t)1 << (BITS - 1);
    const uint8_t *at = in + (size_t)(t->first[i] - origin) * step;
    for (int k = 0; k < t->count[i]; k++)
        sum += (int64_t)at[(size_t)k * step] * t->weights[i * t->room + k];
    return (uint8_t)(sum >> BITS);
}

static int scale_part(const struct picture *p, const struct resize *r, const struct taps *across,
                      const struct taps *down, uint8_t *out)
{
    const size_t c = (size_t)p->c, side = (size_t)r->side;
    const int first = down->first[0], end = down->first[down->n - 1] + down->count[down->n - 1];
    uint8_t *lines = buf_alloc((size_t)(end - first) * side * c);
    if (!lines)
        return -ENOMEM;
    for (int row = first; row < end; row++) {
        const uint8_t *in = p->pixels + ((size_t)(r->y + row) * (size_t)p->w + (size_t)r->x) * c;
        uint8_t *to = lines + (size_t)(row - first) * side * c;
        for (size_t i = 0; i < side * c; i++)
            to[i] = mix(across, (int)(i / c), in + i % c, 0, c);
    }
    for (size_t y = 0; y < side; y++)
        for (size_t i = 0; i < side * CHANNELS; i++)
            *out++ =
                mix(down, (int)y, lines + (i / CHANNELS * c + i % CHANNELS % c), first, side * c);
    free(lines);
    return 0;
}

int picture_resize(const struct picture *p, const struct resize *r, uint8_t *out)
{
    struct taps across = {.n = 0}, down = {.n = 0};
    int rc = taps_init(&across, r->w, r->to_w, r->left, r->side);
    if (rc == 0)
        rc = taps_init(&down, r->h, r->to_h, r->top, r->side);
    if (rc == 0)
        rc = scale_part(p, r, &across, &down, out);
    taps_fini(&across);
    taps_fini(&down);
    return rc;
}
