/* eth_hosts.h : simulates hosts on a LiteEth card's Ethernet and records what reaches each. A
 * host's MAC is 02:00 followed by its IP. */
#ifndef ETH_HOSTS_H
#define ETH_HOSTS_H
#include "card_frames.h"
#include "check.h"
#include "sim/ether.h"
#include "sim/rtl/shell_eth.h"

enum { CARD_PORT = 20035, HOSTS_MAX = 1 << 16 /* datagrams of a run */ };
static const uint32_t card_ip = 0x0a000063;
static const uint8_t card_mac[6] = {2, 0x6e, 0x63, 0, 0, 0x63};

struct reached {
    uint32_t ip;
    uint16_t port;
    uint64_t hash, at;
    struct pkt_header h;
};

static inline int reached_order(const void *a, const void *b)
{
    const struct reached *x = a, *y = b;
    if (x->ip != y->ip)
        return x->ip < y->ip ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static struct {
    void *shell;
    struct frame_queue in;
    uint32_t silent;
    uint64_t asked;
    int n_arp, n_echo, n_astray, n;
    uint8_t echo[ETHER_MAX];
    size_t echo_n;
    struct reached of[HOSTS_MAX];
} net;

static inline void be16(uint8_t *to, uint32_t v)
{
    to[0] = (uint8_t)(v >> 8);
    to[1] = (uint8_t)v;
}
static inline void be32(uint8_t *to, uint32_t v)
{
    be16(to, v >> 16);
    be16(to + 2, v);
}
static inline uint32_t of_be16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}
static inline uint32_t of_be32(const uint8_t *at)
{
    return of_be16(at) << 16 | of_be16(at + 2);
}

static inline uint64_t bytes_hash(const uint8_t *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static inline void host_mac(uint32_t ip, uint8_t *mac)
{
    be16(mac, 0x0200);
    be32(mac + 2, ip);
}

/* RFC 1112: the last 23 bits of the group's address. */
static inline void group_mac(uint32_t ip, uint8_t *mac)
{
    be16(mac, 0x0100);
    be32(mac + 2, 0x5e000000 | (ip & 0x7fffff));
}

static inline void net_put(const uint8_t *frame, size_t n, unsigned wrong)
{
    const struct queued_frame f = {.n = n, .port = (uint16_t)wrong};
    if (frame_queue_put(&net.in, f, frame))
        exit(1);
}

static inline void put_ether(uint32_t from_ip, uint32_t type, uint8_t *frame)
{
    memcpy(frame, card_mac, 6);
    host_mac(from_ip, frame + 6);
    be16(frame + 12, type);
}

/* op 1: broadcast request for the card; 2: answer. Returns the length. */
static inline size_t put_arp(uint32_t op, uint32_t from_ip, uint8_t *frame)
{
    static const uint8_t head[6] = {0, 1, 8, 0, 6, 4};
    put_ether(from_ip, 0x0806, frame);
    if (op == 1)
        memset(frame, 255, 6);
    memcpy(frame + 14, head, 6);
    be16(frame + 20, op);
    host_mac(from_ip, frame + 22);
    be32(frame + 28, from_ip);
    memcpy(frame + 32, card_mac, 6);
    be32(frame + 38, card_ip);
    return 42;
}

static inline size_t put_udp(uint32_t ip, uint16_t port, const uint8_t *payload, size_t n,
                             uint8_t *frame)
{
    put_ether(ip, 0x0800, frame);
    ether_put_udp(frame + 14, ip, port, card_ip, CARD_PORT, n);
    memmove(frame + ETHER_HEADERS, payload, n);
    return ETHER_HEADERS + n;
}

static inline void sum_ip(uint8_t *frame)
{
    const size_t head = 4u * (frame[14] & 15u);
    be16(frame + 24, 0);
    be16(frame + 24, ~ether_sum(0, frame + 14, head));
}

/* A checksum of 0 is sent as 0xffff. The IP header must have 20 bytes. */
static inline void sum_udp(uint8_t *frame)
{
    const size_t n = of_be16(frame + 38);
    uint8_t pseudo[12];
    memcpy(pseudo, frame + 26, 8);
    be16(pseudo + 8, 17);
    be16(pseudo + 10, (uint32_t)n);
    be16(frame + 40, 0);
    const uint32_t sum = ~ether_sum(ether_sum(0, pseudo, 12), frame + 34, n) & 0xffff;
    be16(frame + 40, sum ? sum : 0xffff);
}

static inline size_t put_ping(uint32_t ip, size_t n, uint8_t *frame)
{
    put_udp(ip, 0, frame, n, frame);
    frame[23] = 1;
    memset(frame + 34, 0, 8);
    frame[34] = 8;
    for (size_t i = 0; i < n; i++)
        frame[42 + i] = (uint8_t)(i * 7 + n);
    be16(frame + 38, 0x1234);
    sum_ip(frame);
    be16(frame + 36, ~ether_sum(0, frame + 34, 8 + n));
    return 42 + n;
}

static inline void net_take(void *arg, uint32_t ip, uint16_t port, const uint8_t *f, size_t n)
{
    (void)arg, (void)ip, (void)port;
    uint8_t mine[6], reply[64];
    CHECK(n >= 60 && !memcmp(f + 6, card_mac, 6), "a frame of %zu bytes, not from the card", n);
    if (of_be16(f + 12) == 0x0806 && of_be16(f + 20) == 1) {
        const uint32_t wanted = of_be32(f + 38);
        if (wanted == net.silent) {
            net.asked++;
            return;
        }
        net_put(reply, put_arp(2, wanted, reply), 0);
        return;
    }
    if (of_be16(f + 12) == 0x0806) {
        net.n_arp++;
        return;
    }
    const uint32_t to = of_be32(f + 30);
    (to >> 28 == PKT_GROUPS ? group_mac : host_mac)(to, mine);
    CHECK(of_be16(f + 12) != 0x0800 || (f[22] == 1) == (to >> 28 == PKT_GROUPS), "a TTL of %d",
          f[22]);
    const size_t total = of_be16(f + 16);
    if (of_be16(f + 12) != 0x0800 || memcmp(f, mine, 6) || total + 14 > n ||
        ether_sum(0, f + 14, 20) != 0xffff || of_be32(f + 26) != card_ip) {
        net.n_astray++;
        return;
    }
    if (f[23] == 1) {
        net.n_echo++;
        net.echo_n = total + 14;
        memcpy(net.echo, f, net.echo_n);
        return;
    }
    if (f[23] != 17 || of_be16(f + 34) != CARD_PORT || of_be16(f + 38) != total - 20 ||
        net.n == HOSTS_MAX) {
        net.n_astray++;
        return;
    }
    net.of[net.n++] = (struct reached){
        .ip = of_be32(f + 30),
        .port = (uint16_t)of_be16(f + 36),
        .hash = bytes_hash(f + 42, total - 28),
        .at = shell_eth.ticks(net.shell),
        .h = pkt_get(f + 42),
    };
}

static inline int net_open(void)
{
    if (shell_eth.open(NULL, net_take, NULL, &net.shell))
        return 0;
    shell_eth.address(net.shell, card_mac, card_ip, CARD_PORT, 0);
    return 1;
}

static inline void net_close(void)
{
    shell_eth.close(net.shell);
    frame_queue_free(&net.in);
}

static inline uint64_t net_run(void)
{
    net.n = 0;
    const struct shell_run r = shell_eth.run(net.shell, &net.in, 1 << 26);
    CHECK(r.quiet, "the card does not come to rest");
    return r.clocks;
}

static inline void net_write(void *arg, uint32_t at, uint32_t value)
{
    (void)arg;
    CHECK(!shell_eth.control.write(net.shell, at, value), "writing register %x", at);
}

static inline uint64_t net_counter(uint32_t index)
{
    uint32_t low = 0, high = 0;
    net_write(NULL, REG_CTRL, 3);
    net_write(NULL, REG_COUNTER_INDEX, index);
    shell_eth.control.read(net.shell, REG_COUNTER_LO, &low);
    shell_eth.control.read(net.shell, REG_COUNTER_HI, &high);
    return low | (uint64_t)high << 32;
}

#endif
