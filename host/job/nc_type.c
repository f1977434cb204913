/* nc_type.c : converts gradients of other types to fp32 copies and back. */
#include "base/buf.h"
#include "job/nc_inside.h"
#include "vec/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS_APART = 16 }; /* aligns the layers' copies to cache lines */

int nc_type_parse(const char *word, const char *device, enum nc_type *out)
{
    static const char *const names[] = {
        [NC_FP32] = "fp32", [NC_FP64] = "fp64", [NC_FP16] = "fp16", [NC_BF16] = "bf16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i])) {
            if (i != NC_FP32 && strcmp(device, "cpu"))
                return ERR(-EINVAL,
                           "gradients of type \"%s\" are impossible on device \"%s\": need fp32",
                           word, device);
            *out = (enum nc_type)i;
            return 0;
        }
    return ERR(-EINVAL, "unknown type of gradients \"%s\": need fp32, fp64, fp16 or bf16", word);
}

static size_t padded(size_t n)
{
    return (n + FLOATS_APART - 1) / FLOATS_APART * FLOATS_APART;
}

int nc_type_open(struct nc *nc, struct nc_block *b)
{
    const size_t n = (size_t)nc->n_layers;
    size_t all = 0;
    b->grads = buf_alloc(n * sizeof *b->grads);
    b->fp32 = buf_alloc(n * sizeof *b->fp32);
    if (!b->grads || !b->fp32)
        return -ENOMEM;
    if (nc->type == NC_FP32)
        return 0;
    for (size_t i = 0; i < n; i++)
        all += padded(nc->n[i]);
    b->room = buf_alloc(all * sizeof *b->room);
    if (!b->room)
        return -ENOMEM;
    float *at = b->room;
    for (size_t i = 0; i < n; at += padded(nc->n[i]), i++)
        b->fp32[i] = at;
    return 0;
}

void nc_type_close(struct nc_block *b)
{
    free(b->grads);
    free(b->fp32);
    free(b->room);
}

static const char *step_of(const struct nc *nc)
{
    return nc->gathers ? "gather weights" : "reduce gradients";
}

int nc_type_check_gpu(const struct nc *nc, const void *p, int layer)
{
    char part[32] = "the shard";
    const int ours = gpu_info()->ordinal, at = gpu()->run->device_of(p);
    if (at == -1 || at == ours)
        return 0;
    if (layer >= 0)
        snprintf(part, sizeof part, "layer %d", layer);
    if (at == -2)
        return ERR(-EINVAL, "cannot %s: %s is not in GPU memory", step_of(nc), part);
    return ERR(-EINVAL,
               "cannot %s: %s is on GPU %d, but this rank uses GPU %d: move it, or set "
               "CUDA_VISIBLE_DEVICES",
               step_of(nc), part, at, ours);
}

int nc_type_begin(struct nc *nc, const void *grads)
{
    void *const *list = grads;
    const int n = nc->n_layers;
    if (!list)
        return ERR(-EINVAL, "cannot %s: their list is NULL", step_of(nc));
    for (int k = 0; k < nc->n_blocks; k++)
        for (int l = 0; l < n; l++) {
            const void *grads_of = list[(size_t)k * (size_t)n + (size_t)l];
            if (!grads_of)
                return ERR(-EINVAL, "cannot %s: the pointer of layer %d is NULL", step_of(nc), l);
            if (nc->blocks->job.on_gpu && grads_of != nc->blocks[k].grads[l])
                TRY(nc_type_check_gpu(nc, grads_of, l));
        }
    for (int k = 0; k < nc->n_blocks; k++, list += n) {
        struct nc_block *b = &nc->blocks[k];
        memcpy(b->grads, list, (size_t)n * sizeof *list);
        if (!b->room)
            memcpy(b->fp32, list, (size_t)n * sizeof *list);
    }
    return 0;
}

static void type_in(const struct nc *nc, struct nc_block *b, int l)
{
    float *x = b->fp32[l];
    if (nc->type == NC_FP64) {
        const double *from = b->grads[l];
        for (size_t i = 0; i < nc->n[l]; i++)
            x[i] = (float)from[i];
    } else if (nc->type != NC_FP32) {
        vec_best()->decode(vec_cast_to_16(nc->type == NC_FP16).fmt, b->grads[l], nc->n[l], 0, 1, x);
    }
}

void nc_type_in(struct nc *nc, int first, int n)
{
    for (int k = 0; k < nc->n_blocks; k++)
        for (int l = first; l < first + n; l++)
            type_in(nc, &nc->blocks[k], l);
}

/* A mean of halves fits a half, but the format may round it up: e4m3 turns 65504 into 65536. */
static enum mf_overflow overflow_of(const struct codec *c)
{
    const struct vec_sum *sum = codec_sum(c);
    return c->sums || (sum && sum->overflow == MF_INF) ? MF_INF : MF_SATURATE;
}

static void type_out(const struct nc *nc, struct nc_block *b, int l)
{
    const float *x = b->fp32[l];
    if (nc->type == NC_FP64) {
        double *to = b->grads[l];
        for (size_t i = 0; i < nc->n[l]; i++)
            to[i] = (double)x[i];
    } else if (nc->type != NC_FP32) {
        struct vec_cast cast = vec_cast_to_16(nc->type == NC_FP16);
        /* all-gathered weights are no means */
        cast.overflow = nc->gathers ? MF_INF : overflow_of(&b->job.codec);
        vec_best()->encode(&cast, x, nc->n[l], 0, 0, b->grads[l]);
    }
}

void nc_type_out(struct nc *nc)
{
    for (int l = 0; l < nc->n_layers; l++)
        type_out(nc, nc->blocks, l);
}
