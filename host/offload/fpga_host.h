/* fpga_host.h : "host:port" of a card on the network. */
#ifndef FPGA_HOST_H
#define FPGA_HOST_H
#include "offload/fpga.h"
#include <netinet/in.h>

/* Is it one? As struct fpga_ops' name_fits. */
bool fpga_host_fits(const char *name);

/* Its address, for a socket of type SOCK_STREAM or SOCK_DGRAM. Blocks as long as the system's name
 * service does. Returns 0, or -ENXIO with card->why. */
int fpga_host_find(struct fpga *card, const char *name, int type, struct sockaddr_in *to);

#endif
