/* conv_low_groups.cu : conv2d in groups with products that round. First makes each group's
 * channels contiguous, as in host/nn/cpu/cpu_conv_groups.c. */
#include "device/nn/conv.cuh"

static nn_window part_of(const nn_window *g)
{
    nn_window part = *g;
    part.in.c /= g->groups;
    part.out.c /= g->groups;
    part.groups = 1;
    return part;
}

/* One group's tensors, then the scratch of its convolution. */
struct group_parts {
    float *x, *dx, *y;
    void *scratch;
};

static size_t part_elements(nn_shape s, int batch)
{
    const size_t line = 64; /* 256 bytes of alignment */
    return (conv_elements(s, batch) + line - 1) / line * line;
}

static group_parts parts_of(const nn_window &part, int batch, void *memory)
{
    group_parts p;
    p.x = (float *)memory;
    p.dx = p.x + part_elements(part.in, batch);
    p.y = p.dx + part_elements(part.in, batch);
    p.scratch = p.y + part_elements(part.out, batch);
    return p;
}

static int copy_part(nn_shape s, int batch, int n, const float *from, int from_pitch, float *to,
                     int to_pitch, cudaStream_t stream)
{
    const size_t value = sizeof *from, pixels = conv_elements(s, batch) / (size_t)s.c;
    return cu_try(cudaMemcpy2DAsync(to, (size_t)to_pitch * value, from, (size_t)from_pitch * value,
                                    (size_t)n * value, pixels, cudaMemcpyDeviceToDevice, stream),
                  "copy of a group's channels");
}

int low_groups_plan(const struct nn_window *g, int max_batch, size_t *scratch_bytes)
{
    if (g->groups <= 1)
        return low_conv_plan(g, max_batch, scratch_bytes);
    const nn_window part = part_of(g);
    size_t own;
    const int rc = low_conv_plan(&part, max_batch, &own);
    *scratch_bytes = own + sizeof(float) * (2 * part_elements(part.in, max_batch) +
                                            part_elements(part.out, max_batch));
    return rc;
}

int low_groups_forward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                       const float *w, const float *bias, float *y, void *scratch)
{
    if (g->groups <= 1)
        return low_conv_forward(d, g, batch, x, w, bias, y, scratch);
    const nn_window part = part_of(g);
    const group_parts p = parts_of(part, batch, scratch);
    const cudaStream_t s = cu_stream(d->s);
    const int in = part.in.c, out = part.out.c;
    int rc = 0;
    for (int i = 0; rc == 0 && i < g->groups; i++) {
        rc = copy_part(g->in, batch, in, x + i * in, g->in.c, p.x, in, s);
        if (rc == 0)
            rc = low_conv_forward(d, &part, batch, p.x, w + (size_t)i * conv_weights(&part),
                                  bias ? bias + i * out : NULL, p.y, p.scratch);
        if (rc == 0)
            rc = copy_part(g->out, batch, out, p.y, out, y + i * out, g->out.c, s);
    }
    return rc;
}

int low_groups_backward(struct dev_nn *d, const struct nn_window *g, int batch, const float *x,
                        const float *w, const float *dy, float *dx, bool add, float *dw,
                        float *dbias, void *scratch)
{
    if (g->groups <= 1)
        return low_conv_backward(d, g, batch, x, w, dy, dx, add, dw, dbias, scratch);
    const nn_window part = part_of(g);
    const group_parts p = parts_of(part, batch, scratch);
    const cudaStream_t s = cu_stream(d->s);
    const int in = part.in.c, out = part.out.c;
    int rc = 0;
    for (int i = 0; rc == 0 && i < g->groups; i++) {
        const size_t weights = (size_t)i * conv_weights(&part);
        rc = copy_part(g->in, batch, in, x + i * in, g->in.c, p.x, in, s);
        if (rc == 0)
            rc = copy_part(g->out, batch, out, dy + i * out, g->out.c, p.y, out, s);
        if (rc == 0 && dx && add)
            rc = copy_part(g->in, batch, in, dx + i * in, g->in.c, p.dx, in, s);
        if (rc == 0)
            rc = low_conv_backward(d, &part, batch, p.x, w + weights, p.y, dx ? p.dx : NULL, add,
                                   dw + weights, dbias ? dbias + i * out : NULL, p.scratch);
        if (rc == 0 && dx)
            rc = copy_part(g->in, batch, in, p.dx, in, dx + i * in, g->in.c, s);
    }
    return rc;
}
