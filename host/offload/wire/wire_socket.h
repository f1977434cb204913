/* wire_socket.h : implements a wire over a UDP socket of the system. */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H
#include "offload/wire/wire.h"
#include <stdbool.h>

int wire_socket_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* Opens a receiver for the card's datagrams to the multicast group:port, joined at the interface of
 * o->local, whatever o->provider. It cannot send. */
int wire_socket_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
                     char why[WIRE_WHY_BYTES]);

struct wire_socket_room {
    /* receive buffer granted and wanted */
    int receive_bytes, wanted_bytes;
    bool many; /* UDP_GRO: many datagrams per receive */
};

/* Returns 0, or a negative errno if the system has no sockets. Prints nothing. */
int wire_socket_room(struct wire_socket_room *out);

#endif
