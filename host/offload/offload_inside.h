/* offload_inside.h : what the facade's files share: the cards, the wires, the window; open on all
 * ranks or closed on all. */
#ifndef OFFLOAD_INSIDE_H
#define OFFLOAD_INSIDE_H
#include "hls/card/packet.h"
#include "offload/offload.h"
#include "offload/window/window.h"
#include <limits.h>

enum { OFFLOAD_WHY_BYTES = 224, OFFLOAD_NAME_BYTES = 64 };

/* When rank 0 tries again to reach a card that is out. */
struct offload_retry {
    double at, wait_s;
    int rc;    /* of the last attempt */
    bool said; /* that it is out */
};

struct offload {
    struct comm *comm;
    struct vec_sum sum;
    struct card_fit fit;
    char names[OFFLOAD_MOST_CARDS][OFFLOAD_NAME_BYTES], provider[OFFLOAD_NAME_BYTES],
        local[OFFLOAD_NAME_BYTES];
    char xclbin[PATH_MAX]; /* "": none named */
    int n_cards, slots;
    struct fpga_rank group; /* ip 0: none, or given up; the same on all ranks */
    double card_deadline_s, deadline_s;

    bool open;    /* the same on all ranks */
    bool failed;  /* rank 0 has said that it is closed */
    bool gave_up; /* this rank, in this step */
    /* rank 0: those whose ops are not NULL are reached */
    struct fpga cards[OFFLOAD_MOST_CARDS];
    struct fpga_caps caps[OFFLOAD_MOST_CARDS];      /* rank 0 */
    struct fpga_rank frames_at[OFFLOAD_MOST_CARDS]; /* rank 0: where frames go */
    struct offload_retry retry[OFFLOAD_MOST_CARDS]; /* rank 0 */
    /* rank 0: cards that are the reason to give up, a bit each */
    uint32_t blamed;
    /* cards that take part, in this order, while open */
    int members[OFFLOAD_MOST_CARDS], n_members;
    struct fpga_job jobs[OFFLOAD_MOST_CARDS]; /* members'; slots 0: none */
    /* rank 0: addresses that jobs were registered with */
    struct fpga_rank ranks[OFFLOAD_MOST_CARDS][PKT_MAX_RANKS];
    struct wire wires[OFFLOAD_MOST_CARDS]; /* members' */
    struct wire ears[OFFLOAD_MOST_CARDS];  /* likewise, while there is a group */
    bool group_failed;                     /* rank 0, after offload_learn_why(): the group has */
    struct window *window;                 /* while open */
    struct way_count before;               /* of windows that are closed */
    char why[OFFLOAD_WHY_BYTES];           /* rank 0 */
    /* this rank's own reason in this step */
    char gave_up_why[OFFLOAD_WHY_BYTES];
    int gave_up_card; /* the card that it is about */
    char described[OFFLOAD_MOST_CARDS * OFFLOAD_NAME_BYTES + 128];
};

/* ---- offload_members.c ---- */

/* "239.1.1.1:5000" as words, NULL: none. Returns 0, or -EINVAL with a line. */
int offload_group_parse(const char *words, struct fpga_rank *out);

/* This rank's ears for all members; cards: where their frames come from. Returns 0, or a negative errno with why. */
int offload_group_join(struct offload *o, const struct fpga_rank *cards, char why[WIRE_WHY_BYTES]);

/* No ears any more. */
void offload_group_leave(struct offload *o);

/* Rank 0: one line; the caller sees to it that all ranks go on without. */
void offload_group_give_up(struct offload *o, const char *why);

/* ---- offload_join.c ---- */

/* All ranks, while closed: tries to open with the cards that rank 0 has reached. Returns 1, 0 or a
 * negative errno. */
int offload_join(struct offload *o);

/* Back to closed, on this rank; cards stay reached, without a job. */
void offload_leave(struct offload *o);

/* ---- offload_members.c, all for rank 0 ---- */

/* Reaches cards that are out and whose time has come. Returns how many answered; else o->why. */
int offload_reach(struct offload *o, double budget_s);

/* The first attempt to reach them. Returns 0, or -ENXIO after reporting a card that cannot exist. */
int offload_reach_first(struct offload *o, double budget_s);

/* Some card that does not take part, for messages: why. */
const char *offload_why_not_all(const struct offload *o);

/* These cards, a bit each (0: all), are out, because of o->why, which took so long to find. */
void offload_blame(struct offload *o, uint32_t cards, double spent_s);

int offload_n_reached(const struct offload *o);

/* One line when it has become closed; while it is open, one for each card that is out or back. */
void offload_say_state(struct offload *o);

/* ---- offload_drive.c ---- */

/* Turns the window until its work is done. Returns 0, WAY_GAVE_UP with o->gave_up_why, or a
 * negative errno. in_step: other ranks may give up meanwhile, and are told of it. */
int offload_drive(struct offload *o, bool in_step);

/* Of all windows since it was opened. */
struct way_count offload_counted(const struct offload *o);

/* ---- offload_reason.c ---- */

/* All ranks: rank 0's o->why becomes the reason of the lowest rank that has one, o->blamed all
 * cards that were given up, o->group_failed whether it was the group, which is then none on all ranks. Returns 0 or
 * -EIO. */
int offload_learn_why(struct offload *o);

#endif
