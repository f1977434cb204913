/* cost.h : models the time of a step's all-reduce on clusters that need not exist.
 *
 *     T = casts + exponents + messages + additions - overlap with the backward pass
 *
 * Amounts come from the code that runs: an algorithm's phases (algo_step.h), a codec's bytes
 * (reduce_op.h), buckets (bucket.h) and a card's packets (packet.h). With n bytes, P ranks, latency
 * a and bandwidth B, the times are:
 *
 *     step of a phase     latency + messages * message_s + bytes / link;  then additions
 *     ring                2(P-1)(a + n/PB)
 *     direct              2(P-1)n/PB + 2a
 *     group-master:K      4(K-1)(a + n/KB) + 2(P/K-1)(a + nK/PB)
 *     group-scatter:K     time within groups + time between groups, where exact sums travel
 *                         unrounded in wider words
 *     card                max(n/B, Pn/C) + RTT: packets of all P ranks pass the card's port, of
 *                         bandwidth C; results come back while packets are sent. If near ranks add
 *                         first, P counts machines, and n bytes of their sums
 *     exponents           a log2 P
 *
 * K near ranks share their machine's port. In a step among n ranks, h of them on this machine, the
 * port carries the bytes of K ranks to the other n - h: K (n-h)/(n-1) times the bytes that one rank
 * sends. In a ring only one rank of a machine sends to another machine: the factor is 1.
 *
 * A rate-limited port (token bucket) sends burst_bytes without delay, and regains these tokens
 * while idle. A link is full duplex. Wire and CPU together need the longer of both times plus
 * `unhidden` times the shorter one. */
#ifndef COST_H
#define COST_H
#include "comm/algo/algo.h"
#include "reduce/reducer.h"

/* A function of an all-reduce's size: points at ascending bytes of fp32, interpolated on a
 * logarithmic scale, constant beyond the ends; 0 without points. */
enum { COST_POINTS = 16 };
struct cost_curve {
    int n;
    double bytes[COST_POINTS], at[COST_POINTS];
};
double cost_at(const struct cost_curve *c, double bytes);
struct cost_curve cost_flat(double value);

struct cost_cluster {
    int n_ranks;
    int near;                 /* consecutive ranks that share a machine's port; 0 means 1 */
    double link_bps;          /* a machine's port, bits per second each way */
    double node_link_bps;     /* in a group of group-*:K; 0: link_bps, or no limit if near > 1 */
    double burst_bytes;       /* that a rate-limited port sends without delay; 0: none */
    double latency_s;         /* of an empty message, one way */
    int mtu;                  /* of Ethernet */
    double card_link_bps;     /* a card's port, each way; 0 means link_bps; may be infinite */
    bool card_on_host;        /* card is a process on the ranks' cores; card_s is 0 */
    struct cost_curve card_s; /* per byte of codes received from all ranks, or 0 */
    double card_rtt_s;        /* until a card answers a packet; 0 means two latencies */
    int card_slots;           /* packets of a rank in flight */
};

/* CPU time of a rank for one codec, seconds per byte; 0 if none or unknown. */
struct cost_rates {
    double encode_s;            /* per byte of fp32: exponents and codes, in one pass */
    double decode_s;            /* per byte of fp32 */
    double add_s;               /* per byte of addends */
    double message_s;           /* per message */
    struct cost_curve port_s;   /* per byte of messages, sent or received */
    struct cost_curve unhidden; /* 0 (perfect overlap) to 1, see above */
};

struct cost_job {
    const struct reducer_layer *layers; /* [n_layers], in forward order */
    int n_layers;
    const struct codec *codecs; /* [2] the codec and fp32, settled for the cluster's ranks */
    const struct algo *algo;    /* must have phases */
    int group;
    bool chooses;    /* no algorithm was named (as in job.c) */
    bool by_card;    /* codes go through a card; needs codec_card_sum() */
    bool near_first; /* near ranks add their codes before the card if that pays (card_near()) */
    size_t bucket_bytes;
    double compute_s; /* forward, backward and update */
    /* Part of compute_s in which gradients become ready, in proportion to elements. 0: buckets
     * travel after all are ready. */
    double backward_s;
    const struct cost_rates *rates; /* [2] in the order of codecs */
};

/* Seconds of a step on the busiest rank, and amounts. */
struct cost {
    double cast_s, exponent_s;
    double latency_s, wire_s; /* messages: latency, and wire time without other load */
    double add_s, port_s;     /* CPU time of additions; of messages */
    double reduce_s;          /* the all-reduce without other work */
    double exposed_s;         /* part of reduce_s not hidden by computation */
    double step_s;            /* compute_s + exposed_s */
    uint64_t steps;           /* sequential message steps */
    uint64_t bytes;           /* payload of the busiest port, one way */
    int n_buckets;
    double burst_gone; /* burst tokens still to be refilled, bytes */
};

/* Returns 0 or -ENOMEM. */
int cost_step(const struct cost_job *job, const struct cost_cluster *cluster, struct cost *out);

/* Set *elements to the gradients that a reducer holds at once if it frees each bucket after use
 * (reducer_held()). Returns 0 or -ENOMEM. */
int cost_held(const struct cost_job *job, size_t *elements);

/* ---- parts, for cost_*.c and tests ---- */

enum { COST_ETHERNET = 38 }; /* bytes around a frame's payload: header, checksum, preamble, gap */

/* Return TCP's payload on a link, bytes per second. */
double cost_payload_s(double bps, int mtu);

/* Return the seconds of `bytes` at payload_s bytes per second. The port's burst goes first, without
 * delay; *sum counts the tokens used. */
double cost_wire_s(const struct cost_cluster *cluster, struct cost *sum, double bytes,
                   double payload_s);

/* Return the seconds of x and y seconds of work side by side (`unhidden`: see above). */
double cost_together(double x, double y, double unhidden);

/* Add the all-reduce and decoding of n elements to *sum, including reduce_s. Decoding overlaps if
 * algo.flows. */
void cost_messages(const struct cost_job *job, const struct cost_cluster *cluster, int kind,
                   const struct reduce_op *f, size_t n, struct cost *sum);
/* Return the bytes of a frame, with its header, to a card on a network of this MTU. */
size_t cost_frame_bytes(int mtu);

/* Add to *sum the all-reduce of n elements through a card. */
void cost_card(const struct cost_job *job, const struct cost_cluster *cluster, size_t n,
               struct cost *sum);

/* Return the seconds of a collective of `bytes` over all ranks: a log2 P. */
double cost_collective_s(const struct cost_cluster *cluster, double message_s, size_t bytes);

#endif
