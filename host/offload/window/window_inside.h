/* window_inside.h : what the window's files share: its memory, a card, a slot. For them and their
 * tests alone. */
#ifndef WINDOW_INSIDE_H
#define WINDOW_INSIDE_H
#include "hls/card/packet.h"
#include "offload/window/wheel.h"
#include "offload/window/window.h"

enum {
    WINDOW_FRAME_BYTES = PKT_HEADER_BYTES + WINDOW_BEATS * PKT_BEAT_BYTES,
    WINDOW_WHY_BYTES = 224
};

/* A slot of the job on one card, as this rank sees it. One more of them, behind the others, asks
 * for the way at the start. */
struct window_slot {
    struct wheel_timer timer; /* first: a timer's slot is where it lies */
    struct window_end *end;
    struct window_slot *next_ready; /* behind it in the card's list */
    uint64_t next_m;                /* what it is ready for */
    /* which packet of this card is, or was last, in it; meaningless before the first */
    uint64_t m;
    /* of the first and the last ping since it was sent or answered; 0: none */
    uint64_t first_echo, echo;
    double first_at, asked_at; /* when those were sent */
    size_t n_result;           /* bytes of payload that the result will have */
    size_t n_frame;            /* of the frame */
    uint8_t *frame;            /* as it was sent */
    bool out, used;            /* out: no result yet; used: there has been a packet in it */
    uint8_t tries;             /* pings since it was sent */
};

/* One card and what is under way to it. */
struct window_end {
    struct window_card card;
    struct window_slot *slots;              /* [card.job.slots + 1] */
    struct window_slot *ready, *last_ready; /* slots whose next packet may be sent, in that order */
    uint32_t n_out;
    uint64_t answered;    /* the latest packet (m) that has a result */
    double answered_at;   /* when the last result came */
    uint32_t n_questions; /* pings since it was heard last */
    /* when the first question was asked that nothing has followed; 0: it has spoken since */
    double silent_since;
    double rtt_s, var_s; /* smoothed; 0: never measured */
};

enum window_kind { WINDOW_PING, WINDOW_MAX, WINDOW_SUM };

struct window_work {
    enum window_kind kind;
    uint32_t tag, per_packet; /* elements */
    uint64_t n_packets, done; /* done: the first that has no result */
    size_t n, needed, had;    /* elements; needed, had: what the flow has been told */
    int8_t *x;                /* MAX */
    struct way_sum sum;       /* SUM */
};

struct window {
    struct window_config config;
    struct window_end *ends; /* [n_ends] */
    int n_ends;
    uint64_t base; /* packets of the job before this work */
    struct window_work work;
    struct wheel wheel;
    uint64_t last_echo;
    double progress_at, timed_at; /* timed_at: when timers were last looked at */
    /* the last turn; when this process was last back after it had been away */
    double turned_at, back_at;
    enum window_state state;
    uint64_t missing;
    int n_asked; /* cards that a starting ping has not come back from */
    int lost;    /* card that is to be given up */
    char why[WINDOW_WHY_BYTES];
    struct way_count count;
    uint64_t damaged, foreign; /* datagrams: no whole frame; none of this job */
    bool grouped, deaf;        /* sums go to a group; which is not heard, or others send there */
    int apart, forged; /* sums in a row that the group has not brought; what it should not */
    uint64_t digest;
    struct window_slot *slots; /* of all cards */
    uint8_t *frames;           /* of all slots */
};

/* What a PONG tells a rank that waits for the result of chunk c, of which it has that of c - 1
 * (unless it is the first). state: enum PKT_PONG_..., of the PONG; in: the card says that this rank
 * is among those whose parts it has.
 *     DONE(c - 1), FILLING(c) without this rank      its packet was lost
 *     FILLING(c) with this rank                      others are late
 *     DONE(c), FILLING(c + 1) without this rank
 *     the result was lost; others have it and have gone on
 * Source: tests/hls/test_slot_search.c, which searches what can be. */
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

/* A datagram from card `end`: bytes [n], any. Counted as what it is; a result that is waited for is
 * taken. Called from outside window_take.c by tests alone. */
void window_take(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                 double now);

/* The same for what has come to the group. */
void window_take_group(struct window *w, struct window_end *end, const uint8_t *bytes, size_t n,
                       double now);

/* Takes what has come from all cards, some of it when there is much; *drained: all. True when there
 * was anything. */
bool window_receive(struct window *w, double now, bool *drained);

/* ---- window_flow.c ---- */

/* Something else begins, with nothing under way. */
void window_start(struct window *w, struct window_work work, double now);

/* The slot is free for packet m of its card, if there is one in this work. */
void window_make_ready(struct window *w, struct window_slot *s, uint64_t m);

/* Sends what may be sent, to all cards by turns; a slot that waits holds up no other one. True when
 * there was anything. */
bool window_send_new(struct window *w, double now);

/* Tells the work's flow what stands: whole packets, in order, some at a time. */
void window_have(struct window *w);

/* ---- window_send.c ---- */

/* Where packet i of the work lies: elements *at.., returns how many. */
size_t window_range(const struct window_work *work, uint64_t i, size_t *at);

/* Makes the slot's frame: packet i of the work. */
void window_build(const struct window *w, struct window_slot *s, uint64_t i);

/* Hands it to the wire. False: it had no room. */
bool window_send(struct window *w, struct window_slot *s);

/* Asks the card how far the slot is: a PING with the slot's echo. */
void window_send_ping(struct window *w, struct window_slot *s, size_t payload_bytes);

/* What the wires hold back leaves. */
void window_flush(struct window *w);

/* Gives a card up: state, and why: "card NAME " + the rest. */
void window_lose(struct window *w, const struct window_end *end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- window_flow.c ---- */

/* The timer of a ping at the start has run out. */
void window_path_due(struct window *w, struct window_slot *s, double now);

/* A pong of n bytes for it. */
void window_take_first_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                            size_t n, double now);

/* ---- window_time.c: the rule of what is asked and sent again, and when ---- */

/* Work begins; a turn begins: deadlines move by the time that this process was away, as nobody can
 * answer who is not heard. */
void window_time_start(struct window *w, double now);
void window_time_look(struct window *w, double now);

/* The slot's packet was sent for the first time; its result has come. */
void window_time_sent(struct window *w, struct window_slot *s, double now);
void window_time_answered(struct window *w, struct window_slot *s, double now);

/* The card has said something; its answer to one of the slot's pings. */
void window_time_heard(struct window_end *end);
void window_time_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                      double now);

/* The slot's timer has run out. */
void window_time_due(struct window *w, struct window_slot *s, double now);

/* For window_flow.c. Asks the card, and sets the timer; measures a round trip, if the echo is that
 * of the slot's first or last ping; is the card silent for longer than it may be? */
void window_time_ask(struct window *w, struct window_slot *s, size_t payload_bytes, double now);
void window_time_measured(const struct window *w, const struct window_slot *s, uint64_t echo,
                          double now);
bool window_time_silent(const struct window *w, const struct window_end *end, double now);

#endif
