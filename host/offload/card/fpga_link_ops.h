/* fpga_link_ops.h : batch, address, time and alive of a card at the end of a link, for backends that have
 * one: as struct fpga_ops says. */
#ifndef FPGA_LINK_OPS_H
#define FPGA_LINK_OPS_H
#include "offload/card/fpga.h"
#include "offload/card/fpga_link.h"

int fpga_link_batch(struct fpga *card, struct fpga_link *l, struct fpga_op *ops, size_t n,
                    size_t *done, double timeout_s);
int fpga_link_address(struct fpga *card, struct fpga_link *l, uint32_t *ip, uint16_t *port,
                      double timeout_s);
int fpga_link_time(struct fpga *card, struct fpga_link *l, struct fpga_time *out, double timeout_s);
bool fpga_link_whole(struct fpga *card, const struct fpga_link *l);

#endif
