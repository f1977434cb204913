/* wire_hop.h : finds the interface, and the Ethernet header, of a socket's packets to a card. */
#ifndef WIRE_HOP_H
#define WIRE_HOP_H
#include "offload/wire/wire.h"
#include <net/ethernet.h>
#include <net/if.h>

struct wire_hop {
    char name[IF_NAMESIZE];
    int index;
    struct ether_header header; /* from this interface to the next hop */
};

/* fd: a UDP socket that is bound to a port. Sends datagrams to the card's port 9 (discard), so that
 * the system asks for the next hop's address, and observes how they leave. Blocks until one does,
 * up to 0.5 s. Returns 0, or a negative errno with the reason in why: -EPERM (needs CAP_NET_RAW),
 * -ENODATA (the next hop does not answer, or is not on an Ethernet). */
int wire_hop_find(int fd, uint32_t card_ip, struct wire_hop *out, char why[WIRE_WHY_BYTES]);

#endif
