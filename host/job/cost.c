/* cost.c : models the time of a step's all-reduce, from casts to cards. */
#include "base/buf.h"
#include "base/err.h"
#include "job/cost.h"
#include "offload/window/frame.h"
#include "reduce/bucket.h"
#include "hls/card/card.h"
#include "hls/card/packet.h"
#include <math.h>
#include <stdlib.h>

struct cut {
    struct bucket *buckets;     /* [n_layers] */
    struct codec_layer *placed; /* [n_layers] */
    int *bucket_of;             /* [n_layers] */
    int n;
};

static void uncut(struct cut *c)
{
    free(c->buckets);
    free(c->placed);
    free(c->bucket_of);
}

static int cut_up(const struct cost_job *job, struct cut *c)
{
    const size_t n = (size_t)job->n_layers;
    *c = (struct cut){.buckets = buf_alloc(n * sizeof *c->buckets),
                      .placed = buf_alloc(n * sizeof *c->placed),
                      .bucket_of = buf_alloc(n * sizeof *c->bucket_of)};
    if (!c->buckets || !c->placed || !c->bucket_of) {
        uncut(c);
        return -ENOMEM;
    }
    c->n = bucket_cut(job->layers, job->n_layers, job->codecs, false, job->bucket_bytes, c->buckets,
                      c->placed, c->bucket_of);
    return 0;
}

static double encode_s(const struct cost_job *job, const struct bucket *b)
{
    return 4 * (double)b->n * job->rates[b->fp32].encode_s;
}

/* of n buckets */
static double exponents_s(const struct cost_job *job, const struct cost_cluster *cluster,
                          const struct bucket *b, int n)
{
    size_t exponents = 0;
    for (int i = 0; i < n; i++)
        for (int l = 0; l < b[i].n_layers; l++)
            exponents += codec_n_exponents(&job->codecs[b[i].fp32], b[i].call.layers[l].n);
    return cost_collective_s(cluster, job->rates[0].message_s, exponents);
}

static double vote_s(const struct cost_job *job, const struct cost_cluster *cluster,
                     struct cost *sum)
{
    const double s =
        job->by_card ? cost_collective_s(cluster, job->rates[0].message_s, sizeof(uint64_t)) : 0;
    sum->latency_s += s, sum->reduce_s += s;
    return s;
}

static void bucket_cost(const struct cost_job *job, const struct cost_cluster *cluster,
                        const struct bucket *b, struct cost *sum)
{
    if (job->by_card && !b->fp32)
        cost_card(job, cluster, b->n, sum);
    else
        cost_messages(job, cluster, b->fp32, &b->op, b->n, sum);
}

/* Returns 0 if exponents and codes travel separately. */
static size_t message_bytes(const struct cost_job *job, const struct cost_cluster *cluster,
                            const struct algo *algo, const struct cut *cut)
{
    uint64_t code_bytes = 0;
    for (int i = 0; i < cut->n; i++)
        code_bytes += reduce_op_in_at(&cut->buckets[i].op, cut->buckets[i].n);
    return job->by_card ? 0
                        : reducer_short_bytes(&job->codecs[0], algo, cluster->n_ranks,
                                              job->n_layers, code_bytes);
}

static const struct algo *choose_algo(const struct cost_job *job,
                                      const struct cost_cluster *cluster, const struct cut *cut)
{
    const bool may = job->chooses && job->algo == &algo_direct && job->backward_s == 0;
    return may && reducer_short_pays(cluster->n_ranks,
                                     message_bytes(job, cluster, &algo_gather_sum, cut))
               ? &algo_gather_sum
               : job->algo;
}

static void one_after_the_other(const struct cost_job *job, const struct cost_cluster *cluster,
                                const struct cut *cut, struct cost *sum)
{
    double casts = 0;
    for (int i = 0; i < cut->n; i++) {
        casts += encode_s(job, &cut->buckets[i]);
        bucket_cost(job, cluster, &cut->buckets[i], sum);
    }
    if (!message_bytes(job, cluster, job->algo, cut))
        sum->exponent_s = exponents_s(job, cluster, cut->buckets, cut->n);
    sum->cast_s += casts;
    sum->reduce_s += casts + sum->exponent_s;
    (void)vote_s(job, cluster, sum);
    sum->exposed_s = sum->reduce_s;
}

/* A bucket begins when its first layer is ready and the previous bucket has travelled. Layers
 * become ready from last to first, in proportion to their elements. */
static void beside_backward(const struct cost_job *job, const struct cost_cluster *cluster,
                            const struct cut *cut, struct cost *sum)
{
    double all = 0, ends = 0;
    for (int i = 0; i < job->n_layers; i++)
        all += (double)job->layers[i].n;
    for (int i = 0; i < cut->n; i++) {
        const struct bucket *b = &cut->buckets[i];
        const double before = sum->reduce_s, exponents = exponents_s(job, cluster, b, 1);
        double ready = 0;
        for (int l = b->first; l < job->n_layers; l++)
            ready += (double)job->layers[l].n / all * job->backward_s;
        bucket_cost(job, cluster, b, sum);
        sum->cast_s += encode_s(job, b);
        sum->exponent_s += exponents;
        sum->reduce_s += encode_s(job, b) + exponents;
        ends = (ends > ready ? ends : ready) + sum->reduce_s - before;
    }
    ends += vote_s(job, cluster, sum);
    sum->exposed_s = ends > job->backward_s ? ends - job->backward_s : 0;
}

int cost_step(const struct cost_job *job, const struct cost_cluster *cluster, struct cost *out)
{
    struct cost sum = {0};
    struct cut cut;
    TRY(cut_up(job, &cut));
    sum.n_buckets = cut.n;
    struct cost_job by = *job;
    by.algo = choose_algo(job, cluster, &cut);
    if (job->backward_s > 0)
        beside_backward(&by, cluster, &cut, &sum);
    else
        one_after_the_other(&by, cluster, &cut, &sum);
    uncut(&cut);
    sum.step_s = job->compute_s + sum.exposed_s;
    *out = sum;
    return 0;
}

int cost_held(const struct cost_job *job, size_t *elements)
{
    struct cut cut;
    TRY(cut_up(job, &cut));
    *elements = bucket_most_of_two(cut.buckets, cut.n);
    uncut(&cut);
    return 0;
}

enum { UDP_HEADERS = 28 }; /* IP and UDP */

static int frame_beats(int mtu)
{
    const int room = (mtu - UDP_HEADERS - PKT_HEADER_BYTES) / PKT_BEAT_BYTES;
    return room < 1 ? 1 : room < CARD_BEATS ? room : CARD_BEATS;
}

size_t cost_frame_bytes(int mtu)
{
    return PKT_HEADER_BYTES + (size_t)frame_beats(mtu) * PKT_BEAT_BYTES;
}

/* Traffic of members with a card for n elements. Near ranks may be one member. */
struct card_load {
    int members, here; /* here: members that share a port */
    double frames;
    double up, down; /* bytes of a member with headers of IP and UDP */
    /* of a member that near ranks send codes to: messages there and back, addends, wire */
    double near_bytes, near_added, near_s;
    int near_steps;
};

static struct card_load card_load(const struct cost_job *job, const struct cost_cluster *cluster,
                                  size_t n)
{
    const struct vec_sum *own = codec_card_sum(&job->codecs[0]);
    struct vec_sum near, codes = *own;
    const int k = cluster->near > 1 ? cluster->near : 1;
    const bool first = job->near_first && card_near(own, cluster->n_ranks, k, false, &near, &codes);
    const size_t in = mf_width(codes.in), out = mf_width(codes.out);
    const size_t each =
        (size_t)frame_beats(cluster->mtu) * PKT_BEAT_BYTES * 8 / (in > out ? in : out);
    const double frames = (double)((n + each - 1) / each);
    const double headers = frames * (UDP_HEADERS + PKT_HEADER_BYTES);
    struct card_load l = {.members = first ? cluster->n_ranks / k : cluster->n_ranks,
                          .here = first                  ? 1
                                  : k < cluster->n_ranks ? k
                                                         : cluster->n_ranks,
                          .frames = frames,
                          .up = (double)vec_bytes(codes.in, n) + headers,
                          .down = (double)vec_bytes(codes.out, n) + headers,
                          .near_steps = first ? 2 : 0};
    if (first) {
        const double to = (double)vec_bytes(own->in, n), from = (double)vec_bytes(own->out, n);
        l.near_bytes = (k - 1) * (to + from);
        l.near_added = k * to;
        if (cluster->node_link_bps > 0)
            l.near_s =
                (k - 1) * fmax(to, from) / cost_payload_s(cluster->node_link_bps, cluster->mtu);
    }
    return l;
}

/* of the busier of a member's port and the card's, per member */
static double card_wire_s(const struct cost_cluster *cluster, const struct card_load *l,
                          struct cost *sum)
{
    const double port = cluster->card_link_bps > 0 ? cluster->card_link_bps : cluster->link_bps;
    const double bps = fmin(cluster->link_bps, port * l->here / l->members);
    const double carried = l->here * (fmax(l->up, l->down) + l->frames * COST_ETHERNET);
    return fmax(l->near_s, cost_wire_s(cluster, sum, carried, bps / 8));
}

void cost_card(const struct cost_job *job, const struct cost_cluster *cluster, size_t n,
               struct cost *sum)
{
    const struct cost_rates *rates = &job->rates[0];
    const struct card_load l = card_load(job, cluster, n);
    const double bytes = 4 * (double)n, frame_bytes = l.up - l.frames * UDP_HEADERS;
    const double rtt = cluster->card_rtt_s > 0 ? cluster->card_rtt_s : 2 * cluster->latency_s;
    const double wire = card_wire_s(cluster, &l, sum);
    const double window = cluster->card_slots > 0 ? l.frames / cluster->card_slots * rtt : 0;
    const double card = l.members * frame_bytes * cost_at(&cluster->card_s, bytes);
    const double slowest = fmax(wire, fmax(window, card));
    const double waits = rtt + l.near_steps * cluster->latency_s;
    /* A card simulated on the ranks' cores doubles a rank's CPU time for messages, and adds the
     * rank's codes there. */
    const double port_s = cost_at(&rates->port_s, bytes);
    const double messages = (l.up + l.down) * port_s + 2 * l.frames * rates->message_s;
    const double port = (cluster->card_on_host ? 2 : 1) * messages + l.near_bytes * port_s;
    const double codes = frame_bytes - l.frames * PKT_HEADER_BYTES;
    const double adds = (l.near_added + (cluster->card_on_host ? codes : 0)) * rates->add_s;
    const double decodes = bytes * rates->decode_s;
    sum->steps += (uint64_t)(2 + l.near_steps);
    sum->bytes += (uint64_t)(l.here * fmax(l.up, l.down));
    sum->latency_s += waits, sum->wire_s += slowest;
    sum->port_s += port, sum->add_s += adds, sum->cast_s += decodes;
    sum->reduce_s +=
        waits + cost_together(slowest, port + adds + decodes, cost_at(&rates->unhidden, bytes));
}
