/* offload.h : Adds gradients in network cards: a path (reduce/way.h) that the reducer uses
 * while it is open.
 *
 *     offload_check()  can a card add these codes at all?
 *     offload_open()   is there such a card?
 *     offload_way      begin, max, sum and end of each step
 *
 * Rank 0 controls the cards and registers the job. Every rank sends its own packets. offload_open()
 * fails if a card cannot exist (an unknown host, a missing file or device). A card that refuses or
 * falls silent closes the path: an error only in offload_open(), and only if `needed` is set. The
 * next way_ops.begin() reopens the path with the cards that are left. It tries each lost card again
 * after 1, 2, 4, ... 10 s, or later if finding the failure took long. */
#ifndef OFFLOAD_H
#define OFFLOAD_H
#include "reduce/way.h"
#include "offload/card/fpga.h"

struct offload;

enum { OFFLOAD_MOST_CARDS = 16 };

struct offload_options {
    /* Comma-separated list of cards: "sim", "sim:rtl" or "sim:c" (rank 0 starts one),
     * "xrt[:65:00.1][@10.0.0.9]" (rank 0 owns it), "udp://host:port", "eth://host:port". */
    const char *where;
    /* Fail in offload_open() unless every card takes part at the start. */
    bool needed;
    /* Container to load into a card that rank 0 owns. NULL: NARROWCAST_XCLBIN of the
     * environment. */
    const char *xclbin;
    /* NULL or "socket": sockets of the system. Otherwise a provider of libfabric: udp, verbs,
     * efa. */
    const char *provider;
    /* IPv4 address or interface to bind to. NULL: the address by which the card is reached. */
    const char *local;
    /* Multicast group, "239.1.1.1" or "239.1.1.1:port" (default PKT_GROUP_PORT), to which cards
     * send each sum once. NULL: once to each rank. The same on all ranks. */
    const char *group;
    double card_deadline_s; /* abandon a card after this silence; 0: 5 s */
    double deadline_s;      /* end the job when a rank is late by this; 0: 60 s */
    /* Slots wanted of each card, and the most packets in flight to it: a power of two from 8.
     * 0: 64, and at most half of the slots that are free on the card. */
    int slots;
};

/* Returns 0 if cards can add codes as `sum` describes (NULL: the codec has no sum of this kind).
 * Otherwise returns -EINVAL and writes the reason into why[size]. Prints nothing. */
int offload_check(const struct vec_sum *sum, int n_ranks, char *why, size_t size);

/* Opens the path. Collective, with the same options on all ranks; offload_check() must have
 * accepted *sum, which is copied. Success does not mean that the path is open: see
 * offload_is_open(). If it is closed or a card is left out, rank 0 has printed one warning.
 * Returns 0, or the same error on all ranks, after one rank has reported it: -EINVAL (a
 * malformed option), -ENXIO (a card that cannot exist), -ENOTCONN (a needed card does not take
 * part), -ENOMEM, -EIO. */
int offload_open(struct comm *c, const struct vec_sum *sum, const struct offload_options *o,
                 struct offload **out);

/* Removes the job from the cards and ends a card that rank 0 started. Call it when all ranks have
 * finished the last step. NULL is legal. */
void offload_close(struct offload *o);

extern const struct way_ops offload_way; /* its `way` argument is the struct offload */

bool offload_is_open(const struct offload *o);

/* Describes an open path: "2 cards (udp://10.0.0.9:4000, udp://10.0.0.10:4000), 64 slots each,
 * frames of 1472 bytes, RTT 41 us". The string belongs to o and is valid until the next call. */
const char *offload_describe(struct offload *o);

/* Returns one line: why the path is closed. Only rank 0 knows it: "" on other ranks and before
 * the first failure. */
const char *offload_why(const struct offload *o);

/* Reads what card `card` has counted since it was started: busy clocks and beats. Call it on rank
 * 0. Returns false if the card does not tell. */
bool offload_card_time(struct offload *o, int card, struct fpga_time *out);
int offload_n_cards(const struct offload *o);

#endif
