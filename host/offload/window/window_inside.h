/* window_inside.h : declares the state that the window_*.c files and their tests share. */
#ifndef WINDOW_INSIDE_H
#define WINDOW_INSIDE_H
#include "hls/card/packet.h"
#include "offload/window/timer_wheel.h"
#include "offload/window/window.h"

enum {
    WINDOW_FRAME_BYTES = PKT_HEADER_BYTES + WINDOW_BEATS * PKT_BEAT_BYTES,
    WINDOW_WHY_BYTES = 224
};

/* A slot of the job on one card, for this rank. Each card has one more, for the pings at the
 * start. */
struct window_slot {
    struct timer_wheel_entry timer; /* must be first: a timer is cast to its slot */
    struct window_end *end;
    struct window_slot *next_ready; /* in the card's list */
    uint64_t next_m;                /* next packet for this slot */
    /* packet (numbered within this card) sent last; undefined before the first */
    uint64_t m;
    /* echo fields of the first and last ping since the packet was sent or a pong came; 0: none */
    uint64_t first_echo, echo;
    double first_at, asked_at; /* when these pings were sent */
    size_t n_result;           /* payload bytes expected */
    size_t n_frame;
    uint8_t *frame; /* as sent */
    bool out, used; /* out: waits for a result; used: has sent */
    uint8_t tries;  /* pings since the packet was sent */
};

struct window_end {
    struct window_card card;
    struct window_slot *slots; /* [card.job.slots + 1] */
    /* slots that may send their next packet, in order */
    struct window_slot *ready, *last_ready;
    uint64_t answered;    /* latest packet (m) with a result */
    double answered_at;   /* time of the last result */
    uint32_t n_questions; /* pings since the card's last answer */
    /* time of the first of these pings; 0: none */
    double silent_since;
    double rtt_s, var_s; /* smoothed; 0: never measured */
};

enum window_kind { WINDOW_PING, WINDOW_MAX, WINDOW_SUM };

struct window_work {
    enum window_kind kind;
    uint32_t tag, per_packet; /* per_packet: elements */
    uint64_t n_packets, done; /* done: first packet without a result */
    /* elements of the work, and those for which the flow's need() and have() were called */
    size_t n, needed, had;
    int8_t *x;                /* MAX */
    struct card_path_sum sum; /* SUM */
};

struct window {
    struct window_config config;
    struct window_end *ends; /* [n_ends] */
    int n_ends;
    uint64_t base; /* packets before this work */
    struct window_work work;
    struct timer_wheel wheel;
    uint64_t last_echo;
    double progress_at, timed_at; /* last result, last run of timers */
    /* last turn, last continuation of this process after a stop */
    double turned_at, back_at;
    enum window_state state;
    uint64_t missing;
    int n_asked; /* cards without a pong at the start */
    int lost;    /* card to abandon */
    char why[WINDOW_WHY_BYTES];
    struct card_path_count count;
    /* damaged: not a whole frame; foreign: of another job, rank or slot, or a wrong result */
    uint64_t damaged, foreign;
    /* grouped: sums go to a group; group_failed: not received, or forged results */
    bool grouped, group_failed;
    /* apart: sums in a row on this rank's own wire; forged: wrong results from the group */
    int apart, forged;
    uint64_t digest;
    struct window_slot *slots;
    uint8_t *frames;
};

/* Interprets a PONG for a rank that waits for the result of chunk c and has that of c - 1, except
 * if `first`: then c is the slot's first chunk. state, chunk: of the PONG. in: the card has this
 * rank's contribution to that chunk.
 *
 *     KEPT(c - 1) (first: EMPTY)          this rank's packet was lost: send again
 *     or FILLING(c) without this rank
 *     FILLING(c) with this rank           other ranks are late
 *     KEPT(c)                             this rank's result was lost: send again
 *     or FILLING(c + 1) without this rank
 *     anything else                       the card has lost its state
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

/* Handles an untrusted datagram bytes[n] of card `end`: accepts answers to packets in flight, and
 * counts the rest. Any frame with this job's key shows that the card is alive. Public for tests. */
void window_take(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                 double now);

/* Handles a datagram from the group in the same way. */
void window_take_group(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                       double now);

/* Handles datagrams from all cards, at most a fixed number per card. *drained: none is left.
 * Returns true if any came. */
bool window_receive(struct window *w, double now, bool *drained);

/* Makes slot s ready for packet m, if this work has it. */
void window_make_ready(struct window *w, struct window_slot *s, uint64_t m);

/* Sends to each card in turn; waiting slots block no others. Returns true if anything was sent. */
bool window_send_new(struct window *w, double now);

/* Passes complete results to the flow's have(): whole packets, in order, several at a time. */
void window_have(struct window *w);

/* Returns packet i's number of elements; *at: the first. */
size_t window_range(const struct window_work *work, uint64_t i, size_t *at);

void window_build(const struct window *w, struct window_slot *s, uint64_t i);

/* Returns false if the wire has no room or has failed. */
bool window_send(struct window *w, struct window_slot *s);

/* Asks for the slot's state: a PING with its echo. */
void window_send_ping(struct window *w, struct window_slot *s, size_t payload_bytes);

void window_flush(struct window *w);

/* Abandons a card with the reason "card NAME " and the text. */
void window_lose(struct window *w, const struct window_end *end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Handles the expired timer of a ping at the start. */
void window_path_due(struct window *w, struct window_slot *s, double now);

/* Handles a pong of n bytes that answers such a ping. */
void window_take_first_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                            size_t n, double now);

/* ---- window_time.c: when to ask and to send again ---- */

void window_time_start(struct window *w, double now);

/* Notes that a turn begins. If this process was stopped since the last one and could not receive,
 * moves all deadlines by the pause. */
void window_time_look(struct window *w, double now);

/* Notes that the slot's packet was sent for the first time. */
void window_time_sent(struct window *w, struct window_slot *s, double now);

void window_time_answered(struct window *w, struct window_slot *s, double now);

/* Notes that the card has sent any datagram. */
void window_time_heard(struct window_end *end);

void window_time_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                      double now);

void window_time_due(struct window *w, struct window_slot *s, double now);

/* Pings and sets the slot's timer. */
void window_time_ask(struct window *w, struct window_slot *s, size_t payload_bytes, double now);

/* Measures a round trip if the echo is that of the slot's first or last ping. */
void window_time_measured(const struct window *w, const struct window_slot *s, uint64_t echo,
                          double now);

/* True if the card has not answered pings for longer than its deadline. */
bool window_time_silent(const struct window *w, const struct window_end *end, double now);

#endif
