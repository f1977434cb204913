/* pcap.c : writes captures for Wireshark and tcpdump.
 *
 *     file     magic u32, 2 u16, 4 u16, 0 u32, 0 u32, longest u32, link type u32
 *     packet   seconds u32, nanoseconds u32, bytes here u32, bytes on the wire u32, then the bytes:
 *              IPv4 20, UDP 8, payload; or an Ethernet frame
 *
 * Numbers are in this machine's byte order. Source: draft-ietf-opsawg-pcap; RFC 791, 768, 1071. */
#include "sim/pcap.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "sim/ether.h"
#include <string.h>

enum { LINK_ETHERNET = 1, LINK_RAW_IP = 101, LONGEST = 1 << 16 };

static void write_to(struct pcap *p, const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, p->file) < n && !p->why)
        p->why = errno;
}

static void report(struct pcap *p, int why)
{
    if (why && !p->failed)
        p->failed = ERR(-EIO, "cannot write '%s': %s", p->path, strerror(why));
}

int pcap_open(struct pcap *p, const char *path, bool ether)
{
    const struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, longest, link;
    } head = {0xa1b23c4d, 2, 4, 0, 0, LONGEST, ether ? LINK_ETHERNET : LINK_RAW_IP};
    *p = (struct pcap){.file = file_writer(path, false), .path = path};
    if (!p->file)
        return ERR(-errno, "cannot write '%s': %s", path, file_why(errno));
    write_to(p, &head, sizeof head);
    p->flushed_s = clock_s() - 2;
    pcap_flush(p);
    return p->failed;
}

static void put(struct pcap *p, const uint8_t *head, size_t head_n, const uint8_t *rest, size_t n)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    const uint32_t bytes = (uint32_t)(head_n + n);
    const uint32_t record[] = {(uint32_t)t.tv_sec, (uint32_t)t.tv_nsec, bytes, bytes};
    write_to(p, record, sizeof record);
    if (head_n)
        write_to(p, head, head_n);
    write_to(p, rest, n);
}

void pcap_frame(struct pcap *p, const uint8_t *frame, size_t n)
{
    if (p->file)
        put(p, NULL, 0, frame, n);
}

void pcap_udp(struct pcap *p, struct pcap_ends ends, const uint8_t *payload, size_t n)
{
    uint8_t headers[ETHER_IP_BYTES + ETHER_UDP_BYTES];
    if (!p->file)
        return;
    ether_put_udp(headers, ends.from_ip, ends.from_port, ends.to_ip, ends.to_port, n);
    put(p, headers, sizeof headers, payload, n);
}

void pcap_flush(struct pcap *p)
{
    if (!p->file || clock_s() < p->flushed_s + 1)
        return;
    p->flushed_s = clock_s();
    if (fflush(p->file) && !p->why)
        p->why = errno;
    report(p, p->why);
}

void pcap_close(struct pcap *p)
{
    p->flushed_s = 0;
    pcap_flush(p);
    if (p->file && fclose(p->file))
        report(p, errno);
    p->file = NULL;
}
