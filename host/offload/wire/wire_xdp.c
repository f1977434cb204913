/* wire_xdp.c : implements libnarrowcast_xdp.so: a wire over an AF_XDP socket, past the system's
 * network stack. Only this file and wire_filter.c use libxdp and libbpf.
 *
 *     send     frame -> chunk, after headers -> ring tx --> driver --> ring done -> idle chunks
 *     receive  driver --> filter: datagrams of this wire -> chunk -> ring rx --> ring fill
 *                                 all other packets      -> the system
 *
 * The driver reads and writes chunks itself if it can (zero-copy), else the kernel copies. An
 * ordinary UDP socket reserves the port, and knows the MTU of the path. The filter is attached by a
 * BPF link, which ends with the process. UDP checksums of received frames are not checked. */
#include "offload/wire/wire_filter.h"
#include "offload/wire/wire_hop.h"
#include "offload/wire/wire_library.h"
#include "offload/wire/wire_local.h"
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xdp/libxdp.h>
#include <xdp/xsk.h>

/* ROOM: bytes of a chunk that the kernel leaves for a packet. A driver keeps 256 in front. */
enum { CHUNK = 4096, ROOM = CHUNK - 256, RECEIVING = 2048, SENDING = 1024, AT_ONCE = 64 };

struct xdp {
    struct xsk_umem *umem;
    struct xsk_socket *socket;
    struct xsk_ring_prod fill, tx;
    struct xsk_ring_cons done, rx;
    uint8_t *chunks; /* [RECEIVING + SENDING][CHUNK] */
    int fd, map, filter, link;
    struct sockaddr_in name;
    struct wire_headers headers;
    size_t frame_bytes, most;
    uint64_t idle[SENDING]; /* free chunks for sending */
    uint32_t n_idle, queued;
    /* received packets: ring index of the first, count, count of those read */
    uint32_t first, n_come, n_read;
};

static size_t xdp_most(const void *wire)
{
    const struct xdp *w = wire;
    const size_t most = wire_most(w->fd);
    return most < w->frame_bytes ? most : w->frame_bytes;
}

static void reap_sent(struct xdp *w)
{
    uint32_t at;
    const uint32_t n = xsk_ring_cons__peek(&w->done, SENDING - w->n_idle, &at);
    for (uint32_t i = 0; i < n; i++)
        w->idle[w->n_idle++] = *xsk_ring_cons__comp_addr(&w->done, at + i);
    xsk_ring_cons__release(&w->done, n);
}

/* In copy mode each call sends 32 packets, or as many as the interface takes. */
static int xdp_flush(void *wire)
{
    struct xdp *w = wire;
    xsk_ring_prod__submit(&w->tx, w->queued);
    w->queued = 0;
    w->most = xdp_most(w);
    uint32_t left, before = 0;
    while ((left = *w->tx.producer - __atomic_load_n(w->tx.consumer, __ATOMIC_ACQUIRE)) > 0 &&
           left != before && xsk_ring_prod__needs_wakeup(&w->tx)) {
        if (sendto(xsk_socket__fd(w->socket), NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
            return 0;
        if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR)
            return -errno;
        before = left;
    }
    return left && left == before ? -EAGAIN : 0;
}

static uint16_t folded(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)(sum + (sum >> 16));
}

/* h->ip.check holds the sum of the other fields, h->udp.check 0: none. */
static void put_headers(const struct wire_headers *h, size_t n, uint8_t *to)
{
    struct wire_headers own = *h;
    own.udp.len = htons((uint16_t)(sizeof own.udp + n));
    own.ip.tot_len = htons((uint16_t)(sizeof own.ip + sizeof own.udp + n));
    own.ip.check = (uint16_t)~folded((uint32_t)h->ip.check + own.ip.tot_len);
    memcpy(to, &own, sizeof own);
}

static bool has_room(struct xdp *w, uint32_t *at)
{
    if (!w->n_idle)
        reap_sent(w);
    return w->n_idle && xsk_ring_prod__reserve(&w->tx, 1, at);
}

static int xdp_send(void *wire, const uint8_t *bytes, size_t n)
{
    struct xdp *w = wire;
    uint32_t at;
    if (n > w->most)
        return -EMSGSIZE;
    if (!has_room(w, &at)) {
        const int rc = xdp_flush(w);
        if (rc || !has_room(w, &at))
            return rc ? rc : -EAGAIN;
    }
    const uint64_t chunk = w->idle[--w->n_idle];
    put_headers(&w->headers, n, w->chunks + chunk);
    memcpy(w->chunks + chunk + sizeof w->headers, bytes, n);
    *xsk_ring_prod__tx_desc(&w->tx, at) =
        (struct xdp_desc){.addr = chunk, .len = (uint32_t)(sizeof w->headers + n)};
    w->queued++;
    return 0;
}

/* The ring has twice as many places as chunks, because the kernel tells late which are free. */
static void give_back(struct xdp *w)
{
    uint32_t at;
    if (!xsk_ring_prod__reserve(&w->fill, w->n_come, &at))
        return;
    for (uint32_t i = 0; i < w->n_come; i++)
        *xsk_ring_prod__fill_addr(&w->fill, at + i) =
            xsk_ring_cons__rx_desc(&w->rx, w->first + i)->addr & ~(uint64_t)(CHUNK - 1);
    xsk_ring_cons__release(&w->rx, w->n_come);
    xsk_ring_prod__submit(&w->fill, w->n_come);
    w->n_come = w->n_read = 0;
}

/* The filter has checked all fields but the length. */
static int xdp_receive(void *wire, const uint8_t **bytes, size_t *n)
{
    struct xdp *w = wire;
    for (;;) {
        if (w->n_come && w->n_read == w->n_come)
            give_back(w);
        if (!w->n_come)
            w->n_come = xsk_ring_cons__peek(&w->rx, AT_ONCE, &w->first);
        if (w->n_read == w->n_come) {
            if (xsk_ring_prod__needs_wakeup(&w->fill))
                (void)recvfrom(xsk_socket__fd(w->socket), NULL, 0, MSG_DONTWAIT, NULL, NULL);
            return 0;
        }
        const struct xdp_desc *d = xsk_ring_cons__rx_desc(&w->rx, w->first + w->n_read++);
        const struct wire_headers *h = (const void *)(w->chunks + d->addr);
        const size_t length = ntohs(h->udp.len);
        if (length < sizeof h->udp || length + offsetof(struct wire_headers, udp) > d->len)
            continue;
        *bytes = (const uint8_t *)(h + 1);
        *n = length - sizeof h->udp;
        return 1;
    }
}

static void xdp_close(void *wire)
{
    struct xdp *w = wire;
    const int open[] = {w->link, w->filter, w->map, w->fd};
    xsk_socket__delete(w->socket);
    if (w->umem)
        xsk_umem__delete(w->umem);
    for (int i = 0; i < 4; i++)
        if (open[i] >= 0)
            close(open[i]);
    free(w->chunks);
    free(w);
}

static const struct wire_ops ops = {
    .send = xdp_send,
    .flush = xdp_flush,
    .receive = xdp_receive,
    .most = xdp_most,
    .close = xdp_close,
};

/* ---- opening ---- */

static int failed(char *why, const char *what, int rc)
{
    const char *fix = rc == -EPERM || rc == -EACCES
                          ? ": run as root, or with CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF"
                      : rc == -EAFNOSUPPORT ? ": this kernel was built without CONFIG_XDP_SOCKETS"
                      : rc == -ENOBUFS      ? ": raise the limit of locked memory (ulimit -l)"
                                            : "";
    snprintf(why, WIRE_WHY_BYTES, "--fabric xdp cannot %s: %s%s", what, strerror(-rc), fix);
    return rc;
}

/* Reserves the port. --fabric-address may name the interface, also against the routes. */
static int reserve(struct xdp *w, const struct wire_options *o, char *why)
{
    const struct sockaddr_in card = wire_name(o->card_ip, o->card_port);
    socklen_t size = sizeof w->name;
    uint32_t ip;
    int rc = wire_local(o->local, o->card_ip, o->card_port, &ip);
    if (!rc) {
        const bool named = o->local && if_nametoindex(o->local);
        w->name = wire_name(ip, 0);
        w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (w->fd < 0 ||
            (named && setsockopt(w->fd, SOL_SOCKET, SO_BINDTODEVICE, o->local,
                                 (socklen_t)strlen(o->local))) ||
            bind(w->fd, (struct sockaddr *)&w->name, size) ||
            connect(w->fd, (const struct sockaddr *)&card, sizeof card) ||
            getsockname(w->fd, (struct sockaddr *)&w->name, &size))
            rc = -errno;
    }
    return rc ? wire_unbound(o, rc, why) : 0;
}

/* The card's frames must all arrive at queue 0. */
static int one_queue(const struct xdp *w, const struct wire_hop *hop, char *why)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ifreq r = {.ifr_data = (void *)&channels};
    memcpy(r.ifr_name, hop->name, sizeof hop->name);
    if (ioctl(w->fd, SIOCETHTOOL, &r)) /* the driver has one queue */
        return 0;
    const unsigned n = channels.combined_count + channels.rx_count;
    if (n <= 1)
        return 0;
    snprintf(
        why, WIRE_WHY_BYTES,
        "'%s' spreads packets over %u queues, but --fabric xdp reads one: `ethtool -L %s %s 1`",
        hop->name, n, hop->name, channels.combined_count ? "combined" : "rx");
    return -ENODATA;
}

static int make_map(void)
{
    return bpf_map_create(BPF_MAP_TYPE_XSKMAP, "narrowcast", 4, 4, 1, NULL);
}

static int attach(struct xdp *w, const struct wire_hop *hop, char *why)
{
    w->map = make_map();
    if (w->map < 0)
        return failed(why, "make a BPF map", w->map);
    w->filter = wire_filter_load(w->map, &w->headers);
    if (w->filter < 0)
        return failed(why, "load its filter", w->filter);
    w->link = bpf_link_create(w->filter, hop->index, BPF_XDP, NULL);
    if (w->link >= 0 || w->link == -EPERM)
        return w->link < 0 ? failed(why, "attach its filter", w->link) : 0;
    if (w->link == -EBUSY || w->link == -EEXIST)
        snprintf(why, WIRE_WHY_BYTES,
                 "'%s' already has an XDP program (`ip link show %s`): --fabric xdp takes one rank "
                 "and one card per interface (--fabric-address)",
                 hop->name, hop->name);
    else
        snprintf(why, WIRE_WHY_BYTES,
                 "'%s' takes no XDP program: %s. If its MTU, or that of the other end of a veth "
                 "pair, is above 1500: `ip link set %s mtu 1500`",
                 hop->name, strerror(-w->link), hop->name);
    return -ENODATA;
}

/* An earlier socket leaves its queue shortly after it was closed. */
static int open_socket(struct xdp *w, const struct wire_hop *hop, char *why)
{
    const struct xsk_umem_config memory = {
        .fill_size = 2 * RECEIVING, .comp_size = SENDING, .frame_size = CHUNK};
    const struct xsk_socket_config config = {.rx_size = RECEIVING,
                                             .tx_size = SENDING,
                                             .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
                                             .bind_flags = XDP_USE_NEED_WAKEUP};
    const uint64_t bytes = (uint64_t)(RECEIVING + SENDING) * CHUNK;
    const int room = 4 << 20;
    uint32_t at = 0;
    w->chunks = aligned_alloc(CHUNK, bytes);
    if (!w->chunks)
        return failed(why, "allocate memory", -ENOMEM);
    int rc = xsk_umem__create(&w->umem, w->chunks, bytes, &w->fill, &w->done, &memory);
    if (rc)
        return failed(why, "share memory with the kernel", rc);
    for (int i = 0; i < 20; i++) {
        rc = xsk_socket__create(&w->socket, hop->name, 0, w->umem, &w->rx, &w->tx, &config);
        if (rc != -EBUSY)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (!rc)
        rc = xsk_socket__update_xskmap(w->socket, w->map);
    if (rc) {
        char what[IF_NAMESIZE + 32];
        snprintf(what, sizeof what, "open queue 0 of '%s'", hop->name);
        return failed(why, what, rc);
    }
    (void)setsockopt(xsk_socket__fd(w->socket), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    xsk_ring_prod__reserve(&w->fill, RECEIVING, &at);
    for (uint32_t i = 0; i < RECEIVING; i++)
        *xsk_ring_prod__fill_addr(&w->fill, at + i) = (uint64_t)i * CHUNK;
    xsk_ring_prod__submit(&w->fill, RECEIVING);
    for (uint64_t i = 0; i < SENDING; i++)
        w->idle[w->n_idle++] = (RECEIVING + i) * CHUNK;
    return 0;
}

static void make_headers(struct xdp *w, const struct wire_options *o, const struct wire_hop *hop)
{
    struct wire_headers *h = &w->headers;
    uint16_t words[sizeof h->ip / 2];
    uint32_t sum = 0;
    h->ether = hop->header;
    h->ip = (struct iphdr){.version = 4,
                           .ihl = 5,
                           .frag_off = htons(IP_DF),
                           .ttl = IPDEFTTL,
                           .protocol = IPPROTO_UDP,
                           .saddr = w->name.sin_addr.s_addr,
                           .daddr = htonl(o->card_ip)};
    h->udp = (struct udphdr){.source = w->name.sin_port, .dest = htons(o->card_port)};
    memcpy(words, &h->ip, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        sum += words[i];
    h->ip.check = folded(sum);
    w->frame_bytes = ROOM - sizeof *h;
    if (o->frame_bytes < w->frame_bytes)
        w->frame_bytes = o->frame_bytes;
    w->most = xdp_most(w);
}

static int xdp_open(const struct wire_options *o, struct wire *out, char *why)
{
    struct xdp *w = calloc(1, sizeof *w);
    struct wire_hop hop = {.index = 0};
    if (!w)
        return failed(why, "allocate memory", -ENOMEM);
    w->fd = w->map = w->filter = w->link = -1;
    int rc = reserve(w, o, why);
    if (!rc)
        rc = wire_hop_find(w->fd, o->card_ip, &hop, why);
    if (!rc)
        rc = one_queue(w, &hop, why);
    if (!rc) {
        make_headers(w, o, &hop);
        rc = attach(w, &hop, why);
    }
    if (!rc)
        rc = open_socket(w, &hop, why);
    if (rc)
        xdp_close(w);
    else
        *out = wire_at(&ops, w, &w->name);
    return rc;
}

static int xdp_check(const char *provider, char *why)
{
    (void)provider; /* always xdp */
    libxdp_set_print(NULL);
    libbpf_set_print(NULL);
    const int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), rc = fd < 0 ? -errno : 0;
    const int map = rc ? -1 : make_map();
    if (fd >= 0)
        close(fd);
    if (map >= 0)
        close(map);
    if (!rc && map >= 0)
        return 0;
    failed(why, "open a socket", rc ? rc : map);
    return -ENODATA;
}

extern __attribute__((visibility("default"))) const struct wire_library narrowcast_xdp;
const struct wire_library narrowcast_xdp = {
    .version = WIRE_LIBRARY_VERSION,
    .open = xdp_open,
    .check = xdp_check,
};
