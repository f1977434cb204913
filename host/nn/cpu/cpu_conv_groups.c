/* cpu_conv_groups.c : convolves in groups, after copying each group's channels together.
 *
 *   x [pixels][in.c] --part i--> [pixels][in.c / groups] --conv2d, group i's filters--> part i of y
 *
 * The copy is cheap beside im2row, which copies each value k*k times. */
#include <string.h>
#include "nn/cpu/cpu_ops.h"

static struct nn_window part_of(const struct nn_window *g)
{
    struct nn_window part = *g;
    part.in.c /= g->groups;
    part.out.c /= g->groups;
    part.groups = 1;
    return part;
}

static void take_part(size_t pixels, int n, const real *from, int pitch, real *to)
{
    for (size_t i = 0; i < pixels; i++, from += pitch, to += n)
        memcpy(to, from, (size_t)n * sizeof *to);
}

static void put_part(size_t pixels, int n, const real *from, real *to, int pitch)
{
    for (size_t i = 0; i < pixels; i++, from += n, to += pitch)
        memcpy(to, from, (size_t)n * sizeof *to);
}

struct parts {
    real *x, *dx, *y;
    void *scratch;
};

static size_t part_elements(struct nn_shape s, int batch)
{
    const size_t line = 64 / sizeof(real); /* parts start at cache lines */
    return (batch_elements(s, batch) + line - 1) / line * line;
}

static struct parts parts_of(const struct nn_window *part, int batch, void *memory)
{
    struct parts p = {.x = memory};
    p.dx = p.x + part_elements(part->in, batch);
    p.y = p.dx + part_elements(part->in, batch);
    p.scratch = p.y + part_elements(part->out, batch);
    return p;
}

int cpu_conv_plan(void *ctx, const struct nn_window *g, bool dx, bool add, int max_batch,
                  size_t *scratch_bytes)
{
    (void)dx, (void)add;
    *scratch_bytes = cpu_conv_whole_scratch(ctx, g);
    if (g->groups <= 1)
        return 0;
    const struct nn_window part = part_of(g);
    *scratch_bytes =
        cpu_conv_whole_scratch(ctx, &part) +
        (2 * part_elements(part.in, max_batch) + part_elements(part.out, max_batch)) * sizeof(real);
    return 0;
}

void cpu_conv_forward(void *ctx, const struct nn_window *g, int batch, const real *x, const real *w,
                      const real *bias, real *y, void *scratch)
{
    if (g->groups <= 1) {
        cpu_conv_whole_forward(ctx, g, batch, x, w, bias, y, scratch);
        return;
    }
    const struct nn_window part = part_of(g);
    const struct parts p = parts_of(&part, batch, scratch);
    const size_t n_weights = (size_t)(part.out.c * g->k * g->k) * (size_t)part.in.c;
    for (int i = 0; i < g->groups; i++) {
        take_part(batch_pixels(g->in, batch), part.in.c, x + i * part.in.c, g->in.c, p.x);
        cpu_conv_whole_forward(ctx, &part, batch, p.x, w + (size_t)i * n_weights,
                               bias ? bias + i * part.out.c : NULL, p.y, p.scratch);
        put_part(batch_pixels(g->out, batch), part.out.c, p.y, y + i * part.out.c, g->out.c);
    }
}

static void groups_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                            const real *w, const real *dy, real *dx, bool add, real *dw,
                            real *dbias, void *scratch)
{
    const struct nn_window part = part_of(g);
    const struct parts p = parts_of(&part, batch, scratch);
    const size_t n_weights = (size_t)(part.out.c * g->k * g->k) * (size_t)part.in.c,
                 n_in = batch_pixels(g->in, batch);
    for (int i = 0; i < g->groups; i++) {
        const int in = i * part.in.c, out = i * part.out.c;
        take_part(n_in, part.in.c, x + in, g->in.c, p.x);
        take_part(batch_pixels(g->out, batch), part.out.c, dy + out, g->out.c, p.y);
        if (dx && add)
            take_part(n_in, part.in.c, dx + in, g->in.c, p.dx);
        cpu_conv_whole_backward(ctx, &part, batch, p.x, w + (size_t)i * n_weights, p.y,
                                dx ? p.dx : NULL, add, dw + (size_t)i * n_weights,
                                dbias ? dbias + out : NULL, p.scratch);
        if (dx)
            put_part(n_in, part.in.c, p.dx, dx + in, g->in.c);
    }
}

void cpu_conv_backward(void *ctx, const struct nn_window *g, int batch, const real *x,
                       const real *w, const real *dy, real *dx, bool add, real *dw, real *dbias,
                       void *scratch)
{
    const size_t filter = (size_t)(g->k * g->k) * (size_t)(g->in.c / (g->groups ? g->groups : 1));
    (g->groups <= 1 ? cpu_conv_whole_backward : groups_backward)(ctx, g, batch, x, w, dy, dx, add,
                                                                 dw, dbias, scratch);
    cpu_unscale(ctx, (size_t)g->out.c * filter, dw);
    cpu_unscale(ctx, (size_t)g->out.c, dbias);
}
