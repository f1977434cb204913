/* offload_inside.h : Declares the state that the offload_*.c files share. The path is open on all
 * ranks or on none. */
#ifndef OFFLOAD_INSIDE_H
#define OFFLOAD_INSIDE_H
#include "hls/card/packet.h"
#include "offload/offload.h"
#include "offload/window/window.h"
#include <limits.h>

enum { OFFLOAD_WHY_BYTES = 224, OFFLOAD_NAME_BYTES = 64 };

/* Rank 0: when to try again to reach a card that is out. */
struct offload_retry {
    double at, wait_s; /* time of the next attempt; delay if that fails */
    /* rc: of the last attempt; said: rank 0 has reported that the card is out */
    int rc;
    bool said;
};

struct offload {
    struct comm *comm;
    struct vec_sum sum;
    struct card_fit fit;
    char names[OFFLOAD_MOST_CARDS][OFFLOAD_NAME_BYTES], provider[OFFLOAD_NAME_BYTES],
        local[OFFLOAD_NAME_BYTES];
    char xclbin[PATH_MAX]; /* "": none named */
    int n_cards, slots;
    struct fpga_rank group; /* ip 0: no group, or abandoned; same on all ranks */
    double card_deadline_s, deadline_s;

    bool open;    /* same on all ranks */
    bool failed;  /* rank 0 has reported that the path is closed */
    bool gave_up; /* this rank has abandoned it in this step */
    /* rank 0; ops NULL: not reached */
    struct fpga cards[OFFLOAD_MOST_CARDS];
    struct fpga_caps caps[OFFLOAD_MOST_CARDS];      /* rank 0 */
    struct fpga_rank frames_at[OFFLOAD_MOST_CARDS]; /* rank 0: where frames go */
    struct offload_retry retry[OFFLOAD_MOST_CARDS]; /* rank 0 */
    /* Rank 0: bit mask of the cards for which ranks have abandoned the step. */
    uint32_t blamed;
    /* Indices of the cards that take part while open, in the order of the packets' distribution. */
    int members[OFFLOAD_MOST_CARDS], n_members;
    struct fpga_job jobs[OFFLOAD_MOST_CARDS]; /* of members; slots 0: none */
    /* Rank 0: the rank addresses with which jobs were registered. */
    struct fpga_rank ranks[OFFLOAD_MOST_CARDS][PKT_MAX_RANKS];
    struct wire wires[OFFLOAD_MOST_CARDS]; /* of members */
    struct wire ears[OFFLOAD_MOST_CARDS];  /* multicast receivers of members, with a group */
    /* Rank 0, after offload_learn_why(): the group has failed. */
    bool group_failed;
    struct window *window;       /* while open */
    struct way_count before;     /* of windows closed earlier */
    char why[OFFLOAD_WHY_BYTES]; /* rank 0 */
    /* This rank's own reason in this step, and the card that it concerns. */
    char gave_up_why[OFFLOAD_WHY_BYTES];
    int gave_up_card;
    char described[OFFLOAD_MOST_CARDS * OFFLOAD_NAME_BYTES + 128];
};

/* ---- offload_members.c ---- */

/* Parses a group, "239.1.1.1:5000"; NULL: none. Returns 0, or -EINVAL after reporting. */
int offload_group_parse(const char *words, struct fpga_rank *out);

/* Opens this rank's multicast receivers (`ears`) for all members. cards: the sources of their
 * frames. Returns 0, or a negative errno with why. */
int offload_group_join(struct offload *o, const struct fpga_rank *cards, char why[WIRE_WHY_BYTES]);

void offload_group_leave(struct offload *o);

/* Rank 0: reports that the group is abandoned. The caller makes all ranks continue without it. */
void offload_group_give_up(struct offload *o, const char *why);

/* ---- offload_join.c ---- */

/* Tries to open the path with the cards that rank 0 has reached. Collective, while closed. Returns
 * 1 (open), 0 or a negative errno. */
int offload_join(struct offload *o);

/* Closes the path on this rank. Cards stay reached, without a job. */
void offload_leave(struct offload *o);

/* ---- offload_members.c, all for rank 0 ---- */

/* Tries to reach the cards that are out and due for a retry. Returns how many answered. The reason
 * of a failure is in o->why. */
int offload_reach(struct offload *o, double budget_s);

/* Tries to reach all cards for the first time. Returns 0, or -ENXIO after reporting a card
 * that cannot exist. */
int offload_reach_first(struct offload *o, double budget_s);

/* Returns why some card does not take part, for messages. */
const char *offload_why_not_all(const struct offload *o);

/* Puts out the cards of this bit mask (0: all) for the reason o->why. spent_s: the time lost until
 * it was found; a longer one delays the next attempt. */
void offload_blame(struct offload *o, uint32_t cards, double spent_s);

int offload_n_reached(const struct offload *o);

/* Reports that the path has closed or, while it is open, each card that has gone out or come
 * back. */
void offload_say_state(struct offload *o);

/* ---- offload_drive.c ---- */

/* Turns the window until its work is done. Returns 0, WAY_GAVE_UP with o->gave_up_why, or a
 * negative errno. in_step: also end if another rank abandons the step. */
int offload_drive(struct offload *o, bool in_step);

/* Returns the counts of all windows since offload_open(). */
struct way_count offload_counted(const struct offload *o);

/* ---- offload_reason.c ---- */

/* Collects the ranks' reasons: on rank 0 o->why (the lowest rank's), o->blamed (all abandoned
 * cards) and o->group_failed. A failed group ends on all ranks. Collective. Returns 0 or -EIO. */
int offload_learn_why(struct offload *o);

#endif
