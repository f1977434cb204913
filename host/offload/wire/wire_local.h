/* wire_local.h : Finds the local address to bind a socket to, and the longest datagram of a
 * route. */
#ifndef WIRE_LOCAL_H
#define WIRE_LOCAL_H
#include <stddef.h>
#include <stdint.h>

/* Checks `local`, an IPv4 address or interface of this host, and returns its address in *out
 * (127.0.0.1 is 0x7f000001). NULL: the address from which packets to ip:port leave. Returns 0 or a
 * negative errno; prints nothing. */
int wire_local(const char *local, uint32_t ip, uint16_t port, uint32_t *out);

/* Returns the payload bytes of the longest datagram that is not fragmented, as far as this host
 * knows: to the peer of the connected UDP socket fd; to ip:port. */
size_t wire_most(int fd);
size_t wire_most_to(uint32_t ip, uint16_t port);

#endif
