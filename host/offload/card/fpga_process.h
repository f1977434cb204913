/* fpga_process.h : starts narrowcast-sim as a card of this process, and reports how it ended. A
 * card that does not listen on a network gets its frames from this process (wire_process.h). */
#ifndef FPGA_PROCESS_H
#define FPGA_PROCESS_H
#include "offload/card/fpga.h"
#include "offload/card/fpga_link.h"
#include <stddef.h>
#include <sys/types.h>

struct fpga_process {
    struct fpga_link link;
    pid_t pid, owner; /* the card's; its starter's */
};

/* Starts "narrowcast-sim --fd N words..." from this program's folder, or else from PATH. words ends
 * with NULL. silent: discard its stdout. Returns 0, or a negative errno with *card zeroed and the
 * reason in why; for -ENOENT why also tells how to build the program. */
int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES]);

/* Like fpga_process_start(), with the program at path. */
int fpga_process_run(struct fpga_process *card, const char *path, const char *const *words,
                     bool silent, double timeout_s, char why[FPGA_WHY_BYTES]);

/* Ends a live card, and waits without limit until it has completed its files. Then only
 * fpga_process_close() is legal. Returns 0, or an error like fpga_process_died(). */
int fpga_process_end(struct fpga_process *card, char why[FPGA_WHY_BYTES]);

/* Ends the card, and kills it after 2 s. Legal when zeroed. In a forked child it only zeroes the
 * struct. */
void fpga_process_close(struct fpga_process *card);

/* Writes how the process ended into why, in one line. Returns -ENOENT (no such program), -ECHILD
 * (it has printed the cause to stderr) or -EIO. */
int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES]);

/* ---- a simulated card that does not listen ---- */

/* Starts a simulated card, disabled as after reset. engine: "rtl" or "c". wave: FST file, or NULL.
 * Its address() returns -ENOTSUP. Returns 0, or a negative errno with card->why: -ENXIO
 * (narrowcast-sim is missing; why says how to build it), -ECHILD (the card has printed the cause to
 * stderr) or another. */
int fpga_sim_start(struct fpga *card, const char *engine, const char *wave);

struct fpga_process *fpga_sim_process(const struct fpga *card);

#endif
