/* wire_local.h : finds a socket's local address, and the longest datagram that a route carries. */
#ifndef WIRE_LOCAL_H
#define WIRE_LOCAL_H
#include "offload/wire/wire.h"
#include <netinet/in.h>

struct sockaddr_in wire_name(uint32_t ip, uint16_t port);

/* name: where the card's answers come. */
struct wire wire_at(const struct wire_ops *ops, void *own, const struct sockaddr_in *name);

/* Finds `local`, an IPv4 address or interface of this host, or for NULL the address from which
 * packets to ip:port leave. *out: 127.0.0.1 is 0x7f000001. Returns 0 or a negative errno; prints
 * nothing. */
int wire_local(const char *local, uint32_t ip, uint16_t port, uint32_t *out);

/* Writes why a socket cannot be bound to o->local, or without it connected to the card: rc. Returns
 * -EINVAL, or rc without o->local. */
int wire_unbound(const struct wire_options *o, int rc, char why[WIRE_WHY_BYTES]);

/* Return the payload bytes of the longest datagram that, as far as this host knows, reaches the
 * peer of the connected UDP socket fd, or ip:port, unfragmented. */
size_t wire_most(int fd);
size_t wire_most_to(uint32_t ip, uint16_t port);

#endif
