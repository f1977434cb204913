/* ether.h : ARP, ping and UDP of a card on an Ethernet, from bytes to bytes.
 *
 *     ARP request for our IP --> reply           ICMP echo to us --> reply
 *     UDP to our IP and port, whole, checksums right --> payload and sender    all else: the reason
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
    ETHER_MAX = 2304,      /* longest frame read or made */
    ETHER_NEIGHBOURS = 256 /* as many as ranks of all jobs */
};

enum ether_fate {
    ETHER_PAYLOAD,  /* described in *udp */
    ETHER_REPLY,    /* to be sent */
    ETHER_LEARNT,   /* a MAC from an ARP answer */
    ETHER_OTHER,    /* another protocol, address or port */
    ETHER_SHORT,    /* truncated, or inconsistent lengths */
    ETHER_FRAGMENT, /* not reassembled */
    ETHER_CHECKSUM,
    ETHER_FATES
};

struct ether_neighbour {
    uint32_t ip; /* 0: none */
    uint8_t mac[6];
    bool known;    /* mac is valid; else ARP requests replace frames */
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
    const uint8_t *payload; /* points into the frame */
    size_t n;
};

/* Processes a frame[n]. Returns its fate, and with it *udp or reply[ETHER_MAX] and *reply_n. Only
 * the first answer after e asked for, or forgot, a neighbour's MAC teaches it. If a known
 * neighbour's IP sends an ARP request with another MAC than the learnt one, this MAC is forgotten
 * and e asks again. */
enum ether_fate ether_take(struct ether *e, const uint8_t *frame, size_t n, struct ether_udp *udp,
                           uint8_t *reply, size_t *reply_n);

/* Makes the frame[ETHER_MAX] with payload[n], n <= ETHER_MAX - ETHER_HEADERS, to ip:port (possibly
 * a multicast group's). If the MAC is not known, makes an ARP request instead and sets *asked to 1.
 * Returns the frame's length. */
size_t ether_put(struct ether *e, uint32_t ip, uint16_t port, const uint8_t *payload, size_t n,
                 uint8_t *frame, int *asked);

/* Writes the IPv4 and UDP headers (28 bytes) of a datagram with n bytes of payload. The IP checksum
 * is valid; the UDP checksum is 0, which means none. */
void ether_put_udp(uint8_t *to, uint32_t from_ip, uint16_t from_port, uint32_t to_ip,
                   uint16_t to_port, size_t n);

/* Returns the ones'-complement sum of `sum` and bytes[n]; 0xffff if they include a checksum. */
uint32_t ether_sum(uint32_t sum, const uint8_t *bytes, size_t n);

#endif
