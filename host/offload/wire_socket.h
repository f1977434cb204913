/* wire_socket.h : a wire by a UDP socket of the system, many datagrams a call. */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H
#include "offload/wire.h"

/* wire_open() for the provider "socket". */
int wire_socket_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES]);

#endif
