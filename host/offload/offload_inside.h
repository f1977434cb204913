/* offload_inside.h : declares the state that the offload_*.c files share. The path is open on all
 * ranks or on none. */
#ifndef OFFLOAD_INSIDE_H
#define OFFLOAD_INSIDE_H
#include "comm/algo/algo_near.h"
#include "hls/card/packet.h"
#include "offload/offload.h"
#include "offload/window/window.h"
#include <limits.h>

enum { OFFLOAD_WHY_BYTES = 224, OFFLOAD_NAME_BYTES = 64 };

/* Rank 0's record of a card that does not take part (is out). */
struct offload_retry {
    double at, wait_s; /* time of the next attempt; delay after it if it fails */
    /* rc: of the last attempt. said: rank 0 has reported that the card is out. */
    int rc;
    bool said;
};

struct offload {
    struct comm *comm;
    struct vec_sum sum; /* by cards */
    struct card_fit fit;
    /* K near ranks with one master, who sends for them; 1: each rank is its own master. The cards'
     * rank r is rank r * near. */
    int near, n_masters;
    struct vec_sum near_sum; /* by masters; not set if near is 1 */
    struct algo_near passing;
    struct card_path_sum passed; /* this rank's call */
    int passing_rc;
    uint8_t *near_codes, *near_sums; /* on masters: others' codes or exponents; sums */
    size_t near_codes_bytes, near_sums_bytes;
    char names[OFFLOAD_MAX_CARDS][OFFLOAD_NAME_BYTES], provider[OFFLOAD_NAME_BYTES],
        local[OFFLOAD_NAME_BYTES];
    char xclbin[PATH_MAX]; /* "": none named */
    int n_cards, slots;
    struct fpga_rank group; /* ip 0: no group, or abandoned; same on all ranks */
    /* others_s: longest wait for packets of other ranks that a card lacks */
    double card_deadline_s, others_s;

    bool open;      /* same on all ranks */
    bool failed;    /* rank 0 has reported the closed path */
    bool abandoned; /* by this rank, in this step */
    /* rank 0; ops is NULL if the card is not reached */
    struct fpga cards[OFFLOAD_MAX_CARDS];
    struct fpga_caps caps[OFFLOAD_MAX_CARDS];
    /* rank 0: address for frames */
    struct fpga_rank frames_at[OFFLOAD_MAX_CARDS];
    struct offload_retry retry[OFFLOAD_MAX_CARDS];
    double rests_until; /* rank 0: no attempts before */
    int next;           /* rank 0: card of the next attempt, if it is due */
    /* rank 0: bit mask of the cards that some rank has abandoned in this step */
    uint32_t blamed;
    /* Cards that take part while the path is open, in the order in which packets are
     * distributed. */
    int members[OFFLOAD_MAX_CARDS], n_members;
    struct fpga_job jobs[OFFLOAD_MAX_CARDS]; /* of members; slots 0: none */
    /* rank 0: the ranks' addresses, as registered with the jobs */
    struct fpga_rank ranks[OFFLOAD_MAX_CARDS][PKT_MAX_RANKS];
    struct wire wires[OFFLOAD_MAX_CARDS];       /* of members */
    struct wire group_wires[OFFLOAD_MAX_CARDS]; /* of members: multicast receivers, with a group */
    /* rank 0, after offload_learn_why() */
    bool group_failed;
    struct window *window;         /* NULL: the path is closed */
    struct card_path_count before; /* of windows closed earlier */
    char why[OFFLOAD_WHY_BYTES];
    /* This rank's reason for abandoning the step, and the card concerned. */
    char abandon_why[OFFLOAD_WHY_BYTES];
    int abandon_card;
    char described[OFFLOAD_MAX_CARDS * OFFLOAD_NAME_BYTES + 128];
};

/* Parses "239.1.1.1:5000". NULL leaves *out as it is. Returns 0, or -EINVAL after reporting. */
int offload_group_parse(const char *words, struct fpga_rank *out);

/* Opens this rank's group_wires. cards[i]: address from which card i sends. Returns 0, or a
 * negative errno with the reason in why. */
int offload_group_join(struct offload *o, const struct fpga_rank *cards, char why[WIRE_WHY_BYTES]);

void offload_group_leave(struct offload *o);

/* Reports on rank 0. The caller makes all ranks continue without the group. */
void offload_group_abandon(struct offload *o, const char *why);

/* Tries to open the path with the cards that rank 0 has reached. Collective. Returns 1 (open), 0
 * (closed) or a negative errno. */
int offload_join(struct offload *o);

/* Closes the path on this rank. Rank 0 stays connected to the cards. */
void offload_leave(struct offload *o);

/* ---- on rank 0 ---- */

/* Tries the cards that are due for a retry, in a step, until budget_s is used up (a simulated or
 * XRT card may exceed it: fpga.h). The next call goes on with the next card, after a rest that
 * grows with the time of the failed attempts. Returns how many answered. o->why: the last
 * failure. */
int offload_reach(struct offload *o, double budget_s);

/* Tries all cards for the first time, each for at least 0.05 s. Returns 0, or -ENXIO after
 * reporting a card that cannot exist. */
int offload_reach_first(struct offload *o, double budget_s);

/* Returns why some card does not take part, for a message. */
const char *offload_why_not_all(const struct offload *o);

/* Marks cards (a bit mask; 0: all reached) as out for the reason o->why. spent_s: time that the
 * failure cost; the longer, the later the next attempt. */
void offload_blame(struct offload *o, uint32_t cards, double spent_s);

int offload_n_reached(const struct offload *o);

/* Prints one message if the path has closed, else one for each card that went out or came back. */
void offload_say_state(struct offload *o);

/* ---- on all ranks ---- */

static inline bool offload_is_master(const struct offload *o)
{
    return comm_rank(o->comm) % o->near == 0;
}

/* Near ranks of one master, with near > 1. A sum by cards begins with codes: on the master *own
 * becomes the sum of all codes, with callbacks that pass segments. It ends with the master's rc.
 * Maxima are made in one go. Return rc of the master, or a negative errno. */
int offload_near_begin(struct offload *o, struct card_path_sum *own);
int offload_near_end(struct offload *o, int rc);
int offload_near_max(struct offload *o, int8_t *x, size_t n);
int offload_near_tell(struct offload *o, int8_t *x, size_t n, int rc);

/* Calls window_turn() until the window's work is done or, if in_step, another rank abandons the
 * step. Returns 0, CARD_PATH_ABANDONED (this rank's own reason, if any, is in o->abandon_why), or a
 * negative errno. */
int offload_drive(struct offload *o, bool in_step);

/* Returns the counts of all windows since offload_open(). */
struct card_path_count offload_counted(const struct offload *o);

/* Collects why ranks abandoned cards. Rank 0 sets o->why (of the lowest rank with a reason),
 * o->blamed and o->group_failed. If the group failed, all ranks stop using it. Collective. Returns
 * 0 or -EIO. */
int offload_learn_why(struct offload *o);

#endif
