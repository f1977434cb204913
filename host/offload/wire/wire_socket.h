/* wire_socket.h : a wire by a UDP socket of the system, many datagrams a call. */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H
#include "offload/wire/wire.h"
#include <stdbool.h>

/* wire_open() for the provider "socket". */
int wire_socket_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

/* wire_join(). */
int wire_socket_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
                     char why[WIRE_WHY_BYTES]);

/* What such a socket gets of the system. */
struct wire_socket_room {
    int receive_bytes, wanted_bytes; /* for what comes */
    bool many;                       /* datagrams come many a call */
};

/* Returns 0, or a negative errno in silence: there are no sockets. */
int wire_socket_room(struct wire_socket_room *out);

#endif
