/* window.h : Sends one rank's packets to the job's slots on all cards and recovers what is lost.
 *
 *     packet n of the job (all steps, MAX and SUM) -> card n mod R
 *     packet m = n / R of that card -> slot m mod S, chunk m / S mod 2^32
 *
 * Nothing here blocks or reads a clock: window_turn() does what is possible at time `now`, in
 * seconds. One thread can turn the windows of several ranks. Every rank starts the same work
 * in the same order. */
#ifndef WINDOW_H
#define WINDOW_H
#include "reduce/way.h"
#include "offload/window/frame.h"
#include "offload/card/fpga_job.h"
#include "offload/wire/wire.h"

enum { WINDOW_BEATS = 128, WINDOW_PACKETS = 64 };

struct window;

struct window_card {
    struct wire wire; /* the caller's; open as long as the window */
    /* Multicast receiver for sums, the caller's; ops NULL: the card sends them to each rank. */
    struct wire group;
    struct fpga_job job;
    const char *name; /* for messages; the caller's */
};

struct window_config {
    int rank, n_ranks;
    /* Part of every tag: the same on all ranks, secret to others. */
    uint64_t nonce;
    /* Also shared and secret, for jobs with a group: [0], [1] make the tags, [2], [3] the
     * digest. */
    uint64_t secret[4];
    struct card_fit fit;
    bool saturate;
    int out_shift;
    /* Payload beats that all cards take. At most WINDOW_BEATS are used, and what the
     * paths take: window_beats(). */
    uint32_t beats;
    int packets;            /* most in flight to a card; 0: WINDOW_PACKETS */
    double card_deadline_s; /* abandon a card after this silence */
    double deadline_s;      /* for another rank's contribution */
};

enum window_state {
    WINDOW_BUSY, /* turn again */
    WINDOW_DONE, /* the work is complete */
    WINDOW_LOST, /* abandon a card: window_why() */
    /* The cards answer, but contributions of other ranks are missing: window_missing(). */
    WINDOW_STRAGGLER
};

/* Returns 0, or after reporting -ENOMEM or -EINVAL (frames too small for these formats). */
int window_open(const struct window_config *config, const struct window_card *cards, int n_cards,
                double now, struct window **out);
void window_close(struct window *w);

/* The three kinds of work, one at a time; none after WINDOW_LOST. x, codes and result stay in use
 * until the work is done. */
void window_start_pings(struct window *w, double now); /* at full length, then shorter */
void window_start_max(struct window *w, uint32_t tag, int8_t *x, size_t n, double now);
void window_start_sum(struct window *w, const struct way_sum *sum, double now);

/* Does what is possible now. *moved: something arrived or was sent for the first time, so another
 * turn may have more to do. */
enum window_state window_turn(struct window *w, double now, bool *moved);

/* Calls the flow's need() for the rest of the codes, as way.h promises. After
 * WINDOW_LOST during a sum. */
void window_need_rest(struct window *w);

/* After the pings: payload beats of the longest frame that came back from all cards. All ranks must
 * set the minimum over ranks with window_limit() before any work. */
uint32_t window_beats(const struct window *w);
void window_limit(struct window *w, uint32_t beats);

const char *window_why(const struct window *w);  /* one line, after WINDOW_LOST */
int window_lost(const struct window *w);         /* which card, after WINDOW_LOST */
uint64_t window_missing(const struct window *w); /* rank mask, after WINDOW_STRAGGLER */
struct way_count window_counted(const struct window *w);

/* After WINDOW_LOST: true if this rank only fails to receive the group. */
bool window_deaf(const struct window *w);

/* Returns a digest of all results so far, in any order: equal on ranks that got the same results. 0
 * without a group: results under a job's key need no comparison. */
uint64_t window_digest(const struct window *w);

#endif
