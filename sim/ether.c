/* ether.c : ARP, ping and UDP of a card on an Ethernet. */
#include "sim/ether.h"
#include "hls/card/packet.h"
#include <string.h>

enum {
    TYPE_IP = 0x0800,
    TYPE_ARP = 0x0806,
    ARP_BYTES = 28,
    ARP_ASKS = 1,
    ARP_ANSWERS = 2,
    ICMP = 1,
    UDP = 17,
    ICMP_BYTES = 8,
    ECHO = 8
};

static void put16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static void put32(uint8_t *to, uint32_t value)
{
    put16(to, value >> 16);
    put16(to + 2, value);
}

static uint32_t get16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
    return get16(at) << 16 | get16(at + 2);
}

uint32_t ether_sum(uint32_t sum, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += (uint32_t)bytes[i] << (i % 2 ? 0 : 8);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static struct ether_neighbour *find(struct ether *e, uint32_t ip)
{
    for (int i = 0; i < ETHER_NEIGHBOURS && ip; i++)
        if (e->neighbour[i].ip == ip)
            return &e->neighbour[i];
    return NULL;
}

/* Chooses the least recently used neighbour, first of those without valid MAC. */
static struct ether_neighbour *replace(struct ether *e)
{
    struct ether_neighbour *oldest = e->neighbour;
    for (struct ether_neighbour *n = e->neighbour; n < e->neighbour + ETHER_NEIGHBOURS; n++)
        if (n->known < oldest->known || (n->known == oldest->known && n->used < oldest->used))
            oldest = n;
    return oldest;
}

/* Learns mac only if ip was asked for, and none is known. */
static bool answers(struct ether *e, uint32_t ip, const uint8_t *mac)
{
    struct ether_neighbour *n = find(e, ip);
    if (!n || n->known || mac[0] & 1) /* multicast is refused */
        return false;
    memcpy(n->mac, mac, 6);
    n->known = true;
    return true;
}

/* Forgets a learnt MAC other than mac: the next frame to ip becomes an ARP request. */
static void doubt(struct ether *e, uint32_t ip, const uint8_t *mac)
{
    struct ether_neighbour *n = find(e, ip);
    if (n && memcmp(n->mac, mac, 6))
        n->known = false;
}

static void put_ether(const struct ether *e, const uint8_t *to_mac, uint32_t type, uint8_t *frame)
{
    memcpy(frame, to_mac, 6);
    memcpy(frame + 6, e->mac, 6);
    put16(frame + 12, type);
}

static size_t put_arp(const struct ether *e, uint32_t what, const uint8_t *to_mac, uint32_t to_ip,
                      uint8_t *frame)
{
    static const uint8_t many[6] = {255, 255, 255, 255, 255, 255};
    /* Ethernet, IPv4, lengths of both addresses */
    static const uint8_t head[6] = {0, 1, 8, 0, 6, 4};
    uint8_t *arp = frame + ETHER_BYTES;
    put_ether(e, to_mac ? to_mac : many, TYPE_ARP, frame);
    memcpy(arp, head, sizeof head);
    put16(arp + 6, what);
    memcpy(arp + 8, e->mac, 6);
    put32(arp + 14, e->ip);
    memset(arp + 18, 0, 6);
    if (to_mac)
        memcpy(arp + 18, to_mac, 6);
    put32(arp + 24, to_ip);
    return ETHER_BYTES + ARP_BYTES;
}

static enum ether_fate take_arp(struct ether *e, const uint8_t *arp, size_t n, uint8_t *reply,
                                size_t *reply_n)
{
    if (n < ARP_BYTES)
        return ETHER_SHORT;
    const uint32_t what = get16(arp + 6), from = get32(arp + 14);
    if (get16(arp) != 1 || get16(arp + 2) != TYPE_IP || arp[4] != 6 || arp[5] != 4 ||
        get32(arp + 24) != e->ip)
        return ETHER_OTHER;
    if (what != ARP_ASKS)
        return what == ARP_ANSWERS && answers(e, from, arp + 8) ? ETHER_LEARNT : ETHER_OTHER;
    doubt(e, from, arp + 8);
    *reply_n = put_arp(e, ARP_ANSWERS, arp + 8, from, reply);
    return ETHER_REPLY;
}

/* ip: a whole packet to this card. */
static enum ether_fate take_echo(struct ether *e, const uint8_t *mac, const uint8_t *ip,
                                 size_t head, size_t total, uint8_t *reply, size_t *reply_n)
{
    const uint8_t *icmp = ip + head;
    const size_t n = total - head;
    if (n < ICMP_BYTES)
        return ETHER_SHORT;
    if (ether_sum(0, icmp, n) != 0xffff)
        return ETHER_CHECKSUM;
    if (icmp[0] != ECHO || icmp[1] || ETHER_BYTES + ETHER_IP_BYTES + n > ETHER_MAX)
        return ETHER_OTHER;
    uint8_t *to = reply + ETHER_BYTES + ETHER_IP_BYTES;
    put_ether(e, mac, TYPE_IP, reply);
    ether_put_udp(reply + ETHER_BYTES, e->ip, 0, get32(ip + 12), 0, n - ETHER_UDP_BYTES);
    reply[ETHER_BYTES + 9] = ICMP;
    put16(reply + ETHER_BYTES + 10, 0);
    put16(reply + ETHER_BYTES + 10, ~ether_sum(0, reply + ETHER_BYTES, ETHER_IP_BYTES));
    memcpy(to, icmp, n);
    put32(to, 0); /* type reply and checksum 0 */
    put16(to + 2, ~ether_sum(0, to, n));
    *reply_n = ETHER_BYTES + ETHER_IP_BYTES + n;
    return ETHER_REPLY;
}

static enum ether_fate take_datagram(const struct ether *e, const uint8_t *ip, size_t head,
                                     size_t total, struct ether_udp *out)
{
    const uint8_t *udp = ip + head;
    if (total - head < ETHER_UDP_BYTES)
        return ETHER_SHORT;
    if (get16(udp + 2) != e->port)
        return ETHER_OTHER;
    const uint32_t n = get16(udp + 4);
    if (n < ETHER_UDP_BYTES || n > total - head)
        return ETHER_SHORT;
    if (get16(udp + 6)) { /* has a checksum */
        uint8_t pseudo[12];
        memcpy(pseudo, ip + 12, 8);
        put16(pseudo + 8, UDP);
        put16(pseudo + 10, n);
        if (ether_sum(ether_sum(0, pseudo, sizeof pseudo), udp, n) != 0xffff)
            return ETHER_CHECKSUM;
    }
    *out = (struct ether_udp){get32(ip + 12), (uint16_t)get16(udp), udp + ETHER_UDP_BYTES,
                              n - ETHER_UDP_BYTES};
    return ETHER_PAYLOAD;
}

enum ether_fate ether_take(struct ether *e, const uint8_t *frame, size_t n, struct ether_udp *udp,
                           uint8_t *reply, size_t *reply_n)
{
    const uint8_t *from = frame + 6, *ip = frame + ETHER_BYTES;
    if (n < ETHER_BYTES)
        return ETHER_SHORT;
    if (memcmp(frame, e->mac, 6) && !(frame[0] & 1))
        return ETHER_OTHER;
    n -= ETHER_BYTES;
    if (get16(frame + 12) == TYPE_ARP)
        return take_arp(e, ip, n, reply, reply_n);
    if (get16(frame + 12) != TYPE_IP)
        return ETHER_OTHER;
    if (n < ETHER_IP_BYTES)
        return ETHER_SHORT;
    const size_t head = 4 * (size_t)(ip[0] & 15), total = get16(ip + 2);
    if (ip[0] >> 4 != 4)
        return ETHER_OTHER;
    if (head < ETHER_IP_BYTES || total < head || total > n)
        return ETHER_SHORT;
    if (ether_sum(0, ip, head) != 0xffff)
        return ETHER_CHECKSUM;
    if (get32(ip + 16) != e->ip)
        return ETHER_OTHER;
    if (get16(ip + 6) & 0x3fff) /* more fragments, or not the first */
        return ETHER_FRAGMENT;
    if (ip[9] == ICMP)
        return take_echo(e, from, ip, head, total, reply, reply_n);
    return ip[9] == UDP ? take_datagram(e, ip, head, total, udp) : ETHER_OTHER;
}

size_t ether_put(struct ether *e, uint32_t ip, uint16_t port, const uint8_t *payload, size_t n,
                 uint8_t *frame, int *asked)
{
    static const uint8_t groups[3] = {0x01, 0x00, 0x5e};
    struct ether_neighbour group = {.ip = ip, .known = true};
    struct ether_neighbour *to = ip >> 28 == PKT_GROUPS ? &group : find(e, ip);
    memcpy(group.mac, groups, sizeof groups);
    put16(group.mac + 4, ip);
    group.mac[3] = (uint8_t)(ip >> 16 & 127);
    if (!to && ip) {
        to = replace(e);
        *to = (struct ether_neighbour){.ip = ip};
    }
    *asked = !to || !to->known;
    if (to)
        to->used = ++e->sent;
    if (*asked)
        return put_arp(e, ARP_ASKS, NULL, ip, frame);
    put_ether(e, to->mac, TYPE_IP, frame);
    ether_put_udp(frame + ETHER_BYTES, e->ip, e->port, ip, port, n);
    memcpy(frame + ETHER_HEADERS, payload, n);
    return ETHER_HEADERS + n;
}

void ether_put_udp(uint8_t *to, uint32_t from_ip, uint16_t from_port, uint32_t to_ip,
                   uint16_t to_port, size_t n)
{
    memset(to, 0, ETHER_IP_BYTES + ETHER_UDP_BYTES);
    to[0] = 0x45; /* version 4, header of 5 words */
    put16(to + 2, (uint32_t)(ETHER_IP_BYTES + ETHER_UDP_BYTES + n));
    to[6] = 0x40;                               /* do not fragment */
    to[8] = to_ip >> 28 == PKT_GROUPS ? 1 : 64; /* TTL */
    to[9] = UDP;
    put32(to + 12, from_ip);
    put32(to + 16, to_ip);
    put16(to + 10, ~ether_sum(0, to, ETHER_IP_BYTES));
    put16(to + 20, from_port);
    put16(to + 22, to_port);
    put16(to + 24, (uint32_t)(ETHER_UDP_BYTES + n));
}
