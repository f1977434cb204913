/* nc.c : the public interface: a thin face over codec, algorithm, reducer and cards. */
#include <narrowcast.h>
#include "base/buf.h"
#include "base/err.h"
#include "comm/algo.h"
#include "comm/comm.h"
#include "comm/reducer.h"
#include "offload/choice.h"
#include "offload/offload.h"
#include <stdio.h>
#include <stdlib.h>

struct nc {
    struct comm *comm;
    struct reducer *reducer;
    struct choice choice;
    struct offload *offload; /* NULL: none */
    struct codec codec;
    uint64_t step; /* keys random bits */
};

const char *nc_version(void)
{
    return NC_VERSION;
}

struct nc_options nc_options_default(void)
{
    return (struct nc_options){.bucket_bytes = (size_t)1 << 20, .deadline_s = 60, .seed = 1};
}

static struct reducer_layer *copy_layers(const struct nc_layer *layers, int n_layers)
{
    struct reducer_layer *copy = buf_alloc((size_t)n_layers * sizeof *copy);
    for (int i = 0; copy && i < n_layers; i++)
        copy[i] = (struct reducer_layer){.name = layers[i].name, .n = layers[i].n, .fp32 = layers[i].fp32 != 0};
    return copy;
}

/* What one rank can find out alone. */
static int open_reducer(struct nc *nc, const struct nc_options *o, const struct nc_layer *layers, int n_layers)
{
    const struct codec_words words = {.format = o->format,
                                      .scale = o->scale,
                                      .sum = o->sum,
                                      .out_format = o->out_format,
                                      .overflow = o->overflow,
                                      .round = o->round};
    const int n_ranks = comm_n_ranks(nc->comm);
    const char *algo_word = o->algo ? o->algo : "auto";
    struct codec codec;
    const struct algo *algo;
    int group;
    if (n_layers < 1)
        return ERR(-EINVAL, "cannot open %d layers: need at least 1", n_layers);
    TRY(codec_parse(&words, &codec));
    codec.seed = o->seed;
    TRY(algo_find(choice_algo(algo_word), n_ranks, &algo, &group));
    TRY(algo_settle(algo, group, n_ranks, &codec));
    TRY(choice_cards(algo_word, o->offload ? o->offload : "off", &codec, n_ranks, &nc->choice));
    nc->codec = codec;
    struct reducer_layer *copy = copy_layers(layers, n_layers);
    if (!copy)
        return -ENOMEM;
    int rc = reducer_open(nc->comm, &codec, algo, group, o->bucket_bytes, copy, n_layers, &nc->reducer);
    free(copy);
    return rc;
}

/* All ranks. */
static int open_offload(struct nc *nc, const struct nc_options *o)
{
    if (!nc->choice.cards)
        return 0;
    const struct offload_options options = {.where = nc->choice.cards, .deadline_s = o->deadline_s};
    TRY(offload_open(nc->comm, &nc->codec, &options, &nc->offload));
    reducer_set_way(nc->reducer, &offload_way, nc->offload);
    return 0;
}

static const char *word(const char *given)
{
    return given ? given : "";
}

/* All ranks were opened with the same options and layers. */
static int check_ranks_agree(struct nc *nc, const struct nc_options *o, const struct nc_layer *layers, int n_layers)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s %s %s %s %s %s %s %s %zu %llu", word(o->format), word(o->scale),
                          word(o->sum), word(o->out_format), word(o->overflow), word(o->round), word(o->algo),
                          word(o->offload), o->bucket_bytes, (unsigned long long)o->seed);
    TRY(comm_check_equal(nc->comm, text, (size_t)length < sizeof text ? (size_t)length : sizeof text, "an option"));
    uint64_t *shape = buf_alloc((size_t)n_layers * 2 * sizeof *shape);
    if (!shape)
        comm_abort(nc->comm, -ENOMEM); /* the others are in the comparison already */
    for (int i = 0; i < n_layers; i++) {
        shape[2 * i] = layers[i].n;
        shape[2 * i + 1] = layers[i].fp32 != 0;
    }
    int rc = comm_check_equal(nc->comm, shape, (size_t)n_layers * 2 * sizeof *shape, "the list of layers");
    free(shape);
    return rc;
}

int nc_open(const struct nc_options *options, const struct nc_layer *layers, int n_layers, struct nc **out)
{
    const struct nc_options o = options ? *options : nc_options_default();
    struct nc *nc = buf_alloc(sizeof *nc);
    if (!nc)
        return -ENOMEM;
    int rc = comm_open(o.deadline_s, &nc->comm);
    if (rc < 0)
        goto free_nc;
    err_hold();
    rc = comm_agree(nc->comm, open_reducer(nc, &o, layers, n_layers));
    if (rc == 0)
        rc = check_ranks_agree(nc, &o, layers, n_layers);
    if (rc == 0)
        rc = comm_agree(nc->comm, open_offload(nc, &o));
    if (rc == 0) {
        *out = nc;
        return 0;
    }
    offload_close(nc->offload);
    reducer_close(nc->reducer);
    comm_close(nc->comm);
free_nc:
    free(nc);
    return rc;
}

void nc_close(struct nc *nc)
{
    if (!nc)
        return;
    offload_close(nc->offload);
    reducer_close(nc->reducer);
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
