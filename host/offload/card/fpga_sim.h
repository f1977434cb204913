/* fpga_sim.h : a simulated card that does not listen: the program that started it gives it its
 * frames (wire_process.h). */
#ifndef FPGA_SIM_H
#define FPGA_SIM_H
#include "offload/card/fpga_process.h"

/* Starts one, disabled as after reset; model: "rtl" or "c"; wave: FST file, or NULL. Its address()
 * is -ENOTSUP. Returns 0, or a negative errno with card->why: -ENOENT says how to build it; -ECHILD:
 * it has said on stderr what was wrong. */
int fpga_sim_start(struct fpga *card, const char *model, const char *wave);

/* Its process; the card's own. */
struct fpga_process *fpga_sim_process(const struct fpga *card);

#endif
