/* window.h : Sends one rank's packets to the job's slots on all cards and recovers lost packets.
 *
 *     packet n of the job (all steps, MAX and SUM) -> card n mod R
 *     packet m = n / R of that card -> slot m mod S, chunk m / S mod 2^32
 *
 * No function blocks or reads a clock: window_turn() does all that is possible at time
 * `now`, in seconds. One thread can turn the windows of several ranks. All ranks must
 * start the same work in the same order. */
#ifndef WINDOW_H
#define WINDOW_H
#include "reduce/card_path.h"
#include "offload/window/frame.h"
#include "offload/card/fpga_job.h"
#include "offload/wire/wire.h"

enum { WINDOW_BEATS = 128, WINDOW_PACKETS = 64 };

struct window;

struct window_card {
    struct wire wire; /* the caller's; open as long as the window */
    /* Multicast receiver for sums, owned by the caller. If ops is NULL, the
     * card sends sums to each rank. */
    struct wire group;
    struct fpga_job job;
    const char *name; /* for messages; owned by the caller */
};

struct window_config {
    int rank, n_ranks;
    /* Goes into every tag of a job without a group: the same on all
     * ranks, unknown to other hosts. */
    uint64_t nonce;
    /* Used in jobs with a group, the same on all ranks and unknown to other hosts. [0] and [1]
     * are the key of the tags, [2] and [3] that of the digest. */
    uint64_t secret[4];
    struct card_fit fit;
    bool saturate;
    int out_shift;
    /* Payload beats of the longest frame that all cards accept. Fewer are used if the paths do
     * not carry such frames (window_beats()), and never more than WINDOW_BEATS. */
    uint32_t beats;
    int packets;            /* limit of packets in flight to a card; 0: WINDOW_PACKETS */
    double card_deadline_s; /* abandon a card after this silence */
    double deadline_s;      /* how long to wait for other ranks */
};

enum window_state {
    WINDOW_BUSY, /* call window_turn() again */
    WINDOW_DONE, /* the work is complete */
    WINDOW_LOST, /* abandon window_lost() */
    /* Contributions of the ranks window_missing() have not arrived; the cards answer. */
    WINDOW_STRAGGLER
};

/* Returns 0, or after reporting -ENOMEM or -EINVAL (frames are too small for these formats). */
int window_open(const struct window_config *config, const struct window_card *cards, int n_cards,
                double now, struct window **out);
void window_close(struct window *w);

/* The next three functions start work. Only one kind of work is possible at a time, and none
 * after WINDOW_LOST. x, codes and result must stay valid until the work is done. */
/* the longest frames first, then shorter ones */
void window_start_pings(struct window *w, double now);
void window_start_max(struct window *w, uint32_t tag, int8_t *x, size_t n, double now);
void window_start_sum(struct window *w, const struct card_path_sum *sum, double now);

/* Receives, sends and runs timers as far as possible at time `now`. *moved: a datagram arrived
 * or was sent for the first time, so another turn may have more to do. */
enum window_state window_turn(struct window *w, double now, bool *moved);

/* Calls the flow's need() for the rest of the codes, as card_path.h requires. Call it
 * after WINDOW_LOST during a sum. */
void window_need_rest(struct window *w);

/* Returns the payload beats of the longest frame that came back from all cards.
 * Call it after the pings. All ranks must then agree on the minimum and set it
 * with window_limit() before any work. */
uint32_t window_beats(const struct window *w);
void window_limit(struct window *w, uint32_t beats);

const char *window_why(const struct window *w);  /* reason after WINDOW_LOST, one line */
int window_lost(const struct window *w);         /* index of the card after WINDOW_LOST */
uint64_t window_missing(const struct window *w); /* bit mask of ranks after WINDOW_STRAGGLER */
struct card_path_count window_counted(const struct window *w);

/* True if the cause of WINDOW_LOST is the group, not the card: this rank does not receive the
 * group, or has received too many forged results from it. */
bool window_group_failed(const struct window *w);

/* Returns a digest of all results so far. It does not depend on their order, so it
 * is equal on ranks that got the same results. Returns 0 without a group: results
 * under a job's key need no comparison. */
uint64_t window_digest(const struct window *w);

#endif
