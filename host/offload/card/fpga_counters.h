/* fpga_counters.h : reads all counters of a card, latched at one clock. */
#ifndef FPGA_COUNTERS_H
#define FPGA_COUNTERS_H
#include "hls/card/regs.h"
#include "offload/card/fpga.h"

enum { FPGA_COUNTER_OPS = 1 + 3 * REG_COUNTERS };

/* Fills the operations of one batch. */
void fpga_counter_ops(struct fpga_op ops[FPGA_COUNTER_OPS]);

/* Takes the counters from the batch, of which `done` operations were executed. Returns 0 or
 * -EPROTO. */
int fpga_counter_take(const struct fpga_op ops[FPGA_COUNTER_OPS], size_t done,
                      uint64_t of[REG_COUNTERS]);

#endif
