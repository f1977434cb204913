/* conv.cu : conv2d: forward, data gradient, weight gradient, bias gradient.
 *
 * Every pass over a window, for each batch size, has a plan of its own. nn_conv_plan() makes those
 * of the largest batch; a smaller one, and tensors that do not begin on 16 bytes, get theirs at
 * first use. */
#include "device/conv.cuh"
#include <stdlib.h>
#include <string.h>

int conv_open(struct dev_nn *d)
{
    d->conv = (struct nn_conv *)calloc(1, sizeof *d->conv);
    if (!d->conv)
        return cu_say(-ENOMEM, "gpu: no memory for the plans of convolutions");
    const char *way = getenv("NARROWCAST_CONV");
    if (way && strcmp(way, "first"))
        return cu_say(-EINVAL, "gpu: NARROWCAST_CONV is \"%s\": \"first\", or not set", way);
    d->conv->is_timed = !way;
    cudnnStatus_t status = cudnnCreate(&d->conv->handle);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnSetStream(d->conv->handle, cu_stream(d->s));
    return status == CUDNN_STATUS_SUCCESS
               ? 0
               : cu_say(-EIO, "gpu: cannot open cuDNN: it says %s", cudnnGetErrorString(status));
}

void conv_close(struct dev_nn *d)
{
    struct nn_conv *c = d->conv;
    if (!c)
        return;
    while (c->plans) {
        struct conv_plan *p = c->plans;
        c->plans = p->next;
        conv_plan_close(p);
        free(p);
    }
    while (c->windows) {
        struct conv_window *w = c->windows;
        c->windows = w->next;
        free(w);
    }
    if (c->handle)
        cudnnDestroy(c->handle);
    free(c);
    d->conv = NULL;
}

static struct conv_window *window_of(const struct nn_conv *c, const struct nn_window *g)
{
    struct conv_window *w = c->windows;
    while (w && memcmp(&w->g, g, sizeof *g))
        w = w->next;
    return w;
}

static bool is_aligned(const void *p)
{
    return (uintptr_t)p % CONV_ALIGNMENT == 0;
}

static struct conv_key key_of(const struct nn_window *g, int batch, enum conv_pass pass,
                              bool aligned)
{
    struct conv_key key;
    memset(&key, 0, sizeof key);
    key.g = *g;
    key.batch = batch;
    key.pass = pass;
    key.is_aligned = aligned;
    return key;
}

int nn_conv_plan(struct dev_nn *d, const struct nn_window *g, int max_batch, size_t *scratch_bytes)
{
    if (d->is_low)
        return low_groups_plan(g, max_batch, scratch_bytes);
    struct conv_window *w = window_of(d->conv, g);
    size_t most = CONV_SCRATCH_LEAST;
    for (int pass = CONV_FORWARD; pass <= CONV_FILTER; pass++) {
        const struct conv_key key = key_of(g, max_batch, (enum conv_pass)pass, true);
        struct conv_plan *p;
        const int rc = conv_pick(d, &key, CONV_SCRATCH_MOST, &p);
        if (rc < 0)
            return rc;
        const size_t bytes = p->result_bytes + p->workspace_bytes;
        most = bytes > most ? bytes : most;
    }
    if (rows_partial_bytes(g->out.c) > most)
        most = rows_partial_bytes(g->out.c);
    if (!w) {
        w = (struct conv_window *)calloc(1, sizeof *w);
        if (!w)
            return cu_say(-ENOMEM, "gpu: no memory for the plans of convolutions");
        w->g = *g;
        w->next = d->conv->windows;
        d->conv->windows = w;
    }
    if (w->scratch_bytes < most)
        w->scratch_bytes = most;
    *scratch_bytes = w->scratch_bytes;
    return 0;
}

/* One pass; the tensors are as cuDNN reads and writes them, but for a dw that is widened. */
static int run(struct dev_nn *d, const struct nn_window *g, int batch, enum conv_pass pass,
               const struct conv_tensors *t, void *scratch)
{
    const struct conv_window *w = window_of(d->conv, g);
    const bool result_in_scratch = pass == CONV_FILTER && conv_widens(d);
    const bool aligned =
        is_aligned(t->x) && (result_in_scratch || is_aligned(t->w)) && is_aligned(t->y);
    const struct conv_key key = key_of(g, batch, pass, aligned);
    struct conv_plan *p;
    const int rc = conv_pick(d, &key, w ? w->scratch_bytes : 0, &p);
    if (rc < 0)
        return rc;
    const cudnnStatus_t status = conv_execute(d, p, t, scratch);
    return status == CUDNN_STATUS_SUCCESS ? 0 : conv_failed(d, &key, status);
}

int nn_conv_forward(struct dev_nn *d, const struct nn_window *g, int batch, const void *x,
                    const void *w, const void *bias, void *y, void *scratch)
{
    if (d->is_low)
        return low_groups_forward(d, g, batch, (const float *)x, (const float *)w,
                                  (const float *)bias, (float *)y, scratch);
    const struct conv_tensors t = {x, nn_weight(d, w), y};
    const int rc = run(d, g, batch, CONV_FORWARD, &t, scratch);
    if (rc < 0 || !bias)
        return rc;
    return rows_add_bias(d, conv_elements(g->out, batch) / (size_t)g->out.c, g->out.c, bias, y);
}

int nn_conv_backward(struct dev_nn *d, const struct nn_window *g, int batch, const void *x,
                     const void *w, const void *dy, void *dx, bool add, void *dw, void *dbias,
                     void *scratch)
{
    if (d->is_low)
        return low_groups_backward(d, g, batch, (const float *)x, (const float *)w,
                                   (const float *)dy, (float *)dx, add, (float *)dw, (float *)dbias,
                                   scratch);
    const struct conv_tensors filter = {x, dw, dy}, data = {dx, nn_weight(d, w), dy};
    int rc = run(d, g, batch, CONV_FILTER, &filter, scratch);
    if (rc == 0)
        rc = conv_widens(d) ? rows_widen(d, conv_weights(g), scratch, (float *)dw)
                            : rows_unscale(d, conv_weights(g), dw);
    if (rc == 0 && dbias)
        rc = rows_sum(d, conv_elements(g->out, batch) / (size_t)g->out.c, g->out.c, dy, dbias,
                      (float *)scratch);
    if (rc == 0 && dx)
        rc = run(d, g, batch, add ? CONV_DATA_ADD : CONV_DATA, &data, scratch);
    return rc;
}
