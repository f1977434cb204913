/* winograd.c : convolves block by block, so that a block's points stay in the nearest caches. */
#include "nn/cpu/winograd.h"
#include <string.h>
#include "nn/cpu/winograd_kernels.h"

const struct winograd_kernels *winograd_kernels(enum vec_isa isa)
{
#ifdef VEC_X86
    if (isa == VEC_AVX512 && vec_isa_here(isa))
        return &winograd_avx512;
    if (isa == VEC_AVX2 && vec_isa_here(isa))
        return &winograd_avx2;
#endif
    (void)isa;
    return NULL;
}

const struct winograd_kernels *winograd_best(void)
{
    const struct winograd_kernels *best = winograd_kernels(VEC_AVX512);
    return best ? best : winograd_kernels(VEC_AVX2);
}

bool winograd_fits(const struct nn_window *g)
{
    return g->k == 3 && g->stride == 1 && g->pad == 1 && g->groups <= 1 &&
           window_dilation(*g) == 1 && g->in.c % WINOGRAD_CHANNELS == 0 &&
           g->out.c % WINOGRAD_CHANNELS == 0;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* If a block has few tiles, its points stay in the cache. Many channels need more tiles, since
 * every block reads all filters and sums. */
static int block_of(const struct nn_window *g)
{
    enum { MAX_TIMES = 8, CHANNELS = 64 };
    const int times = larger(g->in.c, g->out.c) / CHANNELS;
    return WINOGRAD_ROWS * (times < 1 ? 1 : times > MAX_TIMES ? MAX_TIMES : times);
}

static size_t n_weights(const struct nn_window *g)
{
    return (size_t)g->in.c * (size_t)g->out.c;
}

static size_t n_block(const struct nn_window *g)
{
    return (size_t)block_of(g) * (size_t)larger(g->in.c, g->out.c);
}

struct scratch {
    float *u;     /* filters [16][in * out] */
    float *sums;  /* [16][in][out]: backward */
    float *v, *m; /* [16][block][channels] */
    float *own;   /* [16][block][channels], backward only */
};

static struct scratch scratch_of(const struct nn_window *g, void *memory)
{
    struct scratch s = {.u = memory};
    s.sums = s.u + WINOGRAD_POINTS * n_weights(g);
    s.v = s.sums + WINOGRAD_POINTS * n_weights(g);
    s.m = s.v + WINOGRAD_POINTS * n_block(g);
    s.own = s.m + WINOGRAD_POINTS * n_block(g);
    return s;
}

size_t winograd_scratch(const struct nn_window *g)
{
    return WINOGRAD_POINTS * (2 * n_weights(g) + 3 * n_block(g)) * sizeof(float);
}

static size_t all_tiles(struct nn_shape image, int batch)
{
    return (size_t)batch * (((size_t)image.h + 1) / 2) * (((size_t)image.w + 1) / 2);
}

static struct winograd_tiles of_channels(struct winograd_tiles t, const struct nn_window *g, int c)
{
    t.image.c = c;
    t.pitch = (size_t)block_of(g) * (size_t)c;
    return t;
}

static int whole_rows(int n)
{
    return (n + WINOGRAD_ROWS - 1) / WINOGRAD_ROWS * WINOGRAD_ROWS;
}

/* The rows after the last tile are zeros. */
static void convolve(const struct winograd_kernels *by, const struct winograd_tiles *from,
                     const struct winograd_tiles *to, const float *x, const struct scratch *s,
                     const float *bias, bool add, float *y)
{
    const int in = from->image.c, out = to->image.c, rows = whole_rows(from->n);
    const size_t point = (size_t)in * (size_t)out, done = (size_t)from->n * (size_t)in;
    by->spread(from, x, s->v);
    for (size_t p = 0; p < WINOGRAD_POINTS; p++) {
        float *v = s->v + p * from->pitch;
        memset(v + done, 0, ((size_t)rows * (size_t)in - done) * sizeof *v);
        by->multiply(rows, in, out, v, s->u + p * point, s->m + p * to->pitch);
    }
    by->gather(to, s->m, bias, add, y);
}

void winograd_forward(const struct winograd_kernels *by, const struct nn_window *g, int batch,
                      const float *x, const float *w, const float *bias, float *y, void *scratch)
{
    const struct scratch s = scratch_of(g, scratch);
    const size_t all = all_tiles(g->in, batch), block = (size_t)block_of(g);
    by->filters(g->in.c, g->out.c, w, false, s.u);
    for (size_t first = 0; first < all; first += block) {
        const int n = (int)(all - first < block ? all - first : block);
        const struct winograd_tiles t = {.image = g->in, .first = first, .n = n},
                                    in = of_channels(t, g, g->in.c),
                                    out = of_channels(t, g, g->out.c);
        convolve(by, &in, &out, x, &s, bias, false, y);
    }
}

void winograd_backward(const struct winograd_kernels *by, const struct nn_window *g, int batch,
                       const float *x, const float *w, const float *dy, float *dx, bool add,
                       float *dw, void *scratch)
{
    const struct scratch s = scratch_of(g, scratch);
    const size_t all = all_tiles(g->in, batch), block = (size_t)block_of(g), point = n_weights(g);
    by->filters(g->in.c, g->out.c, w, true, s.u);
    memset(s.sums, 0, WINOGRAD_POINTS * point * sizeof *s.sums);
    for (size_t first = 0; first < all; first += block) {
        const int n = (int)(all - first < block ? all - first : block);
        const struct winograd_tiles t = {.image = g->in, .first = first, .n = n},
                                    in = of_channels(t, g, g->in.c),
                                    out = of_channels(t, g, g->out.c);
        convolve(by, &out, &in, dy, &s, NULL, add, dx);
        by->spread_own(&in, x, s.own);
        for (size_t p = 0; p < WINOGRAD_POINTS; p++)
            by->multiply_add(n, g->in.c, g->out.c, s.own + p * in.pitch, s.v + p * out.pitch,
                             s.sums + p * point);
    }
    by->weights(g->in.c, g->out.c, s.sums, dw);
}
