/* wire_local.h : the address of this host that a socket is to be bound to, and how long its
 * datagrams may be. */
#ifndef WIRE_LOCAL_H
#define WIRE_LOCAL_H
#include <stddef.h>
#include <stdint.h>

/* local: an IPv4 address or interface of this host; NULL: the address that packets to ip:port leave
 * from. *out: 127.0.0.1 is 0x7f000001. Returns 0 or a negative errno; silent. */
int wire_local(const char *local, uint32_t ip, uint16_t port, uint32_t *out);

/* Bytes of the longest datagram that goes in one piece to where the UDP socket fd is connected to,
 * as far as this host knows; and to ip:port. */
size_t wire_most(int fd);
size_t wire_most_to(uint32_t ip, uint16_t port);

#endif
