/* datagrams.c : carries a card's frames as UDP datagrams of one socket, many per system call.
 *
 *     frames out:  a b c a b c a b c  --> 3 messages  aaa bbb ccc  --> the kernel cuts each
 *
 * UDP_SEGMENT saves each datagram's route look-up, checksum and queueing, and keeps the order for
 * each receiver. With UDP_GRO, datagrams of one sender may arrive as one message. Datagrams too
 * long for the path are refused and counted, never fragmented. */
#include "base/buf.h"
#include "base/err.h"
#include "base/inet.h"
#include "sim/frame_queue.h"
#include "sim/net.h"
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    AT_ONCE = 64,
    MESSAGES_IN = 16,
    IN_BYTES = 1 << 16,
    MESSAGE_BYTES = 60000,
    MAX_WAITING = 8192,
    SOCKET_BYTES = 64 << 20,
    TRIES = 32
};

/* Datagrams to one receiver, of equal length except a shorter last one. */
struct message {
    struct sockaddr_in to;
    unsigned n;
    size_t bytes;
    bool full;
    size_t frame[AT_ONCE]; /* index in the queue */
    struct iovec at[AT_ONCE];
    union {
        struct cmsghdr header; /* for alignment */
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
    } segment;
};

struct datagrams {
    int fd;
    struct frame_queue out;
    /* full: frames lost without room. refused: datagrams that the system refused */
    uint64_t came, empty, sent, full, refused;
    struct mmsghdr in_msg[MESSAGES_IN];
    struct iovec in_at[MESSAGES_IN];
    struct sockaddr_in from[MESSAGES_IN];
    union {
        struct cmsghdr header; /* for alignment */
        char bytes[CMSG_SPACE(sizeof(int))];
    } in_part[MESSAGES_IN];
    /* send single datagrams, as the system refused a message, perhaps unable to cut it */
    bool one_each;
    struct message out_message[AT_ONCE];
    struct mmsghdr out_msg[AT_ONCE];
    uint8_t bytes[MESSAGES_IN][IN_BYTES];
};

/* Returns the length of the datagrams joined into message i. */
static size_t part_of(struct datagrams *d, int i)
{
    struct msghdr *m = &d->in_msg[i].msg_hdr;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int part;
            memcpy(&part, CMSG_DATA(c), sizeof part);
            return part > 0 ? (size_t)part : d->in_msg[i].msg_len;
        }
    return d->in_msg[i].msg_len;
}

static int take_message(struct datagrams *d, int i, net_take *take, void *arg)
{
    const size_t bytes = d->in_msg[i].msg_len, part = part_of(d, i);
    int count = !bytes;
    d->empty += !bytes;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < part ? bytes - at : part;
        count++;
        take(arg, ntohl(d->from[i].sin_addr.s_addr), ntohs(d->from[i].sin_port), d->bytes[i] + at,
             n < NET_FRAME_BYTES ? n : NET_FRAME_BYTES);
    }
    d->came += (uint64_t)count;
    return count;
}

static int net_receive(void *net, net_take *take, void *arg)
{
    struct datagrams *d = net;
    for (int i = 0; i < MESSAGES_IN; i++) {
        d->in_msg[i].msg_hdr.msg_namelen = sizeof d->from[i];
        d->in_msg[i].msg_hdr.msg_controllen = sizeof d->in_part[i].bytes;
    }
    const int n = recvmmsg(d->fd, d->in_msg, MESSAGES_IN, MSG_DONTWAIT, NULL);
    int count = 0;
    for (int i = 0; i < n; i++)
        count += take_message(d, i, take, arg);
    return count;
}

static struct message *message_for(struct datagrams *d, unsigned *n, const struct queued_frame *f)
{
    for (unsigned i = 0; i < *n && !d->one_each; i++) {
        struct message *m = &d->out_message[i];
        if (!m->full && m->to.sin_addr.s_addr == htonl(f->ip) && m->to.sin_port == htons(f->port)) {
            if (f->n <= m->at[0].iov_len && m->bytes + f->n <= MESSAGE_BYTES)
                return m;
            m->full = true;
        }
    }
    struct message *m = &d->out_message[(*n)++];
    m->to = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(f->port), .sin_addr.s_addr = htonl(f->ip)};
    m->n = 0;
    m->bytes = 0;
    m->full = false;
    return m;
}

static void join(struct message *m, const struct queued_frame *f, size_t index, uint8_t *bytes)
{
    m->full = m->n && f->n < m->at[0].iov_len;
    m->at[m->n] = (struct iovec){bytes, f->n};
    m->frame[m->n++] = index;
    m->bytes += f->n;
}

static struct msghdr header_of(struct message *m)
{
    struct msghdr h = {
        .msg_name = &m->to, .msg_namelen = sizeof m->to, .msg_iov = m->at, .msg_iovlen = m->n};
    if (m->n > 1) {
        const uint16_t each = (uint16_t)m->at[0].iov_len;
        h.msg_control = m->segment.bytes;
        h.msg_controllen = sizeof m->segment.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof each);
        memcpy(CMSG_DATA(c), &each, sizeof each);
    }
    return h;
}

/* Sent frames have length 0. */
static unsigned make_messages(struct datagrams *d)
{
    const size_t waiting = frame_queue_waiting(&d->out);
    const struct queued_frame *f = frame_queue_first(&d->out);
    unsigned n = 0;
    for (size_t i = 0; i < waiting && i < AT_ONCE; i++)
        if (f[i].n)
            join(message_for(d, &n, &f[i]), &f[i], i, d->out.bytes + f[i].at);
    for (unsigned i = 0; i < n; i++)
        d->out_msg[i].msg_hdr = header_of(&d->out_message[i]);
    return n;
}

static void forget(struct datagrams *d, const struct message *m)
{
    for (unsigned k = 0; k < m->n; k++)
        d->out.frames[d->out.first + m->frame[k]].n = 0;
}

static int net_flush(void *net)
{
    struct datagrams *d = net;
    d->one_each = false;
    while (frame_queue_first(&d->out)) {
        const unsigned n = make_messages(d);
        const int sent = n ? sendmmsg(d->fd, d->out_msg, n, MSG_DONTWAIT) : 0;
        if (sent < 0 &&
            (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR))
            return 1;
        if (sent < 0 && d->out_message[0].n > 1) {
            d->one_each = true; /* retry */
            continue;
        }
        for (int i = 0; i < (sent < 0 ? 1 : sent); i++) {
            const struct message *m = &d->out_message[i];
            *(sent < 0 ? &d->refused : &d->sent) += m->n;
            forget(d, m);
        }
        for (const struct queued_frame *f; (f = frame_queue_first(&d->out)) && !f->n;)
            frame_queue_drop(&d->out);
    }
    return 0;
}

static void net_send(void *net, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct datagrams *d = net;
    const struct queued_frame f = {.ip = ip, .port = port, .n = n};
    if (frame_queue_waiting(&d->out) >= AT_ONCE)
        (void)net_flush(d);
    if (frame_queue_waiting(&d->out) >= MAX_WAITING || frame_queue_put(&d->out, f, bytes))
        d->full++;
}

static void net_report(const void *net, struct text *to)
{
    const struct datagrams *d = net;
    text_add(
        to,
        "datagrams_in %llu\ndatagrams_empty %llu\ndatagrams_out %llu\ndatagrams_out_full %llu\n"
        "datagrams_out_refused %llu\n",
        (unsigned long long)d->came, (unsigned long long)d->empty, (unsigned long long)d->sent,
        (unsigned long long)d->full, (unsigned long long)d->refused);
}

static int net_fd(const void *net)
{
    return ((const struct datagrams *)net)->fd;
}

static void net_close(void *net)
{
    struct datagrams *d = net;
    if (!d)
        return;
    if (d->fd >= 0)
        close(d->fd);
    frame_queue_free(&d->out);
    free(d);
}

static int bind_to(int fd, uint32_t ip, uint16_t *port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(ip)};
    socklen_t n = sizeof at;
    if (bind(fd, (const struct sockaddr *)&at, n) || getsockname(fd, (struct sockaddr *)&at, &n))
        return -errno;
    *port = ntohs(at.sin_port);
    return 0;
}

/* Without privileges the system grants shorter buffers. Multicast leaves through the interface with
 * the card's address; its TTL is 1. */
static void set_options(int fd, uint32_t ip)
{
    const struct in_addr from = {.s_addr = htonl(ip)};
    const int bytes = SOCKET_BYTES, one = 1, whole = IP_PMTUDISC_DO;
    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof one);
    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof from);
}

/* A multicast or broadcast address can be bound, but is no card's. */
static bool is_of_many(int udp, uint32_t ip)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(ip)};
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    const bool many = IN_MULTICAST(ip) ||
                      (connect(udp, (const struct sockaddr *)&at, sizeof at) && errno == EACCES);
    (void)connect(udp, &none, sizeof none);
    return many;
}

static int open_udp(uint32_t ip, uint16_t *port, int *udp)
{
    *udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int rc = *udp < 0               ? -errno
                   : is_of_many(*udp, ip) ? -EADDRNOTAVAIL
                                          : bind_to(*udp, ip, port);
    if (rc && *udp >= 0)
        close(*udp);
    return rc;
}

/* *port 0: chooses a port that is free for TCP and UDP. */
static int open_sockets(uint32_t ip, uint16_t *port, int *tcp, int *udp)
{
    int rc = -EADDRINUSE;
    for (int i = 0; i < TRIES && rc == -EADDRINUSE; i++) {
        uint16_t both = *port;
        *tcp = inet_listen(ip, &both, 64);
        rc = *tcp < 0 ? *tcp : open_udp(ip, &both, udp);
        if (rc && *tcp >= 0) {
            close(*tcp);
            *tcp = -1;
        }
        if (!rc || *port) {
            *port = both;
            break;
        }
    }
    return rc;
}

int datagrams_open(uint32_t ip, uint16_t *port, int *tcp, void **net)
{
    char text[INET_TEXT];
    struct datagrams *d = buf_alloc(sizeof *d);
    if (!d)
        return -ENOMEM;
    d->fd = -1;
    int rc = tcp ? open_sockets(ip, port, tcp, &d->fd) : open_udp(ip, port, &d->fd);
    if (rc) {
        d->fd = -1;
        net_close(d);
        return ERR(rc, "cannot listen on %s: %s%s", inet_text(ip, *port, text), strerror(-rc),
                   rc == -EADDRNOTAVAIL ? "; need an address of this machine" : "");
    }
    set_options(d->fd, ip);
    for (int i = 0; i < MESSAGES_IN; i++) {
        d->in_at[i] = (struct iovec){d->bytes[i], IN_BYTES};
        d->in_msg[i].msg_hdr = (struct msghdr){.msg_name = &d->from[i],
                                               .msg_namelen = sizeof d->from[i],
                                               .msg_iov = &d->in_at[i],
                                               .msg_iovlen = 1,
                                               .msg_control = d->in_part[i].bytes};
    }
    *net = d;
    return 0;
}

const struct net_ops net_datagrams = {
    .receive = net_receive,
    .send = net_send,
    .flush = net_flush,
    .report = net_report,
    .fd = net_fd,
    .close = net_close,
};
