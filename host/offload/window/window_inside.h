/* window_inside.h : Declares the state that the window_*.c files and their tests share. */
#ifndef WINDOW_INSIDE_H
#define WINDOW_INSIDE_H
#include "hls/card/packet.h"
#include "offload/window/wheel.h"
#include "offload/window/window.h"

enum {
    WINDOW_FRAME_BYTES = PKT_HEADER_BYTES + WINDOW_BEATS * PKT_BEAT_BYTES,
    WINDOW_WHY_BYTES = 224
};

/* State of one slot of the job on one card, for this rank. Each card has one slot more than the
 * job, which is used for the pings at the start. */
struct window_slot {
    struct wheel_timer timer; /* must be first: a timer is cast to its slot */
    struct window_end *end;
    struct window_slot *next_ready; /* next in the card's list of ready slots */
    uint64_t next_m;                /* next packet for this slot */
    /* Packet (numbered within this card) that the slot sent last.
     * Undefined before the first one. */
    uint64_t m;
    /* Echo fields of the first and of the last ping since the packet was sent or a
     * pong came. 0 if there was no ping. */
    uint64_t first_echo, echo;
    double first_at, asked_at; /* when those pings were sent */
    size_t n_result;           /* payload bytes of the expected result */
    size_t n_frame;            /* bytes */
    uint8_t *frame;            /* the packet as sent */
    bool out, used;            /* out: waits for a result; used: has sent a packet */
    uint8_t tries;             /* pings since the packet was sent */
};

struct window_end {
    struct window_card card;
    struct window_slot *slots; /* [card.job.slots + 1] */
    /* List of the slots whose next packet may be sent, in sending order. */
    struct window_slot *ready, *last_ready;
    uint32_t n_out;
    uint64_t answered;    /* latest packet (m) that has a result */
    double answered_at;   /* when the last result came */
    uint32_t n_questions; /* pings since the card's last answer */
    /* Time of the first ping after the card's last answer. 0 if no ping was sent since. */
    double silent_since;
    double rtt_s, var_s; /* smoothed; 0 if never measured */
};

enum window_kind { WINDOW_PING, WINDOW_MAX, WINDOW_SUM };

struct window_work {
    enum window_kind kind;
    uint32_t tag, per_packet; /* per_packet: elements of a packet */
    uint64_t n_packets, done; /* done: first packet without a result */
    /* n: elements of the work. needed, had: elements for which the flow's
     * need() and have() were called. */
    size_t n, needed, had;
    int8_t *x;                /* if kind is MAX */
    struct card_path_sum sum; /* if kind is SUM */
};

struct window {
    struct window_config config;
    struct window_end *ends; /* [n_ends] */
    int n_ends;
    uint64_t base; /* packets of the job before this work */
    struct window_work work;
    struct wheel wheel;
    uint64_t last_echo;
    double progress_at, timed_at; /* time of the last result, of the last run of the timers */
    /* Time of the last turn, and time at which this process last continued after it was stopped. */
    double turned_at, back_at;
    enum window_state state;
    uint64_t missing;
    int n_asked; /* cards without a pong at the start */
    int lost;    /* index of the card to abandon */
    char why[WINDOW_WHY_BYTES];
    struct card_path_count count;
    /* Numbers of datagrams that are not a whole frame (damaged) or do not
     * belong to this job (foreign). */
    uint64_t damaged, foreign;
    /* grouped: sums go to a group. group_failed: the group has failed (not received, or forged
     * results). */
    bool grouped, group_failed;
    /* apart: number of sums in a row that did not come through the group. forged: number of
     * wrong results that came through it. */
    int apart, forged;
    uint64_t digest;
    struct window_slot *slots; /* of all cards */
    uint8_t *frames;           /* of all slots */
};

/* Interprets a PONG for a rank that waits for the result of chunk c. The rank has the result of
 * chunk c - 1, except if `first`: then c is the slot's first chunk. state, chunk: fields of the
 * PONG. in: the card has this rank's contribution to that chunk.
 *
 *     KEPT(c - 1) (first: EMPTY), FILLING(c) without this rank   its packet was lost: send again
 *     FILLING(c) with this rank                                  other ranks are late
 *     KEPT(c), FILLING(c + 1) without this rank                  its result was lost: send again
 *     anything else                                              the card has lost its state
 *
 * Source: tests/hls/test_slot_search.c, which searches all states that can occur. */
enum pong_says { PONG_OTHERS_LATE, PONG_SEND_AGAIN, PONG_LOST_STATE };

static inline enum pong_says pong_says(uint32_t state, uint32_t chunk, bool in, uint32_t c,
                                       bool first)
{
    if (state == PKT_PONG_FILLING && chunk == c)
        return in ? PONG_OTHERS_LATE : PONG_SEND_AGAIN;
    if ((state == (first ? PKT_PONG_EMPTY : PKT_PONG_KEPT) && chunk == c - 1) ||
        (state == PKT_PONG_KEPT && chunk == c) ||
        (state == PKT_PONG_FILLING && chunk == c + 1 && !in))
        return PONG_SEND_AGAIN;
    return PONG_LOST_STATE;
}

/* ---- window_take.c ---- */

/* Handles a datagram bytes[n] (any contents) from card `end`: takes what answers a packet in
 * flight, and counts the rest. Any frame with the key of this job shows that the card is alive.
 * Public only for tests. */
void window_take(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                 double now);

/* Handles a datagram that came through the group, like window_take(). */
void window_take_group(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                       double now);

/* Handles datagrams from all cards, at most a fixed number per card. *drained: no
 * datagram is left. Returns true if any came. */
bool window_receive(struct window *w, double now, bool *drained);

/* ---- window_flow.c ---- */

/* Begins this work. No packet may be in flight. */
void window_start(struct window *w, struct window_work work, double now);

/* Adds slot s to its card's list of ready slots for packet m, if this work has such a packet. */
void window_make_ready(struct window *w, struct window_slot *s, uint64_t m);

/* Sends all packets that may be sent, to each card in turn. A slot that waits does not block
 * other slots. Returns true if anything was sent. */
bool window_send_new(struct window *w, double now);

/* Calls the flow's have() for the results that are complete: whole
 * packets, in order, several at a time. */
void window_have(struct window *w);

/* ---- window_send.c ---- */

/* Returns the number of elements of packet i of the work. *at: index of its first element. */
size_t window_range(const struct window_work *work, uint64_t i, size_t *at);

/* Builds the frame of packet i of the work in the slot. */
void window_build(const struct window *w, struct window_slot *s, uint64_t i);

/* Passes the slot's frame to its wire. Returns false if the wire has no room or has failed. */
bool window_send(struct window *w, struct window_slot *s);

/* Asks the card for the state of the slot: sends a PING with the slot's echo. */
void window_send_ping(struct window *w, struct window_slot *s, size_t payload_bytes);

void window_flush(struct window *w);

/* Abandons a card: sets the state, and the reason "card NAME " followed by the formatted text. */
void window_lose(struct window *w, const struct window_end *end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- window_flow.c ---- */

/* Handles the expired timer of a ping at the start. */
void window_path_due(struct window *w, struct window_slot *s, double now);

/* Handles a pong of n bytes that answers a ping at the start. */
void window_take_first_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                            size_t n, double now);

/* ---- window_time.c: when to ask and to send again ---- */

/* Notes that work begins. */
void window_time_start(struct window *w, double now);

/* Notes that a turn begins. If this process was stopped since the last turn, moves all deadlines by
 * the length of the pause, because the process could not receive answers. */
void window_time_look(struct window *w, double now);

/* Notes that the slot's packet was sent for the first time. */
void window_time_sent(struct window *w, struct window_slot *s, double now);

/* Notes that the result of the slot's packet has come. */
void window_time_answered(struct window *w, struct window_slot *s, double now);

/* Notes that the card has sent any datagram. */
void window_time_heard(struct window_end *end);

/* Handles the card's answer to a ping of the slot. */
void window_time_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                      double now);

/* Handles the slot's expired timer. */
void window_time_due(struct window *w, struct window_slot *s, double now);

/* Pings the card for the slot and sets the slot's timer. */
void window_time_ask(struct window *w, struct window_slot *s, size_t payload_bytes, double now);

/* Measures a round trip, if the echo is that of the slot's first or last ping. */
void window_time_measured(const struct window *w, const struct window_slot *s, uint64_t echo,
                          double now);

/* True if the card has not answered pings for longer than its deadline. */
bool window_time_silent(const struct window *w, const struct window_end *end, double now);

#endif
