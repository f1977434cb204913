/* wire_hop.c : observes how a datagram leaves, with a packet socket. The system has then chosen the
 * interface and resolved the next hop, with its own routes, gateways and neighbours. */
#include "offload/wire/wire_hop.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DISCARD = 9, TRIES = 10, TRY_MS = 50 };

/* Lets pass only IPv4 UDP datagrams that leave from `port` to port 9. The filter is set before the
 * socket receives. Returns the socket or a negative errno. */
static int open_tap(uint16_t port)
{
    enum { KIND = SKF_AD_OFF + SKF_AD_PKTTYPE, N = 12 };
    struct sock_filter steps[N] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)KIND),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, N - 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, N - 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 9),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, N - 7),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 14 + 20),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, N - 9),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 14 + 22),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DISCARD, 0, N - 11),
        BPF_STMT(BPF_RET | BPF_K, ETHER_HDR_LEN),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {N, steps};
    const struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) ||
        bind(fd, (const struct sockaddr *)&all, sizeof all)) {
        const int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

/* Returns 1 if a datagram was seen. */
static int observe(int fd, int tap, uint32_t card_ip, struct wire_hop *out, unsigned short *kind)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(DISCARD), .sin_addr.s_addr = htonl(card_ip)};
    for (int i = 0; i < TRIES; i++) {
        struct pollfd ready = {.fd = tap, .events = POLLIN};
        struct sockaddr_ll via;
        socklen_t size = sizeof via;
        (void)sendto(fd, "", 0, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof to);
        if (poll(&ready, 1, TRY_MS) == 1 &&
            recvfrom(tap, &out->header, sizeof out->header, MSG_DONTWAIT, (struct sockaddr *)&via,
                     &size) == sizeof out->header) {
            out->index = via.sll_ifindex;
            *kind = via.sll_hatype;
            return 1;
        }
    }
    return 0;
}

int wire_hop_find(int fd, uint32_t card_ip, struct wire_hop *out, char why[WIRE_WHY_BYTES])
{
    const struct in_addr card = {htonl(card_ip)};
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    char text[INET_ADDRSTRLEN];
    unsigned short kind = 0;
    const int tap =
        getsockname(fd, (struct sockaddr *)&own, &size) ? -errno : open_tap(ntohs(own.sin_port));
    if (tap < 0) {
        snprintf(why, WIRE_WHY_BYTES, "cannot open a packet socket: %s", strerror(-tap));
        return tap;
    }
    inet_ntop(AF_INET, &card, text, sizeof text);
    const int seen = observe(fd, tap, card_ip, out, &kind);
    close(tap);
    if (!seen)
        snprintf(why, WIRE_WHY_BYTES,
                 "no host on an Ethernet answers for %s (`ip neigh`): --fabric xdp needs one; "
                 "--fabric socket does not",
                 text);
    else if (!if_indextoname((unsigned)out->index, out->name))
        snprintf(why, WIRE_WHY_BYTES, "the interface to %s is gone", text);
    else if (kind != ARPHRD_ETHER)
        snprintf(why, WIRE_WHY_BYTES,
                 "--fabric xdp needs an Ethernet interface, but '%s' leads to %s; --fabric socket "
                 "works there",
                 out->name, text);
    else
        return 0;
    return -ENODATA;
}
