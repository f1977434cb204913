/* fpga_host.h : parses and resolves "host:port" of a card on the network. */
#ifndef FPGA_HOST_H
#define FPGA_HOST_H
#include "offload/card/fpga.h"
#include <netinet/in.h>

/* Return true if name is HOST:PORT with a port above 0. */
bool fpga_host_fits(const char *name);

/* Blocks until the name service has answered or failed. Returns 0, or a negative errno with the
 * reason in card->why: -EINVAL (no HOST:PORT), -ENXIO (no such host), -EHOSTUNREACH (no answer of
 * the name service). */
int fpga_host_find(struct fpga *card, const char *name, struct sockaddr_in *to);

#endif
