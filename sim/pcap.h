/* pcap.h : writes frames as a classic pcap capture, with times in nanoseconds. */
#ifndef PCAP_H
#define PCAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pcap {
    FILE *file; /* NULL: no capture */
    const char *path;
    int why;          /* errno of the first failed write, not yet reported */
    int failed;       /* negative errno, after reporting */
    double flushed_s; /* time of the last flush, by clock_s() */
};

struct pcap_ends {
    uint32_t from_ip, to_ip;
    uint16_t from_port, to_port;
};

/* Opens a capture of raw IPv4 packets or, with `ether`, of Ethernet frames. path must stay valid.
 * Returns 0, or a negative errno after reporting. */
int pcap_open(struct pcap *p, const char *path, bool ether);

/* Writes an Ethernet frame[n], with the current time, like pcap_udp(). */
void pcap_frame(struct pcap *p, const uint8_t *frame, size_t n);

/* Writes a UDP datagram payload[n], n < 2^16 - 28, with invented but valid headers. */
void pcap_udp(struct pcap *p, struct pcap_ends ends, const uint8_t *payload, size_t n);

/* Flushes the file, at most once a second. Reports a full disk once. */
void pcap_flush(struct pcap *p);
/* Legal when zeroed. Keeps `failed`, for a full disk too. */
void pcap_close(struct pcap *p);

#endif
