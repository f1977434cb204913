/* nc.c : the public interface: a thin face over codec, algorithm, reducer and cards. */
#include <narrowcast.h>
#include "base/buf.h"
#include "base/err.h"
#include "comm/algo.h"
#include "comm/comm.h"
#include "reduce/reducer.h"
#include "comm/comm_node.h"
#include "comm/mates_choose.h"
#include "job/choice.h"
#include "offload/offload.h"
#include "vec/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nc {
    struct comm *comm;
    struct reducer *reducer;
    struct choice choice;
    struct offload *offload; /* NULL: none */
    struct codec codec;
    const struct algo *algo;
    int group;
    bool on_gpu;   /* gradients are */
    bool gpu;      /* it is open */
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

static struct reducer_layer *copy_layers(const struct nc_layer *layers, int n_layers)
{
    struct reducer_layer *copy = buf_alloc((size_t)n_layers * sizeof *copy);
    for (int i = 0; copy && i < n_layers; i++)
        copy[i] = (struct reducer_layer){
            .name = layers[i].name, .n = layers[i].n, .fp32 = layers[i].fp32 != 0};
    return copy;
}

/* What the words mean, as far as one rank can find out alone. nc->codec is settled later: by then
 * the algorithm may be a GPU's. */
static int read_words(struct nc *nc, const struct nc_options *o, int n_layers)
{
    const struct codec_words words = {.format = o->format,
                                      .scale = o->scale,
                                      .sum = o->sum,
                                      .out_format = o->out_format,
                                      .overflow = o->overflow,
                                      .round = o->round};
    const char *algo = o->algo ? o->algo : "auto", *device = o->device ? o->device : "cpu";
    const int n_ranks = comm_n_ranks(nc->comm);
    if (n_layers < 1)
        return ERR(-EINVAL, "cannot open %d layers: need at least 1", n_layers);
    if (strcmp(device, "cpu") && strcmp(device, "cuda"))
        return ERR(-EINVAL, "unknown device \"%s\": need cpu or cuda", device);
    nc->on_gpu = !strcmp(device, "cuda");
    TRY(codec_parse(&words, &nc->codec));
    nc->codec.seed = o->seed;
    TRY(algo_find(choice_algo(algo), n_ranks, &nc->algo, &nc->group));
    struct codec settled = nc->codec;
    TRY(algo_settle(nc->algo, nc->group, n_ranks, &settled));
    return choice_cards(algo, o->offload ? o->offload : "off", &settled, n_ranks, &nc->choice);
}

/* All ranks mean the same, in whatever words, and have the same layers: else they would meet in
 * different collectives. */
static int check_ranks_agree(struct nc *nc, const struct nc_options *o,
                             const struct nc_layer *layers, int n_layers)
{
    char text[CODEC_TEXT_BYTES + 128], codec[CODEC_TEXT_BYTES];
    snprintf(text, sizeof text, "%s %llu %s:%d %zu %d", codec_describe(&nc->codec, codec),
             (unsigned long long)nc->codec.seed, nc->algo->name, nc->group, o->bucket_bytes,
             nc->on_gpu);
    TRY(comm_check_equal(nc->comm, text, strlen(text), "an option"));
    TRY(choice_agree(nc->comm, &nc->choice));
    uint64_t *shape = buf_alloc((size_t)n_layers * 2 * sizeof *shape);
    if (!shape)
        comm_abort(nc->comm, -ENOMEM); /* the others are in the comparison already */
    for (int i = 0; i < n_layers; i++) {
        shape[2 * i] = layers[i].n;
        shape[2 * i + 1] = layers[i].fp32 != 0;
    }
    int rc = comm_check_equal(nc->comm, shape, (size_t)n_layers * 2 * sizeof *shape,
                              "the list of layers");
    free(shape);
    return rc;
}

/* All ranks: a GPU for each, and by what codes travel between them. */
static int open_gpu(struct nc *nc)
{
    char said[160];
    const int place = comm_rank_on_node(nc->comm);
    TRY(place);
    err_hold();
    const int rc = gpu_open(place);
    nc->gpu = rc == 0;
    TRY(comm_agree(nc->comm, rc));
    return mates_choose(nc->comm, nc->choice.cards != NULL, nc->group, &nc->algo, &nc->codec.ops,
                        said, sizeof said);
}

static int open_reducer(struct nc *nc, const struct nc_options *o, const struct nc_layer *layers,
                        int n_layers)
{
    TRY(algo_settle(nc->algo, nc->group, comm_n_ranks(nc->comm), &nc->codec));
    struct reducer_layer *copy = copy_layers(layers, n_layers);
    if (!copy)
        return -ENOMEM;
    int rc = reducer_open(nc->comm, &nc->codec, nc->algo, nc->group, o->bucket_bytes, copy,
                          n_layers, &nc->reducer);
    free(copy);
    return rc;
}

/* All ranks. */
static int open_offload(struct nc *nc, const struct nc_options *o)
{
    if (!nc->choice.cards)
        return 0;
    const struct offload_options options = {.where = nc->choice.cards, .deadline_s = o->deadline_s};
    TRY(offload_open(nc->comm, codec_sum(&nc->codec), &options, &nc->offload));
    reducer_set_way(nc->reducer, &offload_way, nc->offload);
    return 0;
}

/* All ranks. What each of them may find wrong alike is held, and said by one. */
static int open_all(struct nc *nc, const struct nc_options *o, const struct nc_layer *layers,
                    int n_layers)
{
    err_hold();
    TRY(comm_agree(nc->comm, read_words(nc, o, n_layers)));
    TRY(check_ranks_agree(nc, o, layers, n_layers));
    if (nc->on_gpu)
        TRY(open_gpu(nc));
    err_hold();
    TRY(comm_agree(nc->comm, open_reducer(nc, o, layers, n_layers)));
    err_hold();
    return comm_agree(nc->comm, open_offload(nc, o));
}

static void close_all(struct nc *nc)
{
    offload_close(nc->offload);
    reducer_close(nc->reducer);
    if (nc->gpu)
        gpu_close();
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
        rc = open_all(nc, &o, layers, n_layers);
        if (rc < 0) {
            close_all(nc);
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
    close_all(nc);
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
    TRY(reducer_run(nc->reducer, nc->step, grads, &s));
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
    reducer_force_fp32(nc->reducer, on != 0);
}
