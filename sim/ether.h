/* ether.h : Implements ARP, ping and UDP of a card on an Ethernet: bytes in, bytes out, no sockets.
 *
 *     ARP request for our IP --> reply           ICMP echo to us --> reply
 *     UDP to our IP and port, whole, checksums right --> payload and sender       all else: why not
 *
 * Source: RFC 826 (ARP), 791 (IPv4), 792 (ICMP), 768 (UDP), 1071 (checksum), 1112 (groups). */
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
    ETHER_MOST = 2304,     /* longest frame read or made, bytes */
    ETHER_NEIGHBOURS = 256 /* remembered: as many as ranks of all jobs */
};

enum ether_fate {
    ETHER_PAYLOAD,  /* described in *udp */
    ETHER_REPLY,    /* reply is to be sent */
    ETHER_LEARNT,   /* from an ARP answer */
    ETHER_OTHER,    /* other protocols, addresses, ports */
    ETHER_SHORT,    /* truncated, or inconsistent lengths */
    ETHER_FRAGMENT, /* of an IP packet: not reassembled */
    ETHER_CHECKSUM, /* wrong */
    ETHER_FATES
};

struct ether_neighbour {
    uint32_t ip; /* 0: none */
    uint8_t mac[6];
    bool known;    /* has answered; else an ARP request replaces each frame */
    uint64_t used; /* value of `sent` at the last frame to it */
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

/* Takes a frame[n]. Writes *udp or reply[ETHER_MOST], *reply_n, depending on the fate. Learns a
 * neighbour's MAC only from the first answer to an ARP request of its own. An ARP request from
 * another MAC makes it ask again. */
enum ether_fate ether_take(struct ether *e, const uint8_t *frame, size_t n, struct ether_udp *udp,
                           uint8_t *reply, size_t *reply_n);

/* Makes the frame[ETHER_MOST] with a payload of n bytes, n <= ETHER_MOST - ETHER_HEADERS, to
 * ip:port (possibly a group's). If the MAC is unknown, makes the ARP request for it instead and
 * sets *asked to 1. Returns its length. */
size_t ether_put(struct ether *e, uint32_t ip, uint16_t port, const uint8_t *payload, size_t n,
                 uint8_t *frame, int *asked);

/* Writes the IPv4 and UDP headers (28 bytes) of a datagram with n bytes of payload. The IP checksum
 * is valid, UDP's is 0: none. */
void ether_put_udp(uint8_t *to, uint32_t from_ip, uint16_t from_port, uint32_t to_ip,
                   uint16_t to_port, size_t n);

/* Returns the internet checksum of bytes[n], added to `sum`. 0xffff: valid, if bytes
 * include a checksum. */
uint32_t ether_sum(uint32_t sum, const uint8_t *bytes, size_t n);

#endif
