/* offload_inside.h : Declares the state that the offload_*.c files share. The path is open on all
 * ranks or on none. */
#ifndef OFFLOAD_INSIDE_H
#define OFFLOAD_INSIDE_H
#include "hls/card/packet.h"
#include "offload/offload.h"
#include "offload/window/window.h"
#include <limits.h>

enum { OFFLOAD_WHY_BYTES = 224, OFFLOAD_NAME_BYTES = 64 };

/* Used by rank 0 for each card that is out: time of the next attempt to reach it. */
struct offload_retry {
    double at, wait_s; /* time of the next attempt; delay if that fails */
    /* rc: result of the last attempt. said: rank 0 has reported that the card is out. */
    int rc;
    bool said;
};

struct offload {
    struct comm *comm;
    struct vec_sum sum;
    struct card_fit fit;
    char names[OFFLOAD_MAX_CARDS][OFFLOAD_NAME_BYTES], provider[OFFLOAD_NAME_BYTES],
        local[OFFLOAD_NAME_BYTES];
    char xclbin[PATH_MAX]; /* "" if none is named */
    int n_cards, slots;
    struct fpga_rank group; /* ip 0: no group, or abandoned; same on all ranks */
    double card_deadline_s, deadline_s;

    bool open;      /* same on all ranks */
    bool failed;    /* rank 0 has reported that the path is closed */
    bool abandoned; /* this rank has abandoned it in this step */
    /* Used by rank 0 only. ops is NULL if the card is not reached. */
    struct fpga cards[OFFLOAD_MAX_CARDS];
    struct fpga_caps caps[OFFLOAD_MAX_CARDS]; /* used by rank 0 */
    /* used by rank 0: the card's address for frames */
    struct fpga_rank frames_at[OFFLOAD_MAX_CARDS];
    struct offload_retry retry[OFFLOAD_MAX_CARDS]; /* used by rank 0 */
    /* Used by rank 0: bit mask of the cards that some rank has abandoned in this step. */
    uint32_t blamed;
    /* Indices of the cards that take part while the path is open. Packets
     * are distributed in this order. */
    int members[OFFLOAD_MAX_CARDS], n_members;
    struct fpga_job jobs[OFFLOAD_MAX_CARDS]; /* of members; slots is 0 if there is none */
    /* Used by rank 0: the ranks' addresses with which the jobs were registered. */
    struct fpga_rank ranks[OFFLOAD_MAX_CARDS][PKT_MAX_RANKS];
    struct wire wires[OFFLOAD_MAX_CARDS]; /* of members */
    struct wire
        group_wires[OFFLOAD_MAX_CARDS]; /* of members: multicast receivers, if there is a group */
    /* Used by rank 0 after offload_learn_why(): the group has failed. */
    bool group_failed;
    struct window *window;         /* NULL while the path is closed */
    struct card_path_count before; /* counts of windows closed earlier */
    char why[OFFLOAD_WHY_BYTES];   /* used by rank 0 */
    /* This rank's own reason for abandoning the step, and the index of
     * the card that it concerns. */
    char abandon_why[OFFLOAD_WHY_BYTES];
    int abandon_card;
    char described[OFFLOAD_MAX_CARDS * OFFLOAD_NAME_BYTES + 128];
};

/* ---- offload_members.c ---- */

/* Parses a group such as "239.1.1.1:5000". NULL leaves *out as it is. Returns
 * 0, or -EINVAL after reporting. */
int offload_group_parse(const char *words, struct fpga_rank *out);

/* Opens this rank's multicast receivers (group_wires) for all members. cards[i]: address from which
 * card i sends. Returns 0, or a negative errno with the reason in why. */
int offload_group_join(struct offload *o, const struct fpga_rank *cards, char why[WIRE_WHY_BYTES]);

void offload_group_leave(struct offload *o);

/* Reports that the group is abandoned. Called on rank 0. The caller makes all
 * ranks continue without the group. */
void offload_group_abandon(struct offload *o, const char *why);

/* ---- offload_join.c ---- */

/* Tries to open the path with the cards that rank 0 has reached. Collective; the path must be
 * closed. Returns 1 if the path is open, 0 if it stays closed, or a negative errno. */
int offload_join(struct offload *o);

/* Closes the path on this rank. Rank 0 keeps its control connections to the cards. */
void offload_leave(struct offload *o);

/* ---- offload_members.c, for rank 0 only ---- */

/* Tries to reach the cards that are out and due for a retry, within budget_s. Returns the number
 * of cards that answered. The reason of the last failure is in o->why. */
int offload_reach(struct offload *o, double budget_s);

/* Tries to reach all cards for the first time. Returns 0, or -ENXIO after reporting a card
 * that cannot exist. */
int offload_reach_first(struct offload *o, double budget_s);

/* Returns the reason why some card does not take part, for a message. */
const char *offload_why_not_all(const struct offload *o);

/* Marks the cards of this bit mask (0: all reached cards) as out for the reason o->why. spent_s:
 * time lost until the failure was found. A longer one delays the next attempt. */
void offload_blame(struct offload *o, uint32_t cards, double spent_s);

int offload_n_reached(const struct offload *o);

/* Prints a message if the path has closed. While the path is open, prints one for each
 * card that has gone out or come back. */
void offload_say_state(struct offload *o);

/* ---- offload_drive.c ---- */

/* Calls window_turn() until the window's work is done. in_step: also stop if another rank
 * abandons the step. Returns 0, CARD_PATH_ABANDONED (this rank's own reason, if any, is in
 * o->abandon_why), or a negative errno. */
int offload_drive(struct offload *o, bool in_step);

/* Returns the counts of all windows since offload_open(). */
struct card_path_count offload_counted(const struct offload *o);

/* ---- offload_reason.c ---- */

/* Collects the ranks' reasons for abandoning cards. Rank 0 sets o->why (the reason of the lowest
 * rank that has one), o->blamed (all abandoned cards) and o->group_failed. A failed group ends
 * on all ranks. Collective. Returns 0 or -EIO. */
int offload_learn_why(struct offload *o);

#endif
