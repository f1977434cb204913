/* wire_filter.h : loads the XDP program that picks a card's datagrams out of all packets. */
#ifndef WIRE_FILTER_H
#define WIRE_FILTER_H
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

struct wire_headers {
    struct ether_header ether;
    struct iphdr ip;
    struct udphdr udp;
} __attribute__((packed));

/* The program gives socket 0 of the XSKMAP `map` the answers to packets with the addresses and
 * ports of *sent, if they are whole and without IP options. It leaves all other packets to the
 * system, and also these while the map is empty. Returns the program's descriptor, or a negative
 * errno. */
int wire_filter_load(int map, const struct wire_headers *sent);

#endif
