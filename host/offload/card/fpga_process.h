/* fpga_process.h : Starts narrowcast-sim as a card of this process, and tells how it ended. A card
 * that does not listen on a network gets its frames from this process (wire_process.h). */
#ifndef FPGA_PROCESS_H
#define FPGA_PROCESS_H
#include "offload/card/fpga.h"
#include "offload/card/fpga_link.h"
#include <stddef.h>
#include <sys/types.h>

struct fpga_process {
    struct fpga_link link;
    pid_t pid, owner; /* the card's; of the starter */
};

/* Starts narrowcast-sim --fd N words... (ending with NULL) from this program's folder, else from
 * PATH. silent: discard its stdout. Returns 0, or a negative errno with *card zeroed and the reason
 * in why; -ENOENT says how to build it. */
int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES]);

/* Does the same for the program at path. */
int fpga_process_run(struct fpga_process *card, const char *path, const char *const *words,
                     bool silent, double timeout_s, char why[FPGA_WHY_BYTES]);

/* Ends the card. Legal when zeroed. In a forked child of the owner it ends nothing:
 * the card continues. */
void fpga_process_close(struct fpga_process *card);

/* Writes one line into why: how the card's process ended. Returns -ENOENT, -EIO, or -ECHILD (the
 * card has reported the cause on stderr). */
int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES]);

/* ---- a simulated card that does not listen ---- */

/* Starts one, disabled as after reset. model: "rtl" or "c". wave: FST file, or NULL. Its address()
 * returns -ENOTSUP. Returns 0, or a negative errno with card->why: -ENOENT says how to build it;
 * -ECHILD: the card has reported the cause on stderr. */
int fpga_sim_start(struct fpga *card, const char *model, const char *wave);

struct fpga_process *fpga_sim_process(const struct fpga *card);

#endif
