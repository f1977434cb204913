/* nc.c : opens and closes communicators of the public interface. */
#include "base/buf.h"
#include "base/crc.h"
#include "comm/over/comm_over.h"
#include "job/nc_inside.h"
#include "job/nc_lent.h"
#include "vec/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *nc_version(void)
{
    return NC_VERSION;
}
int nc_version_number(void)
{
    return NC_VERSION_NUMBER;
}

void nc_options_init(struct nc_options *options, size_t size)
{
    const struct nc_options defaults = {.size = size, .deadline_s = 600, .seed = 1};
    memset(options, 0, size);
    memcpy(options, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

int nc_options_copy(const struct nc_options *from, struct nc_options *out)
{
    nc_options_init(out, sizeof *out);
    if (!from)
        return 0;
    const size_t size = from->size, own = sizeof *out;
    if (size < sizeof size || size > 64 * own || size % sizeof(void *)) /* size of no version */
        return -EINVAL;
    for (size_t i = own; i < size; i++)
        if (((const char *)from)[i])
            return -ENOTSUP;
    memcpy(out, from, size < own ? size : own);
    return 0;
}

int nc_options_refuse(int rc)
{
    if (rc == -ENOTSUP)
        return ERR(-EINVAL, "cannot use options of a later version than %s", NC_VERSION);
    return ERR(-EINVAL, "cannot use options without a size: start from nc_options_default()");
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
                   "cannot cut layer \"%s\" of %zu elements into columns of %zu with stride %zu: "
                   "column * stride must divide its elements, or both must be 0",
                   name_of(l), l->n, l->column, l->stride);
    return 0;
}

/* No communication. The caller frees *out and *weights, also after a failure. */
static int copy_layers(const char *device, const struct nc_layer *layers, int n_layers,
                       struct reducer_layer **out, const float ***weights)
{
    if (n_layers < 1)
        return ERR(-EINVAL, "cannot open %d layers: need at least 1", n_layers);
    if (strcmp(device, "cpu") && strcmp(device, "cuda"))
        return ERR(-EINVAL, "unknown device \"%s\": need cpu or cuda", device);
    if (!layers)
        return ERR(-EINVAL, "cannot open %d layers: their list is NULL", n_layers);
    size_t all = 0;
    for (int i = 0; i < n_layers; i++) {
        const size_t n = layers[i].n;
        if (n > NC_ELEMENTS_MAX || (all += n) > NC_ELEMENTS_MAX)
            return ERR(-EINVAL,
                       "cannot open layer \"%s\" of %zu elements: all layers together may have at "
                       "most 2^40",
                       name_of(&layers[i]), n);
        TRY(check_columns(&layers[i]));
        for (size_t k = 0; k < sizeof layers->reserved / sizeof *layers->reserved; k++)
            if (layers[i].reserved[k])
                return ERR(-EINVAL, "cannot open layer \"%s\": its reserved fields are not NULL",
                           name_of(&layers[i]));
    }
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

static const char *device_of(const struct nc_options *o)
{
    return o->device ? o->device : "cpu";
}

static struct job_spec spec_of(const struct nc_options *o, const char *device)
{
    return (struct job_spec){
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
        .sums = o->op && !strcmp(o->op, "sum"),
        .algo = o->algo,
        .gpu = strcmp(device, "cuda") ? JOB_NO : JOB_YES,
        .bucket_bytes = o->bucket_bytes,
        .cards = {.where = o->offload, .xclbin = o->xclbin, .deadline_s = o->deadline_s},
        .node_sum = o->node_sum};
}

static int check_op(const char *op)
{
    if (op && strcmp(op, "mean") && strcmp(op, "sum"))
        return ERR(-EINVAL, "unknown op \"%s\": need mean or sum", op);
    return 0;
}

static int check_weights(const struct codec *codec, const struct nc_layer *layers, int n_layers)
{
    char text[CODEC_TEXT_BYTES];
    for (int i = 0; i < n_layers && codec_asks_weights(codec); i++)
        if (!layers[i].fp32 && !layers[i].weights)
            return ERR(-EINVAL,
                       "cannot use codec \"%s\": it divides by weights, and layer \"%s\" has none; "
                       "use relgrad:of=gradient or another codec, or set nc_layer.weights",
                       codec_describe(codec, text), name_of(&layers[i]));
    return 0;
}

static uint32_t tag_of(const struct nc_layer *layers, int n_layers)
{
    uint32_t tag = 0;
    for (int i = 0; i < n_layers; i++) {
        const uint64_t shape[] = {layers[i].n, layers[i].fp32 != 0, layers[i].column,
                                  layers[i].stride};
        tag = crc_more(tag, shape, sizeof shape);
    }
    return tag;
}

static void name_path(struct nc *nc)
{
    const struct job *j = &nc->blocks->job;
    struct text path = text_in(nc->path, sizeof nc->path);
    if (j->on_gpu && j->device[0])
        text_add(&path, "%s", j->device);
    else
        job_algo(j, &path);
}

struct opening {
    struct nc_options options;
    int options_rc;
    const struct nc_layer *layers;
    int n_layers;
    struct nc *nc;
    struct nc **out;
    /* copies of the layers: [n_layers] */
    struct reducer_layer *copy;
    const float **weights;
    struct job_shard shard;
};

static int open_block(struct nc *nc, struct nc_block *b)
{
    const struct opening *a = nc->opening;
    const struct nc_options *o = &a->options;
    struct job_spec spec = spec_of(o, device_of(o));
    spec.shard = a->shard;
    TRY(job_settle(b->comm, &spec, &b->job));
    err_hold();
    TRY(comm_agree(b->comm, check_weights(&b->job.codec, a->layers, a->n_layers)));
    TRY(job_open(&b->job, a->copy, a->n_layers));
    err_hold();
    TRY(comm_agree(b->comm, o->count_lost ? reducer_count_lost(b->job.reducer) : 0));
    reducer_set_weights(b->job.reducer, a->weights);
    if (nc->virtual)
        reducer_set_once(b->job.reducer);
    return 0;
}

/* No communication. */
static int make_blocks(struct nc *nc)
{
    nc->n_blocks = nc->virtual ? comm_virtual_n_here(nc->virtual) : 1;
    nc->blocks = buf_alloc((size_t)nc->n_blocks * sizeof *nc->blocks);
    if (!nc->blocks)
        return -ENOMEM;
    for (int k = 0; k < nc->n_blocks; k++) {
        struct nc_block *b = &nc->blocks[k];
        b->comm = nc->virtual ? comm_virtual_rank(nc->virtual, comm_virtual_lowest(nc->virtual) + k)
                              : nc->comm;
        TRY(nc_type_open(nc, b));
    }
    return 0;
}

/* Checks and copies the arguments, without communication. */
static int take_arguments(struct opening *a)
{
    struct nc *nc = a->nc;
    const struct nc_options *o = &a->options;
    TRY(copy_layers(device_of(o), a->layers, a->n_layers, &a->copy, &a->weights));
    TRY(nc_type_parse(o->type ? o->type : "fp32", device_of(o), &nc->type));
    TRY(check_op(o->op));
    if (o->blocks != 0 && (o->blocks < comm_n_ranks(nc->comm) || o->blocks > NC_BLOCKS_MAX))
        return ERR(-EINVAL,
                   "cannot open %d blocks in %d processes: need at least %d and at most %d, or 0",
                   o->blocks, comm_n_ranks(nc->comm), comm_n_ranks(nc->comm), NC_BLOCKS_MAX);
    nc->n_layers = a->n_layers;
    nc->layers_tag = tag_of(a->layers, a->n_layers);
    nc->n = buf_alloc((size_t)a->n_layers * sizeof *nc->n);
    nc->handed = buf_alloc((size_t)a->n_layers * sizeof *nc->handed);
    if (!nc->n || !nc->handed)
        return -ENOMEM;
    for (int i = 0; i < a->n_layers; i++)
        nc->n[i] = a->layers[i].n;
    return nc_shard_parse(nc, o, &a->shard);
}

static int open_job(struct opening *a)
{
    struct nc *nc = a->nc;
    const int blocks = a->options.blocks;
    err_hold();
    TRY(comm_agree(nc->comm, take_arguments(a)));
    TRY(comm_check_equal(nc->comm, &blocks, sizeof blocks, "the number of blocks"));
    TRY(comm_check_equal(nc->comm, &nc->type, sizeof nc->type, "the type of gradients"));
    err_hold();
    TRY(comm_agree(nc->comm, blocks ? comm_virtual_open(blocks, nc->comm, &nc->virtual) : 0));
    err_hold();
    TRY(comm_agree(nc->comm, make_blocks(nc)));
    nc->opening = a;
    TRY(nc_each(nc, open_block));
    name_path(nc);
    return 0;
}

static int close_block(struct nc *nc, struct nc_block *b)
{
    (void)nc;
    job_close(&b->job);
    return 0;
}

/* Jobs are closed before the communicator. */
static void close_jobs(struct nc *nc)
{
    if (nc->blocks)
        (void)nc_each(nc, close_block);
    comm_virtual_close(nc->virtual);
    nc->virtual = NULL;
}

static void give_back(struct nc *nc)
{
    for (int k = 0; nc && nc->blocks && k < nc->n_blocks; k++)
        nc_type_close(&nc->blocks[k]);
    if (nc)
        free(nc->blocks), free(nc->n), free(nc->handed);
    free(nc);
}

static int prepare(void *arg)
{
    struct opening *a = arg;
    if (!a->out)
        return ERR(-EINVAL, "cannot open a communicator: the pointer for it is NULL");
    if (a->options_rc < 0)
        return nc_options_refuse(a->options_rc);
    a->nc = buf_alloc(sizeof *a->nc);
    return a->nc ? 0 : -ENOMEM;
}

static int open_over_comm(struct opening *a, struct comm *comm)
{
    a->nc->comm = comm;
    const int rc = open_job(a);
    free(a->copy);
    free(a->weights);
    if (rc < 0) {
        close_jobs(a->nc);
        comm_leave(comm);
    }
    return rc;
}

static int open_in_turn(struct opening *a, struct comm_members *members)
{
    struct comm *comm;
    members->deadline_s = a->options.deadline_s;
    members->ready = prepare;
    members->arg = a;
    TRY(comm_open_on(members, &comm));
    return open_over_comm(a, comm);
}

static int open_by_mpi(struct opening *a, struct comm_members *members)
{
    int rc = comm_begin(a->options.threads != 0);
    if (rc >= 0)
        rc = comm_take_turn();
    if (rc == 0) {
        rc = open_in_turn(a, members);
        comm_give_turn();
    }
    return rc;
}

static int open_by_calls(struct opening *a, const struct nc_transport *transport)
{
    struct comm *comm;
    TRY(comm_over_open(transport, a->options.deadline_s, &comm));
    err_hold();
    const int rc = comm_agree(comm, prepare(a));
    if (rc < 0) {
        comm_leave(comm);
        return rc;
    }
    return open_over_comm(a, comm);
}

/* If members is NULL, the transport connects the ranks. */
static int open_as(struct comm_members *members, const struct nc_transport *transport,
                   const struct nc_options *options, const struct nc_layer *layers, int n_layers,
                   struct nc **out)
{
    struct opening a = {.layers = layers, .n_layers = n_layers, .out = out};
    fenv_t fp; /* the caller's mode; specs and tables need IEEE's default */
    if (out)
        *out = NULL;
    const int gpu = gpu_enter();
    fp_env_enter(&fp);
    a.options_rc = nc_options_copy(options, &a.options);
    struct err_lines lines = nc_lines(&a.options);
    struct err_lines *before = err_turn(&lines);
    const int rc = members ? open_by_mpi(&a, members) : open_by_calls(&a, transport);
    err_turn(before);
    nc_thread_failed(&lines, rc);
    gpu_leave(gpu);
    fesetenv(&fp);
    if (rc < 0) {
        give_back(a.nc);
        return rc;
    }
    a.nc->opening = NULL;
    a.nc->by_mpi = members != NULL;
    a.nc->pid = getpid();
    a.nc->opener = pthread_self();
    a.nc->log = a.options;
    a.nc->lines = a.nc->thread_lines = nc_lines(&a.nc->log);
    *out = a.nc;
    return 0;
}

int nc_open(const struct nc_options *options, const struct nc_layer *layers, int n_layers,
            struct nc **out)
{
    struct comm_members all = {.world = true};
    return open_as(&all, NULL, options, layers, n_layers, out);
}

int nc_open_on(const void *mpi_comm, const struct nc_options *options,
               const struct nc_layer *layers, int n_layers, struct nc **out)
{
    struct comm_members members = {.mpi = mpi_comm};
    return open_as(&members, NULL, options, layers, n_layers, out);
}

int nc_open_lent(const void *mpi_comm, const struct nc_options *options,
                 const struct nc_layer *layers, int n_layers, struct nc **out)
{
    struct comm_members members = {.mpi = mpi_comm, .is_lent = true};
    return open_as(&members, NULL, options, layers, n_layers, out);
}

int nc_open_fortran(int mpi_fint, const struct nc_options *options, const struct nc_layer *layers,
                    int n_layers, struct nc **out)
{
    struct comm_members members = {.fortran = &mpi_fint};
    return open_as(&members, NULL, options, layers, n_layers, out);
}

int nc_open_over(const struct nc_transport *transport, const struct nc_options *options,
                 const struct nc_layer *layers, int n_layers, struct nc **out)
{
    return open_as(NULL, transport, options, layers, n_layers, out);
}

void nc_close(struct nc *nc)
{
    if (!nc || getpid() != nc->pid)
        return;
    struct err_lines *before = err_turn(&nc->lines);
    if (nc->by_mpi && comm_is_finalized()) { /* closing would call MPI */
        err_warn("nc_close() after MPI_Finalize() closes nothing: call it before");
        err_turn(before);
        return;
    }
    fenv_t fp; /* traps would end the process at the first clock call */
    fp_env_enter(&fp);
    const int gpu = gpu_enter();
    if (atomic_load(&nc->failed)) /* over a caller's transport, no rank waits for this one */
        (void)comm_fail(nc->comm, atomic_load(&nc->failed));
    close_jobs(nc);
    /* A step begun but not completed by nc_wait() still has the turn (comm_take_turn()). */
    if (nc->has_turn)
        comm_give_turn();
    if (nc->by_mpi)
        comm_close(nc->comm);
    else
        comm_leave(nc->comm);
    err_turn(before);
    gpu_leave(gpu);
    fesetenv(&fp);
    give_back(nc);
}

void nc_abort(struct nc *nc, int code)
{
    if (!nc || getpid() != nc->pid)
        return;
    const int known = comm_failure_code(code);
    code = known ? known : -ECANCELED;
    if (!comm_fail(nc->comm, code))
        comm_abort(nc->comm, code);
    reducer_wake(nc->blocks->job.reducer);
    /* A call in progress or the step's thread tells the other ranks, or else this thread. */
    if (comm_threads(nc->comm) || pthread_equal(nc->opener, pthread_self()))
        nc_tell(nc);
}

int nc_rank(const struct nc *nc)
{
    return nc ? comm_rank(nc->comm) : -EINVAL;
}
int nc_n_ranks(const struct nc *nc)
{
    return nc ? comm_n_ranks(nc->comm) : -EINVAL;
}

int nc_n_blocks(const struct nc *nc)
{
    return nc ? nc->n_blocks : -EINVAL;
}
int nc_first_block(const struct nc *nc)
{
    return nc ? comm_rank(nc->blocks->comm) : -EINVAL;
}
