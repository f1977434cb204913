/* pcap.h : frames written as a capture that Wireshark and tcpdump open: classic pcap, times in
 * nanoseconds. */
#ifndef PCAP_H
#define PCAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pcap {
    FILE *file; /* NULL: nothing is written */
    const char *path;
    int failed;
    double flushed_s; /* clock_s() */
};

struct pcap_ends {
    uint32_t from_ip, to_ip;
    uint16_t from_port, to_port;
};

/* Packets are raw IPv4 or, with ether, Ethernet frames. path stays the caller's. Returns 0 or a
 * negative errno with a line. */
int pcap_open(struct pcap *p, const char *path, bool ether);

/* An Ethernet frame [n], now. */
void pcap_frame(struct pcap *p, const uint8_t *frame, size_t n);

/* A UDP datagram of payload [n], n < 2^16 - 28, now; the headers around it are made up, their
 * lengths and checksums right. */
void pcap_udp(struct pcap *p, struct pcap_ends ends, const uint8_t *payload, size_t n);

/* To the disk, if a second has passed since it was done last. Says once in a line when the disk is
 * full. */
void pcap_flush(struct pcap *p);
void pcap_close(struct pcap *p); /* legal when zeroed */

#endif
