/* cost.h : how long the all-reduce of a step takes on a cluster that is not there.
 *
 *     T = casts + exponents + messages + additions - what the backward pass hides
 *
 * What is sent is not said here a second time: an algorithm's legs (algo_step.h), a codec's bytes
 * (fold.h), buckets (bucket.h) and a card's packets (packet.h) are those of a run. Here are seconds.
 *
 *     a step of a leg     latency + messages * message_s + bytes / link;  additions behind it
 *     ring                2(P-1)(a + n/PB)
 *     direct              2(P-1)n/PB + 2a
 *     group-master:K      4(K-1)(a + n/KB) + 2(P/K-1)(a + nK/PB)
 *     group-scatter:K     its two levels, exact sums wide across nodes
 *     card                n/B + RTT, or Pn/B of the card's port: packets go up while results come
 *                         down, and all P ranks' pass through that port
 *     exponents           a log2 P
 *
 * A port that waits gets its burst back. A link carries as many bytes each way at a time. What the wire and the CPU do at a time takes as
 * long as the longer of the two, and `unhidden` of the shorter (0: they hinder each other in
 * nothing). */
#ifndef COST_H
#define COST_H
#include "comm/algo/algo.h"
#include "reduce/reducer.h"

/* A number that depends on how long an all-reduce is: its value at so many bytes of fp32, which rise;
 * between two on a logarithmic scale, beyond them the nearest. Without a point: 0. */
enum { COST_POINTS = 16 };
struct cost_curve {
    int n;
    double bytes[COST_POINTS], at[COST_POINTS];
};
double cost_at(const struct cost_curve *c, double bytes);
struct cost_curve cost_flat(double value);

struct cost_cluster {
    int n_ranks;
    double link_bps;      /* of a rank's port, bits a second each way */
    double node_link_bps; /* within a group of group-*:K; 0: as link_bps */
    double burst_bytes; /* that a port sends at once when a step begins: of a shaped one; else 0 */
    double latency_s;   /* of a message without bytes, one way */
    int mtu;            /* of Ethernet: how much of a link is payload */
    double card_link_bps;     /* of a card's port, each way; 0: as link_bps; may be infinite */
    bool card_on_host;        /* it is a process that shares the ranks' cores; card_s is 0 */
    struct cost_curve card_s; /* a byte of codes that a card takes from all ranks; 0: no time */
    double card_rtt_s;        /* until a card answers a packet; 0: two latencies */
    int card_slots;           /* packets of a rank that are under way */
};

/* What a rank's CPU takes, of a codec. Seconds a byte; 0: nothing, or not known. */
struct cost_rates {
    double encode_s;            /* of fp32: exponents and codes, in one pass */
    double decode_s;            /* of fp32 */
    double add_s;               /* of addends */
    double message_s;           /* a message */
    struct cost_curve port_s;   /* of messages, sent or got */
    struct cost_curve unhidden; /* 0..1 */
};

struct cost_job {
    const struct reducer_layer *layers; /* [n_layers], in forward order */
    int n_layers;
    const struct codec *codecs; /* [2] settled for the cluster's ranks: the codec, and fp32 */
    const struct algo *algo;    /* which has legs */
    int group;
    bool chooses; /* as a job that nobody has named an algorithm for (job.c) */
    bool by_card; /* what the codec makes goes through a card; the codec has a codec_card_sum() */
    size_t bucket_bytes;
    double compute_s; /* forward, backward, update */
    double
        backward_s; /* of these: while gradients get ready, in proportion to their weights; 0: they
                        * travel when all are there */
    const struct cost_rates *rates; /* [2] as codecs */
};

/* Seconds of a step on the busiest rank. */
struct cost {
    double cast_s, exponent_s;
    double latency_s, wire_s; /* of messages, the wire's share of their time if nothing else were */
    double add_s, port_s;     /* the CPU's */
    double reduce_s;          /* all of it, as it would take alone */
    double exposed_s;         /* of it, what computing does not hide */
    double step_s;            /* compute and that */
    uint64_t steps;           /* that wait for each other */
    uint64_t bytes;           /* payload that the busiest port carries one way */
    int n_buckets;
    double burst_gone; /* bytes of a port's burst that it has not got back */
};

/* Returns 0 or -ENOMEM. */
int cost_step(const struct cost_job *job, const struct cost_cluster *cluster, struct cost *out);

/* ---- parts, for cost_*.c and tests ---- */

/* Payload bytes a second that TCP has of a link. */
double cost_payload_s(double bps, int mtu);

/* Seconds of so many bytes at payload_s bytes a second; takes from *sum what is left of the burst. */
double cost_wire_s(const struct cost_cluster *cluster, struct cost *sum, double bytes,
                   double payload_s);

/* x and y seconds at a time. */
double cost_together(double x, double y, double unhidden);

/* n elements of this fold by an algorithm, then decoded, beside it if the algorithm flows: adds to
 * *sum, its reduce_s too. */
void cost_messages(const struct cost_job *job, const struct cost_cluster *cluster, int kind,
                   const struct fold *f, size_t n, struct cost *sum);
/* Return the bytes of a frame to a card on a network of this MTU, its header included. */
size_t cost_frame_bytes(int mtu);

/* The same through a card. */
void cost_card(const struct cost_job *job, const struct cost_cluster *cluster, size_t n,
               struct cost *sum);

/* A small collective of all ranks, `bytes` long: a log2 P. */
double cost_collective_s(const struct cost_cluster *cluster, double message_s, size_t bytes);

#endif
