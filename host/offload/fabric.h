/* fabric.h : a wire through libfabric: datagrams between this rank and one card, by any provider that carries plain UDP. */
#ifndef WIRE_FABRIC_H
#define WIRE_FABRIC_H
#include "offload/wire.h"

enum { FABRIC_WHY_BYTES = 160 };

struct fabric_options {
    const char *provider; /* NULL: udp */
    const char *local;    /* IPv4 address or interface to bind to; NULL: that by which the card is reached */
    uint32_t card_ip;     /* of the card's frames: 127.0.0.1 is 0x7f000001 */
    uint16_t card_port;
    size_t frame_bytes; /* of the longest frame */
};

/* Binds to an address of this host, never to all of them. Returns 0, or a negative errno with why: -ENOSYS: this build has no
 * libfabric; -EINVAL: local is no address or interface of this host; -ENODATA: no such provider, or not for such datagrams. */
int fabric_open(const struct fabric_options *o, struct wire *out, char why[FABRIC_WHY_BYTES]);

/* "1.17", or "not in this build". text [n]. */
void fabric_library(char *text, size_t n);

#endif
