/* control_port.h : a UDP port of a simulated card where it is controlled by datagrams
 * (hls/card/lease.def), as a card on an Ethernet of its own is: socket, bad network, responder, time. */
#ifndef CONTROL_PORT_H
#define CONTROL_PORT_H
#include "sim/netfault.h"
#include "sim/rtl/responder.h"

struct control_port;

/* On ip and *port (0: any, and it says which), for a card that is open and stays the caller's, whose frames go
 * to frame_port. Returns 0 or a negative errno with a line. */
int control_port_open(const struct control_ops *ops, void *card, uint32_t ip, uint16_t *port,
                      uint16_t frame_port, struct netfault_rates rates, uint64_t seed,
                      struct control_port **control);
void control_port_close(struct control_port *c); /* NULL is legal */

int control_port_fd(const struct control_port *c);       /* to poll; NULL: -1 */
uint64_t control_port_due(const struct control_port *c); /* in ns; NULL: UINT64_MAX, never */

/* Does what there is to do by now; NULL is legal. Returns 0, or -EIO with a line: the card does not
 * answer. */
int control_port_serve(struct control_port *c, uint64_t now_ns);

#endif
