/* offload.h : sums added by cards in the network: a way (reduce/way.h) that the reducer takes as
 * long as it is open.
 *
 *     offload_check: could any card?   offload_open: is there one?   way: begin, max, sum, end of
 *                                                                    each step
 *
 * Rank 0 controls the cards and registers the job; every rank sends its own packets. A card that
 * cannot exist (an unknown host, a missing file or device) is an error of offload_open(). A card that
 * refuses or falls silent closes the way, which is no error unless `needed` says so: begin() tries
 * again, at most once a second, then every ten. */
#ifndef OFFLOAD_H
#define OFFLOAD_H
#include "reduce/way.h"
#include "offload/card/fpga.h"

struct offload;

enum { OFFLOAD_MOST_CARDS = 16 };

struct offload_options {
    /* "sim", "sim:rtl", "sim:c": rank 0 starts one; "xrt[:65:00.1][@10.0.0.9]": rank 0 owns it;
     * "udp://host:port[,udp://host:port...]", "eth://..." likewise */
    const char *where;
    bool needed; /* every card must take part at the start, else offload_open() fails */
    /* of a card that rank 0 owns: the container that makes a card of it; NULL:
     * the environment's NARROWCAST_XCLBIN */
    const char *xclbin;
    /* NULL: socket, the system's own; or one of libfabric: udp, verbs, efa */
    const char *provider;
    /* IPv4 address or interface to bind to; NULL: the one by which the card is reached */
    const char *local;
    /* "239.1.1.1", ":port" behind it if that is to be another than PKT_GROUP_PORT: cards send each sum there once, in place of
     * once to each rank; NULL: to each rank. The same on all ranks */
    const char *group;
    double card_deadline_s; /* a card that is silent so long is given up; 0: 5 s */
    double deadline_s;      /* a rank whose contribution is missing so long is gone; 0: 60 s */
    /* wanted of each card, so many packets may be under way; a power of two from 8; 0: 64, and half
     * of what is free at most */
    int slots;
};

/* Can any card add codes so? sum: the settled codec's; NULL: it has none. 0, or -EINVAL, in silence:
 * why [size] says it. */
int offload_check(const struct vec_sum *sum, int n_ranks, char *why, size_t size);

/* All ranks call it, with the same options and a sum that offload_check() liked, which is copied.
 * Whether the way is open or closed for now: offload_is_open(). If it is closed, or a card is left
 * out, rank 0 has printed one warning. Returns 0, or on all ranks, after one rank has reported:
 * -EINVAL (a malformed option), -ENXIO (a card that cannot exist), -ENOTCONN (a card is needed and
 * does not take part), -ENOMEM, -EIO. */
int offload_open(struct comm *c, const struct vec_sum *sum, const struct offload_options *o,
                 struct offload **out);

/* Removes the job from the cards, and a card that was started. All ranks have done with the last
 * step. NULL is legal. */
void offload_close(struct offload *o);

extern const struct way_ops offload_way; /* the struct offload is its `way` */

bool offload_is_open(const struct offload *o);

/* "2 cards (udp://10.0.0.9:4000, udp://10.0.0.10:4000), 64 slots each, frames of 1472 bytes,
 * RTT 41 us", while open; o's until the next call. */
const char *offload_describe(struct offload *o);

/* Why it is closed, in one line, known to rank 0 alone ("" elsewhere, and while it has never
 * failed). */
const char *offload_why(const struct offload *o);

/* What card i says it has done since it was started: clocks in which it was busy, beats. Rank 0
 * asks; false: it does not say. */
bool offload_card_time(struct offload *o, int card, struct fpga_time *out);
int offload_n_cards(const struct offload *o);

#endif
