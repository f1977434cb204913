/* job.c : settles, opens and closes a job; ranks agree after each part. */
#include "job/job.h"
#include "base/buf.h"
#include "base/crc.h"
#include "base/err.h"
#include "job/choice.h"
#include "vec/gpu/gpu.h"
#include "comm/comm.h"
#include "comm/gpu/gpu_peers_choose.h"
#include "base/opt/opt.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses specs without communication. Settles *codec: fits it to the algorithm and the number of
 * ranks. j->codec is settled later, when the GPUs are known. near: as find_near() returns it. */
static int read_spec(const struct job_spec *w, int near, struct job *j, struct codec *codec)
{
    const int n_ranks = comm_n_ranks(j->comm);
    const char *algo = w->algo ? w->algo : "auto";
    int rc;
    if (w->shard.on && (w->codec.rescale || node_sum_wanted(w->node_sum)))
        return ERR(-EINVAL, "%s does not work with shards: leave one of them out",
                   w->codec.rescale ? "rescale" : "node_sum");
    TRY(codec_parse(&w->codec, &j->codec));
    TRY(quantise_parse(w->quantise, &j->codec, &j->leaves_small));
    j->codec.seed = w->seed;
    TRY(algo_find(choice_algo(algo), n_ranks, &j->algo, &j->group));
    j->chooses = !strcmp(choice_algo(algo), "auto");
    TRY(algo_here(j->comm, &j->algo));
    const char *cards = w->cards.where ? w->cards.where : "off";
    if (node_sum_wanted(w->node_sum) && comm_is_virtual(j->comm) && !w->emulated)
        return ERR(-EINVAL, "--node-sum %s does not work with --blocks: leave one of them out",
                   w->node_sum);
    *codec = j->codec;
    TRY(algo_settle(j->algo, j->group, n_ranks, codec));
    TRY(node_sum_check(w->node_sum, j->algo, j->group, n_ranks, codec));
    if (w->shard.on)
        TRY(shard_settle(w, &j->algo, &cards));
    if (node_sum_wanted(w->node_sum) && !strcmp(cards, "auto"))
        cards = "off"; /* the node's own card adds, not those that the environment names */
    if (node_sum_wanted(w->node_sum) && strcmp(cards, "off") != 0)
        return ERR(-EINVAL,
                   "--node-sum %s does not work with --offload '%s': leave one of them out",
                   w->node_sum, cards);
    if (j->chooses && codec_sum(codec) == codec_card_sum(codec))
        j->cards.near = near;
    TRY(choice_cards(algo, cards, codec, offload_n_masters(codec_sum(codec), n_ranks, &j->cards),
                     &j->cards.where, j->no_cards, sizeof j->no_cards));
    j->cards.needed = !strcmp(algo, "offload");
    if (j->cards.where && (rc = offload_check_names(j->cards.where)) < 0) {
        if (!strcmp(cards, "auto"))
            err_add(" (NARROWCAST_OFFLOAD names it; offload off ignores that)");
        return rc;
    }
    if (w->emulated)
        j->cards.where = NULL, j->no_cards[0] = 0;
    return 0;
}

enum { LINES_MAX = CODEC_TEXT_BYTES + 384 };

/* Returns the checksum of the values of lines "name=value\n", joined by blanks. States hold it. */
static uint32_t tag_of(const char *lines)
{
    char text[LINES_MAX];
    struct text to = text_in(text, sizeof text);
    for (const char *at = lines; *at; at += strcspn(at, "\n") + 1) {
        const char *value = strchr(at, '=') + 1;
        text_add(&to, "%s%.*s", to.n ? " " : "", (int)strcspn(value, "\n"), value);
    }
    return crc_of(text, to.n);
}

/* lines: as opt_lines_differ() compares them. Rank 0 reports the first rank that differs. */
static int same_as_rank_0(struct comm *c, const char lines[LINES_MAX])
{
    char other[LINES_MAX];
    struct opt_difference differ;
    const int n_ranks = comm_n_ranks(c), rank = comm_rank(c);
    memcpy(other, lines, LINES_MAX);
    TRY(comm_bcast(c, other, LINES_MAX, 0));
    float left = opt_lines_differ(lines, other, &differ) ? (float)(n_ranks - rank) : 0;
    TRY(comm_max_f32(c, &left, 1));
    if (left == 0)
        return 0;
    const int first = n_ranks - (int)left;
    memcpy(other, lines, LINES_MAX);
    TRY(comm_bcast(c, other, LINES_MAX, first));
    if (rank > 0)
        return -EPROTO;
    (void)opt_lines_differ(other, lines, &differ);
    return ERR(-EPROTO, "an option differs between ranks: %s is '%s' on rank %d, '%s' on rank 0",
               differ.name, differ.mine, first, differ.theirs);
}

/* Checks specs, because ranks with different ones would enter different collectives. */
static int check_same_spec(struct job *j, const struct codec *c, const struct job_spec *w)
{
    char lines[LINES_MAX] = "", codec[CODEC_TEXT_BYTES];
    struct text to = text_in(lines, sizeof lines);
    text_add(&to,
             "codec=%s\nsum instead of mean=%d\nquantise large=%d\nseed=%llu\nalgo=%s:%d\n"
             "bucket_bytes=%zu\ndevice cuda=%d\noverlap=%d\nnode_sum=%d\n",
             codec_describe(c, codec), w->sums, j->leaves_small, (unsigned long long)c->seed,
             j->algo->name, j->group, j->bucket_bytes, (int)w->gpu, (int)w->overlap,
             node_sum_wanted(w->node_sum));
    shard_describe(&j->shard, comm_n_ranks(j->comm), &to);
    j->tag = tag_of(lines);
    /* the choice changes messages, not bits */
    text_add(&to, "algo auto=%d\nmessage_bytes=%zu\n", j->chooses, comm_message_bytes(j->comm));
    assert(!to.full);
    TRY(same_as_rank_0(j->comm, lines));
    return choice_agree(j->comm, j->cards.where);
}

/* Returns K if K consecutive ranks are near: those of a machine, else virtual ranks of a process.
 * Less than 2 if not, or a negative errno. */
static int find_near(struct comm *c)
{
    const int here = comm_n_here(c), processes = comm_n_processes(c);
    int k = 0;
    if (comm_n_ranks(c) > 3)
        TRY(k = comm_ranks_per_machine(c));
    return !k && processes > 1 && here * processes == comm_n_ranks(c) ? here : k;
}

/* Sets job->near: K, if K near ranks should add their codes first, because the wide word of their
 * sum and one result are shorter than K codes and results. */
static void choose_near(struct job *j, int k, const struct codec *codec)
{
    const struct vec_sum *sum = codec_sum(codec);
    if (k < 2 || !j->chooses || j->algo != &algo_direct || j->low_memory || !sum ||
        sum->rule != VEC_EXACT)
        return;
    const unsigned wide = (unsigned)mf_wide_bits(sum->in, (unsigned)k), in = mf_width(sum->in),
                   out = mf_width(sum->out);
    if (wide + out < (unsigned)k * (in + out))
        j->near = k;
}

static int check_on_gpu(const struct codec *codec)
{
    const struct vec_sum *sum = codec_sum(codec);
    return sum && sum->acc.e && !mf_holds(sum->acc, sum->in)
               ? ERR(-EINVAL, "a GPU cannot add in an --acc-format that is narrower than --format: "
                              "use --device cpu")
               : 0;
}

static int settle(struct job *j, const struct job_spec *spec)
{
    struct codec codec;
    const int near = find_near(j->comm);
    TRY(near);
    err_hold();
    TRY(comm_agree(j->comm, read_spec(spec, near, j, &codec)));
    TRY(check_same_spec(j, &codec, spec));
    choose_near(j, near, &codec);
    TRY(job_gpu(j, spec->gpu, spec->layers));
    if (!j->bucket_bytes)
        j->bucket_bytes = (size_t)(j->on_gpu ? 8 : 1) << 20;
    if (j->on_gpu && spec->halves)
        j->codec.type = VEC_HALF;
    if (node_sum_wanted(j->node_word))
        j->algo = &algo_group_scatter_card;
    j->overlap = spec->overlap == JOB_YES || (spec->overlap == JOB_AUTO && j->on_gpu);
    err_hold();
    int rc = algo_settle(j->algo, j->group, comm_n_ranks(j->comm), &j->codec);
    if (rc == 0 && j->on_gpu)
        rc = check_on_gpu(&j->codec);
    if (rc == 0 && spec->sums)
        rc = codec_set_sums(&j->codec);
    if (rc == 0 && j->shard.on && !j->shard.rounded)
        codec_set_unrounded(&j->codec);
    return comm_agree(j->comm, rc);
}

int job_settle(struct comm *c, const struct job_spec *spec, struct job *out)
{
    struct job j = {.comm = c,
                    .bucket_bytes = spec->bucket_bytes,
                    .cards = spec->cards,
                    .low_memory = spec->low_memory,
                    .shard = spec->shard,
                    .node_word = spec->emulated ? NULL : spec->node_sum};
    const int rc = settle(&j, spec);
    if (rc < 0)
        job_close(&j);
    else
        *out = j;
    return rc;
}

static int check_same_layers(struct comm *c, const struct reducer_layer *layers, int n_layers)
{
    const size_t bytes = (size_t)n_layers * 4 * sizeof(uint64_t);
    err_hold();
    uint64_t(*shape)[4] = buf_alloc(bytes);
    const int there = comm_agree(c, shape ? 0 : -ENOMEM);
    if (there < 0) {
        free(shape);
        return there;
    }
    for (int i = 0; i < n_layers; i++) {
        const struct reducer_layer *l = &layers[i];
        memcpy(shape[i], (uint64_t[]){l->n, l->fp32, l->column, l->stride}, sizeof shape[i]);
    }
    const int rc = comm_check_equal(c, shape, bytes, "the list of layers");
    free(shape);
    return rc;
}

static int open_cards(struct job *j)
{
    if (!j->cards.where)
        return 0;
    TRY(offload_open(j->comm, codec_card_sum(&j->codec), &j->cards, &j->offload));
    return reducer_set_card_path(j->reducer, &offload_card_path, j->offload);
}

static int open_node(struct job *j)
{
    if (!node_sum_wanted(j->node_word))
        return 0;
    TRY(node_sum_open(j->comm, j->node_word, &j->cards, codec_sum(&j->codec), &j->node));
    reducer_set_node_sum(j->reducer, node_sum_algo(j->node));
    return 0;
}

/* The caller frees *out. */
static int copy_layers(const struct job *j, const struct reducer_layer *layers, int n_layers,
                       struct reducer_layer **out)
{
    const size_t bytes = (size_t)n_layers * sizeof *layers;
    struct reducer_layer *own = buf_alloc(bytes);
    if (!own)
        return -ENOMEM;
    memcpy(own, layers, bytes);
    const int rc = j->leaves_small ? quantise_leave_small(own, n_layers) : 0;
    if (rc < 0)
        free(own);
    else
        *out = own;
    return rc;
}

static struct reducer_spec reducer_of(const struct job *j, const struct reducer_layer *own,
                                      int n_layers)
{
    return (struct reducer_spec){.comm = j->comm,
                                 .codec = &j->codec,
                                 .algo = j->algo,
                                 .group = j->group,
                                 .bucket_bytes = j->bucket_bytes,
                                 .layers = own,
                                 .n_layers = n_layers,
                                 .low = j->low_memory};
}

/* Sets *pays if one message with codes and exponents (algo_gather_sum) is fastest; never with
 * cards, which answer each packet, or with overlap, which sends buckets early. */
static int short_pays(const struct job *j, const struct reducer_spec *spec, bool *pays)
{
    const int n_ranks = comm_n_ranks(j->comm);
    struct reducer_bytes bytes;
    *pays = false;
    if (j->cards.where || j->overlap)
        return 0;
    TRY(reducer_measure(spec, &bytes));
    *pays = reducer_short_pays(n_ranks, reducer_short_bytes(&j->codec, &algo_gather_sum, n_ranks,
                                                            spec->n_layers, bytes.sent));
    return 0;
}

static int choose_algo(const struct job *j, struct reducer_spec *spec)
{
    bool pays;
    if (!j->chooses || j->algo != &algo_direct || j->on_gpu || j->low_memory)
        return 0;
    TRY(short_pays(j, spec, &pays));
    if (pays)
        spec->algo = &algo_gather_sum;
    else if (j->near)
        spec->algo = &algo_group_scatter_exact, spec->group = j->near;
    return 0;
}

/* No communication. */
static int open_reducer(struct job *j, const struct reducer_layer *layers, int n_layers)
{
    struct reducer_layer *own;
    TRY(copy_layers(j, layers, n_layers, &own));
    struct reducer_spec spec = reducer_of(j, own, n_layers);
    int rc = choose_algo(j, &spec);
    j->algo = spec.algo;
    j->group = spec.group;
    if (rc == 0)
        rc = j->shard.on ? shard_reducer(j, spec) : reducer_open(&spec, &j->reducer);
    free(own);
    return rc;
}

int job_measure(const struct job *j, const struct reducer_layer *layers, int n_layers,
                struct reducer_bytes *out)
{
    struct reducer_layer *own;
    TRY(copy_layers(j, layers, n_layers, &own));
    struct reducer_spec spec = reducer_of(j, own, n_layers);
    int rc = choose_algo(j, &spec);
    if (rc == 0)
        rc = reducer_measure(&spec, out);
    free(own);
    return rc;
}

int job_open(struct job *j, const struct reducer_layer *layers, int n_layers)
{
    TRY(check_same_layers(j->comm, layers, n_layers));
    err_hold();
    TRY(comm_agree(j->comm, open_reducer(j, layers, n_layers)));
    err_hold();
    TRY(comm_agree(j->comm, j->overlap ? reducer_set_overlap(j->reducer, true) : 0));
    err_hold();
    TRY(comm_agree(j->comm, open_cards(j)));
    err_hold();
    return comm_agree(j->comm, open_node(j));
}

void job_close(struct job *j)
{
    reducer_close(j->reducer); /* first, because its thread may use the cards */
    offload_close(j->offload);
    node_sum_close(j->node);
    if (j->on_gpu)
        gpu_close();
    *j = (struct job){.comm = NULL};
}

void job_algo(const struct job *j, struct text *to)
{
    text_add(to, j->group ? "%s:%d" : "%s", j->algo->name, j->group);
}

void job_path(struct job *j, struct text *to)
{
    if (j->offload && offload_is_open(j->offload))
        text_add(to, "offload through %s", offload_describe(j->offload));
    else if (*j->no_cards)
        text_add(to, "%s: %s", j->algo->name, j->no_cards);
    else if (j->node) {
        text_add(to, "%s:%d, added ", j->algo->name, j->group);
        node_sum_describe(j->node, to);
    }
}

static int all_have_one(struct comm *c, bool layers, char *why, size_t size)
{
    int8_t none = !gpu_here(layers, why, size);
    TRY(comm_max_i8(c, &none, 1));
    return !none;
}

/* A caller with a transport of its own has chosen: its ranks may be some of a machine's. */
static int take(struct job *j)
{
    const bool chosen = !comm_is_mpi(j->comm) && !comm_is_virtual(j->comm);
    const int place = comm_rank_on_node(j->comm);
    TRY(place);
    err_hold();
    const int rc = gpu_open(chosen ? GPU_CURRENT : place);
    j->on_gpu = rc == 0;
    TRY(comm_agree(j->comm, rc));
    int8_t shares = !chosen && place >= gpu()->run->count();
    TRY(comm_max_i8(j->comm, &shares, 1));
    j->shares_gpus = shares;
    return 0;
}

/* Lets near ranks add first, except where NCCL connects all GPUs beside a transport of the
 * caller's, which may be slow (gloo): sums of nodes would travel through it. */
static int group_near(struct job *j, bool cards)
{
    int by_nccl = 0;
    if (!j->near || comm_is_virtual(j->comm))
        return 0;
    if (!comm_is_mpi(j->comm))
        TRY(by_nccl = gpu_peers_take_nccl(j->comm, j->algo, cards));
    if (!by_nccl)
        j->algo = &algo_group_scatter_exact, j->group = j->near;
    return 0;
}

int job_gpu(struct job *j, enum job_if wanted, bool layers)
{
    const bool cards = j->cards.where || node_sum_wanted(j->node_word);
    if (wanted == JOB_NO)
        return 0;
    const int here =
        wanted == JOB_YES ? 1 : all_have_one(j->comm, layers, j->device, sizeof j->device);
    if (here <= 0)
        return here;
    TRY(take(j));
    err_hold();
    int rc = group_near(j, cards);
    if (rc == 0)
        rc = gpu_peers_choose(j->comm, cards, codec_rescales(&j->codec), j->group, &j->algo,
                              &j->codec.ops, j->device, sizeof j->device);
    return comm_agree(j->comm, rc);
}
