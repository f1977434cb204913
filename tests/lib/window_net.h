/* window_net.h : simulates ranks, C cards, a clock and their network in one thread. A seeded
 * stream loses, repeats, delays and reorders datagrams, for each rank of a multicast group on
 * its own. */
#ifndef WINDOW_NET_H
#define WINDOW_NET_H
#include "base/buf.h"
#include "base/err.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "hls/card/regs.h"
#include "offload/window/window_inside.h"
#include "sim/card_model.h"
#include <stdlib.h>
#include <string.h>

enum { NET_RANKS = 4, NET_CARDS = 4, NET_QUEUE = 90, NET_IP = 0x0a000001, NET_PORT = 5000 };
static const struct fpga_rank net_group = {0xef010203, 6000};
static const double net_tick_s = 20e-6, net_delay_s = 60e-6;

struct net;
struct net_datagram {
    double at;
    uint64_t seq;
    int rank, card;
    bool to_card, to_group;
    size_t n;
    uint8_t bytes[CARD_FRAME_BYTES];
};

struct net_wire {
    struct net *net;
    int rank, card, n;
    struct net_datagram *queue[NET_QUEUE], *reading;
};

struct net_card {
    struct net *net;
    int index;
    struct card *model;
    struct fpga fpga;
    bool silent;
};

struct net {
    double now;
    uint64_t seed, draws, seq, lost_full;
    double drop, dup, reorder;
    /* largest datagrams that hosts can send and that arrive; 0: no limit */
    size_t known, narrow;
    struct net_datagram **heap;
    size_t n_heap, room;
    struct net_wire wires[NET_RANKS][NET_CARDS], group_wires[NET_RANKS][NET_CARDS];
    unsigned group_failed;                     /* ranks that do not receive from the group */
    void (*overhear)(const uint8_t *, size_t); /* called with data for the group; or NULL */
    uint64_t card_frames[2], card_bytes[2];    /* sent by cards to ranks, to the group */
    struct net_card cards[NET_CARDS];
    /* per rank's port */
    uint64_t bytes_out[NET_RANKS], bytes_in[NET_RANKS];
};

static double net_draw(struct net *net)
{
    return philox_u32(net->seed, net->draws++) * 0x1p-32;
}

static bool net_before(const struct net_datagram *a, const struct net_datagram *b)
{
    return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void net_swap(struct net *net, size_t i, size_t k)
{
    struct net_datagram *d = net->heap[i];
    net->heap[i] = net->heap[k];
    net->heap[k] = d;
}

static void net_put(struct net *net, struct net_datagram d, double delay_s)
{
    if (net->n_heap == net->room)
        net->heap =
            realloc(net->heap, (net->room = 2 * net->room + 64) * sizeof(struct net_datagram *));
    struct net_datagram *copy = malloc(sizeof d);
    if (!copy || !net->heap)
        exit(1);
    *copy = d;
    copy->at = net->now + delay_s;
    copy->seq = net->seq++;
    size_t i = net->n_heap++;
    for (net->heap[i] = copy; i && net_before(net->heap[i], net->heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        net_swap(net, i, (i - 1) / 2);
}

static struct net_datagram *net_pop(struct net *net)
{
    struct net_datagram *d = net->heap[0];
    net->heap[0] = net->heap[--net->n_heap];
    for (size_t i = 0, k; (k = 2 * i + 1) < net->n_heap; i = k) {
        if (k + 1 < net->n_heap && net_before(net->heap[k + 1], net->heap[k]))
            k++;
        if (!net_before(net->heap[k], net->heap[i]))
            break;
        net_swap(net, i, k);
    }
    return d;
}

/* Sends a datagram, which the network may lose, repeat or delay. */
static void net_send(struct net *net, struct net_datagram d, const uint8_t *bytes, size_t n)
{
    d.n = n;
    CHECK(n <= sizeof d.bytes, "%zu bytes", n);
    if (net->narrow && n > net->narrow)
        return;
    memcpy(d.bytes, bytes, n);
    for (int copies = 1 + (net_draw(net) < net->dup); copies > 0; copies--) {
        const bool lost = net_draw(net) < net->drop, late = net_draw(net) < net->reorder;
        if (!lost)
            net_put(net, d, net_delay_s * (1 + net_draw(net) * (late ? 20 : 0.1)));
    }
}

static int net_wire_send(void *wire, const uint8_t *bytes, size_t n)
{
    const struct net_wire *w = wire;
    if (w->net->known && n > w->net->known)
        return -EMSGSIZE;
    w->net->bytes_out[w->rank] += n;
    net_send(w->net, (struct net_datagram){.rank = w->rank, .card = w->card, .to_card = true},
             bytes, n);
    return 0;
}

static int net_wire_flush(void *wire)
{
    (void)wire;
    return 0;
}

static int net_wire_receive(void *wire, const uint8_t **bytes, size_t *n)
{
    struct net_wire *w = wire;
    free(w->reading);
    w->reading = NULL;
    if (!w->n)
        return 0;
    w->reading = w->queue[0];
    memmove(w->queue, w->queue + 1, (size_t)--w->n * sizeof *w->queue);
    *bytes = w->reading->bytes;
    *n = w->reading->n;
    return 1;
}

static size_t net_wire_most(const void *wire)
{
    const struct net *net = ((const struct net_wire *)wire)->net;
    return net->known ? net->known : CARD_FRAME_BYTES;
}

static void net_wire_close(void *wire)
{
    (void)wire;
}

static const struct wire_ops net_wire_ops = {
    .send = net_wire_send,
    .flush = net_wire_flush,
    .receive = net_wire_receive,
    .most = net_wire_most,
    .close = net_wire_close,
};

static void net_card_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    const struct net_card *card = arg;
    const bool to_group = ip == net_group.ip && port == net_group.port;
    card->net->card_frames[to_group]++;
    card->net->card_bytes[to_group] += n;
    if (to_group && card->net->overhear)
        card->net->overhear(bytes, n);
    struct net_datagram d = {.card = card->index, .to_group = true};
    for (; to_group && d.rank < NET_RANKS; d.rank++)
        if (!(card->net->group_failed >> d.rank & 1))
            net_send(card->net, d, bytes, n);
    if (to_group)
        return;
    CHECK(ip - NET_IP < NET_RANKS && port == NET_PORT + card->index, "%08x:%u", ip, port);
    net_send(card->net, (struct net_datagram){.rank = (int)(ip - NET_IP), .card = card->index},
             bytes, n);
}

static int net_card_batch(struct fpga *fpga, struct fpga_op *ops, size_t n, size_t *done,
                          double timeout_s)
{
    struct net_card *card = fpga->own;
    (void)timeout_s;
    for (*done = 0; *done < n; ++*done) {
        struct fpga_op *op = &ops[*done];
        if (op->read ? card_read(card->model, op->at, &op->value)
                     : card_write(card->model, op->at, op->value))
            return 0;
    }
    return 0;
}

static const struct fpga_ops net_fpga_ops = {.prefix = "net", .batch = net_card_batch};

static void net_card_restart(struct net_card *card)
{
    card_close(card->model);
    card->model = card_open(net_card_out, card);
    card->fpga = (struct fpga){.ops = &net_fpga_ops, .own = card, .name = "net"};
    card_write(card->model, REG_CTRL, 1);
}

static void net_open(struct net *net, uint64_t seed)
{
    *net = (struct net){.seed = seed};
    for (int c = 0; c < NET_CARDS; c++) {
        net->cards[c] = (struct net_card){.net = net, .index = c};
        net_card_restart(&net->cards[c]);
        for (int r = 0; r < NET_RANKS; r++)
            net->wires[r][c] = net->group_wires[r][c] =
                (struct net_wire){.net = net, .rank = r, .card = c};
    }
}

static void net_close(struct net *net)
{
    while (net->n_heap)
        free(net_pop(net));
    free(net->heap);
    for (int c = 0; c < NET_CARDS; c++) {
        card_close(net->cards[c].model);
        for (int r = 0; r < 2 * NET_RANKS; r++) {
            struct net_wire *w = &(r < NET_RANKS ? net->wires : net->group_wires)[r % NET_RANKS][c];
            for (free(w->reading); w->n; w->n--)
                free(w->queue[w->n - 1]);
        }
    }
}

static void net_tick(struct net *net)
{
    net->now += net_tick_s;
    while (net->n_heap && net->heap[0]->at <= net->now) {
        struct net_datagram *d = net_pop(net);
        struct net_wire *w = &(d->to_group ? net->group_wires : net->wires)[d->rank][d->card];
        struct net_card *card = &net->cards[d->card];
        if (d->to_card && !card->silent)
            card_frame(card->model, NET_IP + (uint32_t)d->rank, (uint16_t)(NET_PORT + d->card),
                       d->bytes, d->n);
        if (!d->to_card)
            net->bytes_in[d->rank] += d->n;
        if (!d->to_card && w->n < NET_QUEUE) {
            w->queue[w->n++] = d;
            continue;
        }
        net->lost_full += !d->to_card;
        free(d);
    }
}

struct net_job {
    struct net *net;
    struct codec codec;
    struct card_fit fit;
    int n_ranks, n_cards;
    bool grouped;
    double card_deadline_s, others_s;
    struct fpga_job jobs[NET_CARDS];
    struct window *windows[NET_RANKS];
};

static struct codec net_codec(const char *format, const char *out_format, const char *overflow,
                              int n_ranks)
{
    const struct codec_spec spec = {
        .format = format, .out_format = out_format, .overflow = overflow, .sum = "exact"};
    struct codec codec;
    CHECK(codec_parse(&spec, &codec) == 0 &&
              codec_settle(&codec, n_ranks,
                           &(struct codec_adder){.name = "test", .needs = REDUCE_WIDE}) == 0,
          "%s %s", format, out_format);
    return codec;
}

static void net_job_open(struct net_job *j)
{
    uint32_t beats = WINDOW_BEATS;
    CHECK(card_fits(codec_sum(&j->codec), j->n_ranks, "ranks", &j->fit) == 0, "no codec for cards");
    for (int c = 0; c < j->n_cards; c++) {
        struct fpga_rank ranks[NET_RANKS];
        struct fpga_caps caps;
        for (int r = 0; r < j->n_ranks; r++)
            ranks[r] = (struct fpga_rank){(uint32_t)(NET_IP + r), (uint16_t)(NET_PORT + c)};
        struct fpga *fpga = &j->net->cards[c].fpga;
        CHECK(fpga_job_caps(fpga, &j->fit, j->n_ranks, &caps, 1) == 0 && caps.groups &&
                  fpga_job_start_group(fpga, &caps, &j->fit, ranks, j->n_ranks, 64,
                                       j->grouped ? &net_group : NULL, 1, &j->jobs[c]) == 0,
              "%s", fpga->why);
        beats = caps.beats < beats ? caps.beats : beats;
    }
    for (int r = 0; r < j->n_ranks; r++) {
        struct window_card cards[NET_CARDS];
        const struct window_config config = {.rank = r,
                                             .n_ranks = j->n_ranks,
                                             .nonce = 0x0123456789abcdef,
                                             .secret = {1, 2, 3, 4},
                                             .fit = j->fit,
                                             .saturate =
                                                 codec_sum(&j->codec)->overflow == MF_SATURATE,
                                             .out_shift = codec_sum(&j->codec)->out_shift,
                                             .beats = beats,
                                             .card_deadline_s = j->card_deadline_s,
                                             .others_s = j->others_s};
        for (int c = 0; c < j->n_cards; c++)
            cards[c] =
                (struct window_card){.wire = {.ops = &net_wire_ops, .own = &j->net->wires[r][c]},
                                     .group = {.ops = j->grouped ? &net_wire_ops : NULL,
                                               .own = &j->net->group_wires[r][c]},
                                     .job = j->jobs[c],
                                     .name = "net"};
        CHECK(window_open(&config, cards, j->n_cards, j->net->now, &j->windows[r]) == 0, "rank %d",
              r);
    }
}

static void net_job_close(struct net_job *j)
{
    for (int r = 0; r < j->n_ranks; r++)
        window_close(j->windows[r]);
}

/* Returns the busy ranks. */
static unsigned net_turn_ranks(struct net_job *j, unsigned ranks)
{
    unsigned busy = 0;
    bool moved;
    for (int r = 0; r < j->n_ranks; r++)
        if (ranks >> r & 1 && window_turn(j->windows[r], j->net->now, &moved) == WINDOW_BUSY)
            busy |= 1u << r;
    return busy;
}

static unsigned net_turn(struct net_job *j, unsigned ranks)
{
    net_tick(j->net);
    return net_turn_ranks(j, ranks);
}

/* Runs at most most_s. Returns the busy ranks. */
static unsigned net_run(struct net_job *j, unsigned ranks, double most_s)
{
    const double until = j->net->now + most_s;
    unsigned busy = ranks;
    while (busy && j->net->now < until)
        busy = net_turn(j, ranks);
    return busy;
}

static unsigned net_everyone(const struct net_job *j)
{
    return (1u << j->n_ranks) - 1;
}

static void net_pings(struct net_job *j)
{
    for (int r = 0; r < j->n_ranks; r++)
        window_start_pings(j->windows[r], j->net->now);
    CHECK(net_run(j, net_everyone(j), 30) == 0, "no pong");
    for (int r = 0; r < j->n_ranks; r++)
        CHECK(j->windows[r]->state == WINDOW_DONE, "rank %d: %s", r, window_why(j->windows[r]));
}

#endif
