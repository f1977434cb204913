/* control_port.h : serves a UDP control port of a simulated card (hls/card/lease.def). */
#ifndef CONTROL_PORT_H
#define CONTROL_PORT_H
#include "sim/netfault.h"
#include "sim/rtl/responder.h"

struct control_port;

/* Opens the port at ip:*port; 0 chooses a port and returns it. card: open, remains the caller's.
 * frame_port: the card's port for frames. Returns 0, or a negative errno after reporting. */
int control_port_open(const struct control_ops *ops, void *card, uint32_t ip, uint16_t *port,
                      uint16_t frame_port, struct netfault_rates rates, uint64_t seed,
                      struct control_port **control);
void control_port_close(struct control_port *c); /* NULL is legal */

int control_port_fd(const struct control_port *c); /* to poll; -1: c is NULL or a request waits */
/* Returns when work is due, ns; UINT64_MAX if c is NULL. */
uint64_t control_port_due(const struct control_port *c);

/* Does all due work. NULL is legal. Returns 0, or -EIO after reporting a card that does not
 * answer. */
int control_port_serve(struct control_port *c, uint64_t now_ns);

#endif
