/* wire_process.h : wires to a simulated card of one's own that does not listen: frames wait here
 * until the card is run, a rank's apart from the others'. */
#ifndef WIRE_PROCESS_H
#define WIRE_PROCESS_H
#include "offload/card/fpga_process.h"
#include "offload/wire/wire.h"

struct wire_process;

/* What the card has done in all runs. */
struct wire_process_time {
    /* clocks: from the first beat to the last of each; 0: this model has no clock */
    uint64_t clocks, beats_in, beats_out;
    double seconds; /* of our time */
};

/* card: open, and the caller's; gap: idle clocks behind each frame. Returns 0 or -ENOMEM with a
 * line. */
int wire_process_open(struct fpga_process *card, int n_ranks, uint32_t gap,
                      struct wire_process **out);
void wire_process_close(struct wire_process *p); /* and all wires; NULL is legal */

/* A rank's wire; its close does nothing. */
struct wire wire_process_of(struct wire_process *p, int rank);

/* Gives the card what waits, a frame of each rank by turns, and runs it until it is quiet. Adds to
 * *time. Returns 1; 0: nothing waited; or a negative errno with a line (-ECHILD: the card has said
 * it). */
int wire_process_run(struct wire_process *p, struct wire_process_time *time);

#endif
