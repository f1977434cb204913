/* ether.h : a card's end of an Ethernet, as far as it needs one: bytes in, bytes out, no sockets.
 *
 *     ARP who has our IP ----> reply              ICMP echo to us ----> reply
 *     IPv4 UDP to our IP and port, whole, checksums right ----> payload, who sent it          all else: why not
 *
 * Source: RFC 826 (ARP), 791 (IPv4), 792 (ICMP), 768 (UDP), 1071 (checksum),
 * 1112 (groups). */
#ifndef ETHER_H
#define ETHER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ETHER_BYTES = 14,
    ETHER_IP_BYTES = 20,
    ETHER_UDP_BYTES = 8,
    ETHER_HEADERS = ETHER_BYTES + ETHER_IP_BYTES + ETHER_UDP_BYTES,
    ETHER_MOST = 2304,     /* bytes of a frame that is looked at or made */
    ETHER_NEIGHBOURS = 256 /* that are remembered: as many as ranks of all jobs */
};

enum ether_fate {
    ETHER_PAYLOAD,  /* udp says whose and what */
    ETHER_REPLY,    /* reply is to be sent */
    ETHER_LEARNT,   /* an ARP answer: taken note of */
    ETHER_OTHER,    /* not for us: other protocols, addresses, ports */
    ETHER_SHORT,    /* cut off, or lengths that do not fit each other */
    ETHER_FRAGMENT, /* of an IP packet: they are not put together */
    ETHER_CHECKSUM, /* wrong */
    ETHER_FATES
};

struct ether_neighbour {
    uint32_t ip; /* 0: none */
    uint8_t mac[6];
    bool known;    /* it has answered; else it is asked whenever there is something for it */
    uint64_t used; /* which of all frames to neighbours was the last to this one */
};

struct ether {
    uint8_t mac[6];
    uint32_t ip;
    uint16_t port;
    uint64_t sent; /* frames to neighbours */
    struct ether_neighbour neighbour[ETHER_NEIGHBOURS];
};

struct ether_udp {
    uint32_t ip;
    uint16_t port;
    const uint8_t *payload; /* in the frame */
    size_t n;
};

/* A frame [n] has come. reply [ETHER_MOST], *reply_n out. Where a neighbour is, is learnt from its
 * answer to our question alone, the first one; who asks for us from another place is asked
 * again. */
enum ether_fate ether_take(struct ether *e, const uint8_t *frame, size_t n, struct ether_udp *udp,
                           uint8_t *reply, size_t *reply_n);

/* The frame that carries a payload of n bytes, n <= ETHER_MOST - ETHER_HEADERS, to that address, which may be a group's,
 * into frame [ETHER_MOST]; or, where nobody of this address is known, the ARP request for it, and
 * *asked is 1. Returns its length. */
size_t ether_put(struct ether *e, uint32_t ip, uint16_t port, const uint8_t *payload, size_t n,
                 uint8_t *frame, int *asked);

/* The IPv4 and UDP headers (28 bytes) of a datagram of n bytes of payload; the IP checksum is
 * right, UDP's is 0: none. */
void ether_put_udp(uint8_t *to, uint32_t from_ip, uint16_t from_port, uint32_t to_ip,
                   uint16_t to_port, size_t n);

/* The internet checksum of bytes [n], sum of others before it; 0xffff: all is right where a
 * checksum is among them. */
uint32_t ether_sum(uint32_t sum, const uint8_t *bytes, size_t n);

#endif
