/* wire_local.h : Finds the local address to bind a socket to, and the longest
 * datagram that a route carries. */
#ifndef WIRE_LOCAL_H
#define WIRE_LOCAL_H
#include <stddef.h>
#include <stdint.h>

/* Checks that `local` is an IPv4 address or interface of this host, and returns its address in
 * *out (127.0.0.1 is 0x7f000001). If NULL, returns the address from which packets to ip:port
 * leave. Returns 0 or a negative errno; prints nothing. */
int wire_local(const char *local, uint32_t ip, uint16_t port, uint32_t *out);

/* Return the payload bytes of the longest datagram that is not fragmented on the
 * way, as far as this host knows. wire_most() is for the peer of the connected UDP
 * socket fd, wire_most_to() for ip:port. */
size_t wire_most(int fd);
size_t wire_most_to(uint32_t ip, uint16_t port);

#endif
