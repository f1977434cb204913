/* wire_process.h : connects ranks to a simulated card that does not listen. Each rank's frames are
 * queued until the card is run. */
#ifndef WIRE_PROCESS_H
#define WIRE_PROCESS_H
#include "offload/card/fpga_process.h"
#include "offload/wire/wire.h"

struct wire_process;

struct wire_process_time {
    /* clocks: sum over runs, first to last beat of each; 0: the model has no clock */
    uint64_t clocks, beats_in, beats_out;
    double seconds; /* wall clock */
};

/* Opens wires. card: open, and remains the caller's. gap: idle clocks after each frame. Returns 0,
 * or -ENOMEM after reporting. */
int wire_process_open(struct fpga_process *card, int n_ranks, uint32_t gap,
                      struct wire_process **out);
void wire_process_close(struct wire_process *p); /* and all its wires; NULL is legal */

/* Its close() does nothing. */
struct wire wire_process_of(struct wire_process *p, int rank);

/* Sends the queued frames, one of each rank in turn, and runs the card until it is idle. Adds to
 * *time. Returns 1, 0 if no frame was queued, or a negative errno after reporting. -ECHILD: the
 * card has reported the cause. */
int wire_process_run(struct wire_process *p, struct wire_process_time *time);

#endif
