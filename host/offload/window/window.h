/* window.h : sends one rank's packets to the job's slots on all cards and recovers lost packets.
 *
 *     packet n of the job (all steps, MAX and SUM) -> card n mod R, of R
 *     packet m = n / R of that card -> slot m mod S, of S, chunk m / S mod 2^32
 *
 * No function blocks or reads a clock: window_turn() does what is possible at time `now`, in
 * seconds, so one thread can turn several ranks' windows. All ranks must start the same work in the
 * same order. */
#ifndef WINDOW_H
#define WINDOW_H
#include "reduce/card_path.h"
#include "offload/window/frame.h"
#include "offload/card/fpga_job.h"
#include "offload/wire/wire.h"

enum { WINDOW_BEATS = 128 }; /* most payload beats of a frame; our cards take CARD_BEATS */

struct window;

struct window_card {
    struct wire wire; /* the caller's; open as long as the window */
    /* the caller's multicast receiver for sums; ops NULL: the card sends sums to each rank */
    struct wire group;
    struct fpga_job job;
    const char *name; /* for messages; the caller's */
};

struct window_config {
    int rank, n_ranks;
    /* Part of every tag without a group: the same on all ranks, unknown to other hosts. */
    uint64_t nonce;
    /* The same for jobs with a group: [0] and [1] are the key of tags, [2] and [3] of the
     * digest. */
    uint64_t secret[4];
    struct card_fit fit;
    bool saturate;
    int out_shift;
    /* Payload beats of the longest frame that all cards accept, at most WINDOW_BEATS. The network
     * may carry only shorter frames (window_beats()). */
    uint32_t beats;
    double card_deadline_s; /* silence after which a card is abandoned */
    double others_s;        /* longest wait for other ranks */
};

enum window_state {
    WINDOW_BUSY, /* turn again */
    WINDOW_DONE,
    WINDOW_LOST, /* abandon card window_lost() */
    /* card window_lost() still lacks packets of ranks window_missing(), it says */
    WINDOW_STRAGGLER
};

/* Returns 0, or reports and returns -ENOMEM or -EINVAL (frames too small for these formats). */
int window_open(const struct window_config *config, const struct window_card *cards, int n_cards,
                double now, struct window **out);
void window_close(struct window *w);

/* Start work, one kind at a time and none after WINDOW_LOST. x, codes and result must stay valid
 * until it is done. */
/* pings each card with the longest frames first, then with shorter ones */
void window_start_pings(struct window *w, double now);
void window_start_max(struct window *w, uint32_t tag, int8_t *x, size_t n, double now);
void window_start_sum(struct window *w, const struct card_path_sum *sum, double now);

/* Receives, sends and runs timers as far as possible at `now`. *moved: a datagram arrived or was
 * first sent, so another turn may do more. */
enum window_state window_turn(struct window *w, double now, bool *moved);

/* After WINDOW_LOST during a sum, calls the sum's need() for the rest of the codes, as card_path.h
 * requires. */
void window_need_rest(struct window *w);

/* After the pings: returns the payload beats of the longest frame that came back from all cards.
 * Ranks must agree on the minimum and set it with window_limit() before any work. */
uint32_t window_beats(const struct window *w);
void window_limit(struct window *w, uint32_t beats);

const char *window_why(const struct window *w);  /* after WINDOW_LOST, one line */
int window_lost(const struct window *w);         /* index of the card */
uint64_t window_missing(const struct window *w); /* bit mask of ranks */
struct card_path_count window_counted(const struct window *w);

/* The group caused WINDOW_LOST, not the card: this rank does not receive it, or received too many
 * forged results. */
bool window_group_failed(const struct window *w);

/* Returns a digest of all results so far, equal on ranks with the same results in any order. 0
 * without a group, where the job's key protects results. */
uint64_t window_digest(const struct window *w);

#endif
