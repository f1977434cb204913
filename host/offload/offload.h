/* offload.h : Adds gradients in network cards. The reducer uses this path
 * (reduce/card_path.h) while it is open.
 *
 *     offload_check()  can a card add these codes at all?
 *     offload_open()   is there such a card?
 *     offload_card_path      begin, max, sum and end of each step
 *
 * Rank 0 controls the cards and registers the job. Every rank sends its own packets.
 * offload_open() fails if a card cannot exist (an unknown host, a missing file or device). A card
 * that refuses or is silent at the start is left out, which is an error only if `needed` is set.
 * The path stays closed only if no card is left.
 *
 * If a card fails later, the path closes. The next card_path_ops.begin() reopens it with
 * the cards that are left. It tries each lost card again after 1, 2, 4, ... 10 s,
 * or later if an attempt took long. */
#ifndef OFFLOAD_H
#define OFFLOAD_H
#include "reduce/card_path.h"
#include "offload/card/fpga.h"

struct offload;

enum { OFFLOAD_MAX_CARDS = 16 };

struct offload_options {
    /* Comma-separated list of cards: "sim", "sim:rtl" or "sim:c" (rank 0 starts one),
     * "xrt[:65:00.1][@10.0.0.9]" (rank 0 owns it), "udp://host:port", "eth://host:port". */
    const char *where;
    /* Fail in offload_open() unless every card takes part at the start. */
    bool needed;
    /* Container to load into a card that rank 0 owns. If NULL, the environment
     * variable NARROWCAST_XCLBIN names it. */
    const char *xclbin;
    /* NULL or "socket" selects the system's sockets. Any other name is a
     * libfabric provider: udp, verbs or efa. */
    const char *provider;
    /* IPv4 address or interface to bind to. If NULL, the address from which the card is reached. */
    const char *local;
    /* Multicast group, "239.1.1.1" or "239.1.1.1:port" (default PKT_GROUP_PORT). Cards send each
     * sum to it once. If NULL, they send each sum to every rank. Must be the same on all ranks. */
    const char *group;
    double card_deadline_s; /* Abandon a card that is silent for so long. 0 means 5 s. */
    double deadline_s;      /* End the job when a rank is late by so much. 0 means 60 s. */
    /* Number of slots to reserve on each card, which is also the limit of packets in flight to
     * it. A power of two from 8 to 1024. 0 means 64, but at most half of the card's free slots. */
    int slots;
};

/* Returns 0 if cards can add codes as `sum` describes. Pass NULL if the codec has no such sum.
 * Otherwise returns -EINVAL and writes the reason into why[size]. Prints nothing. */
int offload_check(const struct vec_sum *sum, int n_ranks, char *why, size_t size);

/* Opens the path. Collective, with the same options on all ranks. offload_check() must
 * have accepted *sum, which is copied. After success the path may still be closed: see
 * offload_is_open(). If it is closed or a card is left out, rank 0 has printed one
 * warning. Returns 0, or the same error on all ranks after one rank has reported it:
 * -EINVAL (a malformed option), -ENXIO (a card that cannot exist), -ENOTCONN (a needed
 * card does not take part), -ENOMEM or -EIO. */
int offload_open(struct comm *c, const struct vec_sum *sum, const struct offload_options *o,
                 struct offload **out);

/* Removes the job from the cards and ends a card that rank 0 started. Call it after all ranks
 * have finished the last step. NULL is legal. */
void offload_close(struct offload *o);

/* Operations of the path. Their first argument is the struct offload. */
extern const struct card_path_ops offload_card_path;

bool offload_is_open(const struct offload *o);

/* Describes an open path, for example "2 cards (udp://10.0.0.9:4000,
 * udp://10.0.0.10:4000), 64 slots each, frames of 1472 bytes, RTT 41 us". The string
 * belongs to o and is valid until the next call. */
const char *offload_describe(struct offload *o);

/* Returns the reason why the path is closed, one line. Returns "" before the first
 * failure, and on all ranks except rank 0. */
const char *offload_why(const struct offload *o);

/* Reads the counters of busy clocks and beats that card number `card` has kept since its start.
 * Call it on rank 0. Returns false if the card cannot be asked. */
bool offload_card_time(struct offload *o, int card, struct fpga_time *out);
int offload_n_cards(const struct offload *o);

#endif
