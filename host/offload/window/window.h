/* window.h : one rank's packets under way to the job's slots on all cards, and what is done when
 * they do not come back.
 *
 *     packet n of the job (all steps, MAX and SUM): card n mod R, m = n / R: slot m mod S of that card, chunk m / S mod 2^32
 *
 * Nothing here blocks or looks at a clock: window_turn() does what can be done at the time `now`,
 * in seconds, and one thread can turn the windows of several ranks. Every rank starts the same work
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
    struct wire wire;    /* the caller's, open as long as the window */
    struct wire group;   /* likewise, where sums go to a group; ops NULL: to each rank */
    struct fpga_job job; /* as registered */
    const char *name;    /* for messages; the caller's */
};

struct window_config {
    int rank, n_ranks;
    uint64_t nonce; /* the same on all ranks, unknown to all others: part of every tag */
    /* likewise, of a job whose sums go to a group: [0], [1] make its tags, [2], [3] its digest */
    uint64_t secret[4];
    struct card_fit fit;
    bool saturate;
    int out_shift;
    /* that all cards take; WINDOW_BEATS are used at most, and what the path takes:
     * window_beats() */
    uint32_t beats;
    int packets;            /* under way to a card at most; 0: WINDOW_PACKETS */
    double card_deadline_s; /* a card that is silent so long is given up */
    double deadline_s;      /* of another rank's contribution */
};

enum window_state {
    WINDOW_BUSY, /* turn again */
    WINDOW_DONE, /* what was started is complete */
    WINDOW_LOST, /* a card is to be given up: window_why() */
    /* cards are well, but other ranks' contributions are missing: window_missing() */
    WINDOW_STRAGGLER
};

/* Returns 0, or -ENOMEM, -EINVAL (frames too small for these formats) with a line. */
int window_open(const struct window_config *config, const struct window_card *cards, int n_cards,
                double now, struct window **out);
void window_close(struct window *w);

/* The three kinds of work, one at a time; none after WINDOW_LOST. x, codes and result are in use
 * until the work is done. */
/* to each card, as long as the longest frame, or shorter ones */
void window_start_pings(struct window *w, double now);
void window_start_max(struct window *w, uint32_t tag, int8_t *x, size_t n, double now);
void window_start_sum(struct window *w, const struct way_sum *sum, double now);

/* *moved: something was received or sent for the first time, so there may be more to do at once. */
enum window_state window_turn(struct window *w, double now, bool *moved);

/* After WINDOW_LOST in the middle of a sum: the rest of its codes are asked for, as way.h
 * promises. */
void window_need_rest(struct window *w);

/* Beats of the longest frame that came back from all cards, after the pings: all ranks use the
 * least of theirs, before any work. */
uint32_t window_beats(const struct window *w);
void window_limit(struct window *w, uint32_t beats);

const char *window_why(const struct window *w);  /* one line, after WINDOW_LOST */
int window_lost(const struct window *w);         /* which card, after WINDOW_LOST */
uint64_t window_missing(const struct window *w); /* ranks, after WINDOW_STRAGGLER */
struct way_count window_counted(const struct window *w);

/* After WINDOW_LOST: nothing is wrong but that this rank does not hear the group. */
bool window_deaf(const struct window *w);

/* Of all results that were taken since it was opened, in whatever order: the same on all ranks, or they are not the same
 * results. 0 without a group: what comes under a job's key need not be compared. */
uint64_t window_digest(const struct window *w);

#endif
