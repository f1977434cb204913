/* nc.c : the public interface: a thin face over a job. */
#include <narrowcast.h>
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm.h"
#include "job/job.h"
#include <stdlib.h>
#include <string.h>

struct nc {
    struct comm *comm;
    struct job job;
    uint64_t step; /* keys random bits */
};

const char *nc_version(void)
{
    return NC_VERSION;
}

struct nc_options nc_options_default(void)
{
    return (struct nc_options){.bucket_bytes = (size_t)1 << 20, .deadline_s = 600, .seed = 1};
}

static const char *name_of(const struct nc_layer *l)
{
    return l->name ? l->name : "?";
}

static int check_columns(const struct nc_layer *l)
{
    const int either = l->column || l->stride, both = l->column && l->stride;
    if (either && (!both || l->n % l->column || l->n / l->column % l->stride))
        return ERR(-EINVAL,
                   "cannot cut layer \"%s\" of %zu elements into columns of %zu, %zu apart: need "
                   "column * stride to divide its elements, or both 0",
                   name_of(l), l->n, l->column, l->stride);
    return 0;
}

/* What this rank can find wrong alone. *out, *weights: [n_layers], to be freed, after a failure
 * too. */
static int copy_layers(const char *device, const struct nc_layer *layers, int n_layers,
                       struct reducer_layer **out, const float ***weights)
{
    if (n_layers < 1)
        return ERR(-EINVAL, "cannot open %d layers: need at least 1", n_layers);
    if (strcmp(device, "cpu") && strcmp(device, "cuda"))
        return ERR(-EINVAL, "unknown device \"%s\": need cpu or cuda", device);
    for (int i = 0; i < n_layers; i++)
        TRY(check_columns(&layers[i]));
    *out = buf_alloc((size_t)n_layers * sizeof **out);
    *weights = buf_alloc((size_t)n_layers * sizeof **weights);
    if (!*out || !*weights)
        return -ENOMEM;
    for (int i = 0; i < n_layers; i++) {
        const struct nc_layer *l = &layers[i];
        (*out)[i] = (struct reducer_layer){.name = l->name,
                                           .n = l->n,
                                           .fp32 = l->fp32 != 0,
                                           .column = l->column,
                                           .stride = l->stride};
        (*weights)[i] = l->weights;
    }
    return 0;
}

static struct job_words words_of(const struct nc_options *o, const char *device)
{
    return (struct job_words){
        .codec = {.codec = o->codec,
                  .format = o->format,
                  .scale = o->scale,
                  .sum = o->sum,
                  .acc_format = o->acc_format,
                  .out_format = o->out_format,
                  .rescale = o->rescale != 0,
                  .overflow = o->overflow,
                  .round = o->round},
        .quantise = o->quantise,
        .seed = o->seed,
        .algo = o->algo,
        .gpu = strcmp(device, "cuda") ? JOB_NO : JOB_YES,
        .bucket_bytes = o->bucket_bytes,
        .cards = {.where = o->offload, .xclbin = o->xclbin, .deadline_s = o->deadline_s},
        .node_sum = o->node_sum};
}

/* A codec that divides by weights has those of all layers that it may look at. */
static int check_weights(const struct codec *codec, const struct nc_layer *layers, int n_layers)
{
    char text[CODEC_TEXT_BYTES];
    for (int i = 0; i < n_layers && codec_asks_weights(codec); i++)
        if (!layers[i].fp32 && !layers[i].weights)
            return ERR(-EINVAL,
                       "cannot take codec \"%s\": it divides by weights, and layer \"%s\" has "
                       "none; need nc_layer.weights, relgrad:of=gradient or another kind",
                       codec_describe(codec, text), name_of(&layers[i]));
    return 0;
}

/* All ranks. */
static int open_job(struct nc *nc, const struct nc_options *o, const struct nc_layer *layers,
                    int n_layers)
{
    const char *device = o->device ? o->device : "cpu";
    const struct job_words words = words_of(o, device);
    struct reducer_layer *copy = NULL;
    const float **weights = NULL;
    err_hold();
    int rc = comm_agree(nc->comm, copy_layers(device, layers, n_layers, &copy, &weights));
    if (rc == 0)
        rc = job_settle(nc->comm, &words, &nc->job);
    if (rc == 0) {
        err_hold();
        rc = comm_agree(nc->comm, check_weights(&nc->job.codec, layers, n_layers));
    }
    if (rc == 0)
        rc = job_open(&nc->job, copy, n_layers);
    if (rc == 0)
        reducer_set_weights(nc->job.reducer, weights);
    free(copy);
    free(weights);
    return rc;
}

int nc_open(const struct nc_options *options, const struct nc_layer *layers, int n_layers,
            struct nc **out)
{
    const struct nc_options o = options ? *options : nc_options_default();
    struct nc *nc = buf_alloc(sizeof *nc);
    if (!nc)
        return -ENOMEM;
    int rc = comm_open(o.deadline_s, &nc->comm);
    if (rc == 0) {
        rc = open_job(nc, &o, layers, n_layers);
        if (rc < 0) {
            job_close(&nc->job);
            comm_leave(nc->comm);
        }
    }
    if (rc < 0) {
        free(nc);
        return rc;
    }
    *out = nc;
    return 0;
}

void nc_close(struct nc *nc)
{
    if (!nc)
        return;
    job_close(&nc->job);
    comm_close(nc->comm);
    free(nc);
}

int nc_rank(const struct nc *nc)
{
    return comm_rank(nc->comm);
}
int nc_n_ranks(const struct nc *nc)
{
    return comm_n_ranks(nc->comm);
}

int nc_allreduce(struct nc *nc, float *const *grads, struct nc_report *report)
{
    struct reducer_step s;
    TRY(reducer_run(nc->job.reducer, nc->step, grads, &s));
    nc->step++;
    if (report)
        *report = (struct nc_report){.sent_bytes = s.sent_bytes,
                                     .code_bytes = s.code_bytes,
                                     .fp32_bytes = s.fp32_bytes,
                                     .codec_s = s.codec_s,
                                     .comm_s = s.comm_s,
                                     .offload = s.by_way};
    return s.skipped ? 1 : 0;
}

void nc_force_fp32(struct nc *nc, int on)
{
    reducer_force_fp32(nc->job.reducer, on != 0);
}
