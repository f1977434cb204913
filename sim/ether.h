/* ether.h : Implements ARP, ping and UDP of a card on an Ethernet. Converts
 * bytes to bytes, without sockets.
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
    ETHER_MAX = 2304,      /* bytes of the longest frame read or made */
    ETHER_NEIGHBOURS = 256 /* as many as ranks of all jobs */
};

enum ether_fate {
    ETHER_PAYLOAD,  /* described in *udp */
    ETHER_REPLY,    /* reply must be sent */
    ETHER_LEARNT,   /* a MAC from an ARP answer */
    ETHER_OTHER,    /* another protocol, address or port */
    ETHER_SHORT,    /* truncated, or inconsistent lengths */
    ETHER_FRAGMENT, /* fragment of an IP packet: not reassembled */
    ETHER_CHECKSUM, /* wrong checksum */
    ETHER_FATES
};

struct ether_neighbour {
    uint32_t ip; /* 0: none */
    uint8_t mac[6];
    bool known;    /* has answered; else ARP requests replace frames */
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

/* Processes an incoming frame[n]. Returns its fate, and with it *udp or reply[ETHER_MAX] and
 * *reply_n. Learns a neighbour's MAC only from the first answer to an ARP request of e. If an
 * ARP request comes from another MAC, e asks the neighbour again. */
enum ether_fate ether_take(struct ether *e, const uint8_t *frame, size_t n, struct ether_udp *udp,
                           uint8_t *reply, size_t *reply_n);

/* Makes the frame[ETHER_MAX] with a payload of n bytes, n <= ETHER_MAX - ETHER_HEADERS, to
 * ip:port (possibly a multicast group's). If the MAC is not known, makes an ARP request instead
 * and sets *asked to 1. Returns the length of the frame. */
size_t ether_put(struct ether *e, uint32_t ip, uint16_t port, const uint8_t *payload, size_t n,
                 uint8_t *frame, int *asked);

/* Writes the IPv4 and UDP headers (28 bytes) of a datagram with n bytes of payload. The IP
 * checksum is valid. The UDP checksum is 0, which means that there is none. */
void ether_put_udp(uint8_t *to, uint32_t from_ip, uint16_t from_port, uint32_t to_ip,
                   uint16_t to_port, size_t n);

/* Returns the internet checksum of `sum` and bytes[n]. If the bytes include a
 * valid checksum, the result is 0xffff. */
uint32_t ether_sum(uint32_t sum, const uint8_t *bytes, size_t n);

#endif
