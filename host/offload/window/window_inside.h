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

/* A slot of the job on one card, as this rank sees it. One extra slot after the job's own serves
 * the pings at the start. */
struct window_slot {
    struct wheel_timer timer; /* first: a timer is cast to its slot */
    struct window_end *end;
    struct window_slot *next_ready; /* next in the card's list */
    uint64_t next_m;                /* packet that may go next */
    /* Packet (of this card) that occupies the slot or did last; undefined before the first. */
    uint64_t m;
    /* Echoes of the first and the last ping since the packet was sent or a pong came; 0: none. */
    uint64_t first_echo, echo;
    double first_at, asked_at; /* when these were sent */
    size_t n_result;           /* payload bytes of the result */
    size_t n_frame;            /* bytes */
    uint8_t *frame;            /* as sent */
    bool out, used;            /* no result yet; ever used */
    uint8_t tries;             /* pings since the packet was sent */
};

struct window_end {
    struct window_card card;
    struct window_slot *slots; /* [card.job.slots + 1] */
    /* List of the slots whose next packet may be sent, in that order. */
    struct window_slot *ready, *last_ready;
    uint32_t n_out;
    uint64_t answered;    /* latest packet (m) with a result */
    double answered_at;   /* when the last result came */
    uint32_t n_questions; /* pings since the card last answered */
    /* When the first ping was sent that no answer has followed; 0: the card has answered since. */
    double silent_since;
    double rtt_s, var_s; /* smoothed; 0: never measured */
};

enum window_kind { WINDOW_PING, WINDOW_MAX, WINDOW_SUM };

struct window_work {
    enum window_kind kind;
    uint32_t tag, per_packet; /* elements */
    uint64_t n_packets, done; /* done: first packet without result */
    /* elements; needed, had: announced to the flow so far */
    size_t n, needed, had;
    int8_t *x;          /* MAX */
    struct way_sum sum; /* SUM */
};

struct window {
    struct window_config config;
    struct window_end *ends; /* [n_ends] */
    int n_ends;
    uint64_t base; /* packets of the job before this work */
    struct window_work work;
    struct wheel wheel;
    uint64_t last_echo;
    double progress_at, timed_at; /* timed_at: when timers last ran */
    /* Time of the last turn; time at which this process last came back after being stopped. */
    double turned_at, back_at;
    enum window_state state;
    uint64_t missing;
    int n_asked; /* cards without a pong at the start */
    int lost;    /* the card to abandon */
    char why[WINDOW_WHY_BYTES];
    struct way_count count;
    /* datagrams: no whole frame; not of this job */
    uint64_t damaged, foreign;
    /* grouped: sums go to a group; deaf: the group fails (not received, or forged results) */
    bool grouped, deaf;
    /* apart: sums in a row that did not come by the group; forged: wrong results from it */
    int apart, forged;
    uint64_t digest;
    struct window_slot *slots; /* of all cards */
    uint8_t *frames;           /* of all slots */
};

/* Interprets a PONG for a rank that waits for the result of chunk c and has that of c - 1
 * (except if `first`: c is the first chunk). state, chunk: the PONG's; in: the card has
 * this rank's contribution.
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

/* Takes a datagram bytes[n] (any contents) from card `end`: a result that is awaited, or else
 * counts it. Public only for tests. */
void window_take(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                 double now);

/* Does the same for a datagram that came to the group. */
void window_take_group(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                       double now);

/* Takes datagrams from all cards, a limited number. *drained: none are left. True if any came. */
bool window_receive(struct window *w, double now, bool *drained);

/* ---- window_flow.c ---- */

/* Begins this work. No packet may be in flight. */
void window_start(struct window *w, struct window_work work, double now);

/* Lists slot s as free for packet m of its card, if this work has such a packet. */
void window_make_ready(struct window *w, struct window_slot *s, uint64_t m);

/* Sends all that may be sent, to the cards in turn; a waiting slot does not block others. True if
 * anything was sent. */
bool window_send_new(struct window *w, double now);

/* Tells the flow which results are complete: whole packets, in order, several at a time. */
void window_have(struct window *w);

/* ---- window_send.c ---- */

/* Returns the number of elements of packet i of the work. *at: index of its first element. */
size_t window_range(const struct window_work *work, uint64_t i, size_t *at);

/* Builds the slot's frame: packet i of the work. */
void window_build(const struct window *w, struct window_slot *s, uint64_t i);

/* Hands the slot's frame to its wire. False: no room. */
bool window_send(struct window *w, struct window_slot *s);

/* Asks the card for the state of the slot: a PING with the slot's echo. */
void window_send_ping(struct window *w, struct window_slot *s, size_t payload_bytes);

void window_flush(struct window *w);

/* Abandons a card: sets the state, and the reason "card NAME " + the formatted text. */
void window_lose(struct window *w, const struct window_end *end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- window_flow.c ---- */

/* For pings at the start: handle an expired timer; a pong of n bytes. */
void window_path_due(struct window *w, struct window_slot *s, double now);

void window_take_first_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                            size_t n, double now);

/* ---- window_time.c: when to ask and to send again ---- */

/* Note that work begins; that a turn begins. The second moves deadlines by the time that this
 * process was stopped, since it could not receive answers. */
void window_time_start(struct window *w, double now);
void window_time_look(struct window *w, double now);

/* Note that the slot's packet was sent for the first time; that its result has come. */
void window_time_sent(struct window *w, struct window_slot *s, double now);
void window_time_answered(struct window *w, struct window_slot *s, double now);

/* Note any sign of life of the card; handle its answer to a ping of the slot. */
void window_time_heard(struct window_end *end);
void window_time_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                      double now);

/* Handles the slot's expired timer. */
void window_time_due(struct window *w, struct window_slot *s, double now);

/* For window_flow.c. Ask the card and set the timer; measure a round trip, if the echo is that of
 * the slot's first or last ping; true if the card is silent for too long. */
void window_time_ask(struct window *w, struct window_slot *s, size_t payload_bytes, double now);
void window_time_measured(const struct window *w, const struct window_slot *s, uint64_t echo,
                          double now);
bool window_time_silent(const struct window *w, const struct window_end *end, double now);

#endif
