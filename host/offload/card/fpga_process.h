/* fpga_process.h : a simulated card of one's own: starts narrowcast-sim, and hears how it ended.
 *
 * One that listens on the network is reached as any other (fpga_process.c); one that does not is given
 * its frames by this program (wire_process.h). */
#ifndef FPGA_PROCESS_H
#define FPGA_PROCESS_H
#include "offload/card/fpga.h"
#include "offload/card/fpga_link.h"
#include <stddef.h>
#include <sys/types.h>

struct fpga_process {
    struct fpga_link link;
    pid_t pid, owner; /* its own; the process that started it */
};

/* Starts narrowcast-sim --fd N and words [a list, NULL behind the last], beside this program's own
 * file, else the one in PATH; silent: what it prints on stdout is lost. Returns 0, or a negative
 * errno and *card zeroed, why it did not come up in why; -ENOENT says how to build it. */
int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES]);

/* The same for the program at path. */
int fpga_process_run(struct fpga_process *card, const char *path, const char *const *words,
                     bool silent, double timeout_s, char why[FPGA_WHY_BYTES]);

/* Legal when zeroed. In a forked child of the owner it ends nothing: the card goes on. */
void fpga_process_close(struct fpga_process *card);

/* In one line, why the card at the other end is gone: how its process ended. Returns -ENOENT, -EIO,
 * or -ECHILD: it has said on stderr what was wrong. */
int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES]);

/* ---- a simulated card that does not listen: the program that started it gives it its
 * frames (wire_process.h) ---- */

/* Starts one, disabled as after reset; model: "rtl" or "c"; wave: FST file, or NULL. Its address()
 * is -ENOTSUP. Returns 0, or a negative errno with card->why: -ENOENT says how to build it; -ECHILD:
 * it has said on stderr what was wrong. */
int fpga_sim_start(struct fpga *card, const char *model, const char *wave);

/* Its process; the card's own. */
struct fpga_process *fpga_sim_process(const struct fpga *card);

#endif
