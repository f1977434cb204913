/* offload.h : adds gradients in network cards. The reducer uses this path (reduce/card_path.h)
 * while it is open.
 *
 *     offload_check()  tells whether a card can add these codes
 *     offload_open()   finds and opens such cards
 *     offload_card_path      makes the sums of each step
 *
 * Rank 0 controls the cards and registers the job. Every rank sends its own packets, or one of
 * `near` ranks, the master, sends their sums (card_near() of window/frame.h). A card that
 * refuses or is silent at the start is left out; this is an error only with `needed`.
 *
 * If a card fails later, the path closes. The next card_path_ops.begin() reopens it with the cards
 * that are left. Each lost card is tried again after 1, 2, 4, ... 10 s, or later if attempts take
 * long. */
#ifndef OFFLOAD_H
#define OFFLOAD_H
#include "reduce/card_path.h"
#include "offload/card/fpga.h"

struct offload;

enum { OFFLOAD_MAX_CARDS = 16 };

struct offload_options {
    /* Comma-separated cards: "sim", "sim:rtl" or "sim:c" (rank 0 starts one),
     * "xrt[:65:00.1][@10.0.0.9]" (rank 0 owns it), "udp://host:port", "eth://host:port". */
    const char *where;
    /* Every card must take part at the start. */
    bool needed;
    /* Container for a card that rank 0 owns. NULL: named by the variable NARROWCAST_XCLBIN. */
    const char *xclbin;
    /* NULL or "socket": the system's sockets. "xdp": AF_XDP. Else a libfabric provider: udp, verbs
     * or efa. */
    const char *provider;
    /* IPv4 address or interface to bind to. NULL: the address from which the card is reached. */
    const char *local;
    /* Multicast group, "239.1.1.1" or "239.1.1.1:port" (default PKT_GROUP_PORT), the same on all
     * ranks: cards send each sum once to it. NULL: they send it to every rank. */
    const char *group;
    /* Silence after which a card is abandoned, at most a quarter of deadline_s. 0: 5 s. */
    double card_deadline_s;
    /* The ranks' deadline (comm_open()). A card that waits for another rank is abandoned after
     * three quarters of it. 0: 60 s. */
    double deadline_s;
    /* Slots to reserve on each card, also the limit of packets in flight: a power of two from 8 to
     * 1024. 0: 64, but at most half of the card's free slots. */
    int slots;
    /* K: consecutive near ranks, for example of a machine, add their codes first if that saves the
     * card's port time (card_near()). Less than 2: each rank sends its codes. */
    int near;
};

/* Returns the number of ranks that a card knows: n_ranks, or n_ranks / near. Reads near, group. */
int offload_n_masters(const struct vec_sum *sum, int n_ranks, const struct offload_options *o);

/* Returns 0 if cards can add codes as `sum` describes (NULL: the codec has no such sum), else
 * -EINVAL with the reason in why[size]. Prints nothing. */
int offload_check(const struct vec_sum *sum, int n_ranks, char *why, size_t size);

/* Returns 0 if `where` lists possible names of cards, or -EINVAL after reporting. */
int offload_check_names(const char *where);

/* Opens the path. Collective, with the same options on all ranks. offload_check() must have
 * accepted *sum, which is copied. If cards are missing, rank 0 prints one warning, and the path
 * opens with the others or, without any, stays closed (offload_is_open()). Returns 0, or the same
 * error on all ranks after one has reported it: -EINVAL (a malformed option), -ENXIO (a card that
 * cannot exist: an unknown host, a missing file or device), -ENOTCONN (a needed card does not take
 * part), -ENOMEM or -EIO. */
int offload_open(struct comm *c, const struct vec_sum *sum, const struct offload_options *o,
                 struct offload **out);

/* Removes the job from the cards and ends a card started by rank 0. Call after all ranks' last
 * step. NULL is legal. */
void offload_close(struct offload *o);

/* The functions of the path; their first argument is the struct offload. */
extern const struct card_path_ops offload_card_path;

bool offload_is_open(const struct offload *o);

/* Describes an open path, for example "2 cards (udp://10.0.0.9:4000, udp://10.0.0.10:4000), 64
 * slots each, frames of 1472 bytes, RTT 41 us". Valid until the next call. */
const char *offload_describe(struct offload *o);

/* On rank 0, returns in one line why the path is closed, or "" before the first failure. On other
 * ranks returns "". */
const char *offload_why(const struct offload *o);

/* Reads a card's busy clocks and beats since its start, on rank 0. Returns false on failure. */
bool offload_card_time(struct offload *o, int card, struct fpga_time *out);
int offload_n_cards(const struct offload *o);

#endif
