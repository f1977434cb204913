/* wire_socket.h : Implements a wire over a UDP socket of the system, many datagrams per call. */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H
#include "offload/wire/wire.h"
#include <stdbool.h>

int wire_socket_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

int wire_socket_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
                     char why[WIRE_WHY_BYTES]);

struct wire_socket_room {
    /* Size of the receive buffer that the system grants, and size that wires ask for. */
    int receive_bytes, wanted_bytes;
    bool many; /* has UDP_GRO: receives many datagrams per call */
};

/* Tells what a socket of this system can do. Returns 0, or a negative errno if the
 * system has no sockets. Prints nothing. */
int wire_socket_room(struct wire_socket_room *out);

#endif
