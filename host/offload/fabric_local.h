/* fabric_local.h : the address of this host that a socket is to be bound to. */
#ifndef FABRIC_LOCAL_H
#define FABRIC_LOCAL_H
#include <stdint.h>

/* local: an IPv4 address or interface of this host; NULL: the address that packets to ip:port leave from. *out: 127.0.0.1 is
 * 0x7f000001. Returns 0 or a negative errno; silent. */
int fabric_local(const char *local, uint32_t ip, uint16_t port, uint32_t *out);

#endif
