/* conv.cu : computes conv2d: forward, data gradient, weight gradient, bias gradient.
 *
 * Each pass over a window has a cuDNN plan per batch size. nn_conv_plan() makes the largest
 * batch's; others, and those for tensors not aligned to 16 bytes, are made at first use. If no
 * cuDNN plan adds to dx, the window's dx is computed in scratch, then added:
 *
 *     scratch   | dx of this window | the plan's workspace | */
#include "device/nn/conv.cuh"
#include <stdlib.h>
#include <string.h>

int conv_open(struct dev_nn *d)
{
    d->conv = (struct nn_conv *)calloc(1, sizeof *d->conv);
    if (!d->conv)
        return cu_say(-ENOMEM, "gpu: no memory for the plans of convolutions");
    const char *set = getenv("NARROWCAST_CONV"), *way = set ? set : "fastest";
    d->conv->is_any = strcmp(way, "any") == 0;
    d->conv->is_timed = d->conv->is_any || strcmp(way, "fastest") == 0;
    if (!d->conv->is_timed && strcmp(way, "first"))
        return cu_say(-EINVAL, "gpu: unknown NARROWCAST_CONV \"%s\": need first, fastest or any",
                      way);
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

static size_t apart_bytes(const struct dev_nn *d, const struct nn_window *g, int batch)
{
    return (conv_elements(g->in, batch) * nn_bytes(d) + 255) / 256 * 256;
}

static struct conv_window *window_open(struct nn_conv *c, const struct nn_window *g)
{
    struct conv_window *w = window_of(c, g);
    if (w)
        return w;
    w = (struct conv_window *)calloc(1, sizeof *w);
    if (!w) {
        (void)cu_say(-ENOMEM, "gpu: no memory for the plans of convolutions");
        return NULL;
    }
    w->g = *g;
    w->next = c->windows;
    c->windows = w;
    return w;
}

/* Raise *most to the pass's bytes of scratch after the first `before` bytes. */
static int plan_pass(struct dev_nn *d, const struct nn_window *g, int batch, enum conv_pass pass,
                     size_t before, size_t *most)
{
    const struct conv_key key = key_of(g, batch, pass, true);
    struct conv_plan *p;
    const int rc = conv_pick(d, &key, CONV_SCRATCH_MAX, &p);
    if (rc < 0)
        return rc;
    const size_t bytes = before + p->result_bytes + p->workspace_bytes;
    *most = bytes > *most ? bytes : *most;
    return 0;
}

int nn_conv_plan(struct dev_nn *d, const struct nn_window *g, bool dx, bool add, int max_batch,
                 size_t *scratch_bytes)
{
    if (d->is_low)
        return low_groups_plan(g, max_batch, scratch_bytes);
    size_t most = rows_partial_bytes(g->out.c);
    most = most > CONV_SCRATCH_LEAST ? most : (size_t)CONV_SCRATCH_LEAST;
    bool is_apart = false;
    int rc = plan_pass(d, g, max_batch, CONV_FORWARD, 0, &most);
    if (rc == 0)
        rc = plan_pass(d, g, max_batch, CONV_FILTER, 0, &most);
    if (rc == 0 && dx)
        rc = plan_pass(d, g, max_batch, add ? CONV_DATA_ADD : CONV_DATA, 0, &most);
    if (rc == -ENOSYS) {
        is_apart = true;
        rc = plan_pass(d, g, max_batch, CONV_DATA, apart_bytes(d, g, max_batch), &most);
    }
    if (rc < 0)
        return rc;
    struct conv_window *w = window_open(d->conv, g);
    if (!w)
        return -ENOMEM;
    w->is_apart = w->is_apart || is_apart;
    if (w->scratch_bytes < most)
        w->scratch_bytes = most;
    *scratch_bytes = w->scratch_bytes;
    return 0;
}

int nn_conv_apart(const struct dev_nn *d)
{
    int n = 0;
    for (const struct conv_window *w = d->conv->windows; w; w = w->next)
        n += w->is_apart;
    return n;
}

/* Tensors have cuDNN's types, except a dw of floats, converted from 16-bit results. */
static int run_behind(struct dev_nn *d, const struct nn_window *g, int batch, enum conv_pass pass,
                      const struct conv_tensors *t, void *scratch, size_t before)
{
    const struct conv_window *w = window_of(d->conv, g);
    const size_t most = w && w->scratch_bytes > before ? w->scratch_bytes - before : 0;
    const bool result_in_scratch = pass == CONV_FILTER && conv_widens(d);
    const bool aligned =
        is_aligned(t->x) && (result_in_scratch || is_aligned(t->w)) && is_aligned(t->y);
    const struct conv_key key = key_of(g, batch, pass, aligned);
    struct conv_plan *p;
    const int rc = conv_pick(d, &key, most, &p);
    if (rc < 0)
        return rc;
    const cudnnStatus_t status = conv_execute(d, p, t, (char *)scratch + before);
    return status == CUDNN_STATUS_SUCCESS ? 0 : conv_failed(d, &key, status);
}

static int run(struct dev_nn *d, const struct nn_window *g, int batch, enum conv_pass pass,
               const struct conv_tensors *t, void *scratch)
{
    return run_behind(d, g, batch, pass, t, scratch, 0);
}

static int run_added(struct dev_nn *d, const struct nn_window *g, int batch, const void *w,
                     const void *dy, void *dx, void *scratch)
{
    const struct conv_window *planned = window_of(d->conv, g);
    const struct conv_tensors added = {dx, w, dy}, apart = {scratch, w, dy};
    int rc =
        planned && planned->is_apart ? -ENOSYS : run(d, g, batch, CONV_DATA_ADD, &added, scratch);
    if (rc != -ENOSYS)
        return rc;
    const size_t before = apart_bytes(d, g, batch);
    if (!planned || planned->scratch_bytes < before) {
        const struct conv_key key = key_of(g, batch, CONV_DATA_ADD, true);
        return conv_failed(d, &key, CUDNN_STATUS_NOT_SUPPORTED);
    }
    rc = run_behind(d, g, batch, CONV_DATA, &apart, scratch, before);
    return rc < 0 ? rc : nn_add(d, conv_elements(g->in, batch), dx, scratch, dx);
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
    if (rc < 0 || !dx)
        return rc;
    return add ? run_added(d, g, batch, data.w, dy, dx, scratch)
               : run(d, g, batch, CONV_DATA, &data, scratch);
}
