/* offload_inside.h : what the facade's files share: the cards, the wires, the window; open on all ranks or closed on all. */
#ifndef OFFLOAD_INSIDE_H
#define OFFLOAD_INSIDE_H
#include "offload/fabric.h"
#include "offload/offload.h"
#include "offload/window.h"

enum { OFFLOAD_WHY_BYTES = 224, OFFLOAD_NAME_BYTES = 64 };

struct offload {
    struct comm *comm;
    struct codec codec;
    struct card_fit fit;
    char names[OFFLOAD_MOST_CARDS][OFFLOAD_NAME_BYTES], provider[OFFLOAD_NAME_BYTES], local[OFFLOAD_NAME_BYTES];
    int n_cards, slots;
    double card_deadline_s, deadline_s;

    bool open;                                 /* the same on all ranks */
    bool failed, gave_up;                      /* failed: since it was last open; gave_up: this rank, in this step */
    struct fpga cards[OFFLOAD_MOST_CARDS];     /* rank 0: those whose ops are not NULL are open */
    struct fpga_caps caps[OFFLOAD_MOST_CARDS]; /* rank 0 */
    struct fpga_job jobs[OFFLOAD_MOST_CARDS];
    struct wire wires[OFFLOAD_MOST_CARDS]; /* those whose ops are not NULL are open */
    struct window *window;                 /* while open */
    struct way_count before;               /* of windows that are closed */
    double try_at, retry_s;                /* rank 0: not before; how long after that */
    char why[OFFLOAD_WHY_BYTES];           /* rank 0 */
    char gave_up_why[OFFLOAD_WHY_BYTES];   /* this rank's own reason in this step */
    char described[OFFLOAD_MOST_CARDS * OFFLOAD_NAME_BYTES + 128];
};

/* ---- offload_join.c ---- */

/* All ranks, while closed: tries to open. budget_s: what rank 0 may spend on reaching cards. Returns 1, 0 or a negative errno. */
int offload_join(struct offload *o, double budget_s);

/* Back to closed, on this rank. */
void offload_leave(struct offload *o);

/* ---- offload_way.c ---- */

/* Turns the window until its work is done. Returns 0, WAY_GAVE_UP with o->gave_up_why, or a negative errno. in_step: other ranks
 * may give up meanwhile, and are told of it. */
int offload_drive(struct offload *o, bool in_step);

/* All ranks: rank 0's o->why becomes the reason of the lowest rank that has one. Returns 0 or -EIO. */
int offload_learn_why(struct offload *o);

#endif
