/* wire_socket.c : implements a wire over a UDP socket of the system, many datagrams per call.
 *
 *     sends of one length   a a a a b  -->  message aaaa, message b  --> kernel or NIC cuts it
 *     receives              c c c c    <--  message cccc             <-- kernel joins it
 *
 * UDP_SEGMENT cuts messages and UDP_GRO joins them, so route look-up, checksum and queueing happen
 * once per message (libfabric's udp provider: per datagram). The datagrams on the network are the
 * same. */
#include "offload/wire/wire_socket.h"
#include "base/buf.h"
#include "base/err.h"
#include "offload/wire/wire_local.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_BYTES = 65000, MAX_FRAMES = 44, IN_BYTES = 1 << 16, SOCKET_BYTES = 4 << 20 };

struct wire_socket {
    int fd;
    struct sockaddr_in name;
    bool one_each; /* the system does not cut messages */
    /* bytes queued; bytes per frame, except a shorter last one */
    size_t n_out, each;
    /* bytes received; bytes read; bytes per datagram, except a shorter last one */
    size_t n_in, at, part;
    uint8_t out[MAX_BYTES], in[IN_BYTES];
};

static int send_bytes(const struct wire_socket *w, const uint8_t *bytes, size_t n, size_t each)
{
    union {
        struct cmsghdr header; /* for alignment */
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
    } control = {.bytes = {0}};
    const uint16_t segment = (uint16_t)each;
    struct iovec at = {(void *)(uintptr_t)bytes, n}; /* only read */
    struct msghdr m = {.msg_iov = &at, .msg_iovlen = 1};
    if (n > each) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof segment);
        memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
    return sendmsg(w->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Errors that an ICMP message about an earlier datagram causes, which any host can send. */
static bool is_icmp(int rc)
{
    switch (rc) {
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
    case -ENETUNREACH:
    case -EHOSTDOWN:
    case -ENONET:
    case -ENOPROTOOPT:
    case -EOPNOTSUPP:
    case -EPROTO:
        return true;
    default:
        return false;
    }
}

static bool is_full(int rc)
{
    return rc == -EAGAIN || rc == -EWOULDBLOCK || rc == -ENOBUFS || rc == -EINTR;
}

static size_t socket_most(const void *wire)
{
    const struct wire_socket *w = wire;
    return wire_most(w->fd);
}

/* True if queued datagrams are too long for the path. rc may belong to an earlier datagram, so
 * compares lengths. */
static bool is_too_long(const struct wire_socket *w, int rc)
{
    return (rc == -EMSGSIZE || rc == -EINVAL) && socket_most(w) < w->each;
}

/* A datagram that fails for reasons other than length or room is lost; the window sends it
 * again. */
static int socket_flush(void *wire)
{
    struct wire_socket *w = wire;
    size_t sent = 0;
    int rc = 0;
    if (w->n_out && !w->one_each) {
        rc = send_bytes(w, w->out, w->n_out, w->each);
        if (is_full(rc))
            return -EAGAIN;
        if (is_too_long(w, rc))
            goto lost;
        w->one_each = w->n_out > w->each && (rc == -EIO || rc == -EINVAL);
        sent = w->one_each ? 0 : w->n_out;
    }
    for (size_t n; sent < w->n_out; sent += n) {
        n = w->n_out - sent < w->each ? w->n_out - sent : w->each;
        rc = send_bytes(w, w->out + sent, n, n);
        if (is_full(rc))
            break;
        if (is_too_long(w, rc))
            goto lost;
    }
    memmove(w->out, w->out + sent, w->n_out - sent);
    w->n_out -= sent;
    return w->n_out ? -EAGAIN : 0;
lost:
    w->n_out = 0;
    return -EMSGSIZE;
}

static int socket_send(void *wire, const uint8_t *bytes, size_t n)
{
    struct wire_socket *w = wire;
    const bool joins = !w->n_out || (n <= w->each && w->n_out % w->each == 0 &&
                                     w->n_out < MAX_FRAMES * w->each && w->n_out + n <= MAX_BYTES);
    const int rc = n > MAX_BYTES ? -EMSGSIZE : joins ? 0 : socket_flush(w);
    if (rc)
        return rc;
    if (!w->n_out)
        w->each = n;
    memcpy(w->out + w->n_out, bytes, n);
    w->n_out += n;
    return 0;
}

static int read_more(struct wire_socket *w)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec at = {w->in, sizeof w->in};
    struct msghdr m = {.msg_iov = &at,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    const ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT);
    w->at = w->n_in = 0;
    if (n < 0) /* EMSGSIZE: an earlier datagram was too long */
        return is_full(-errno) || is_icmp(-errno) || errno == EMSGSIZE ? 0 : -errno;
    w->n_in = w->part = (size_t)n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int part;
            memcpy(&part, CMSG_DATA(c), sizeof part);
            w->part = part > 0 ? (size_t)part : w->n_in;
        }
    return n > 0;
}

static int socket_receive(void *wire, const uint8_t **bytes, size_t *n)
{
    struct wire_socket *w = wire;
    if (w->at == w->n_in) {
        const int rc = read_more(w);
        if (rc <= 0)
            return rc;
    }
    *bytes = w->in + w->at;
    *n = w->n_in - w->at < w->part ? w->n_in - w->at : w->part;
    w->at += *n;
    return 1;
}

static void socket_close(void *wire)
{
    struct wire_socket *w = wire;
    if (w->fd >= 0)
        close(w->fd);
    free(w);
}

static const struct wire_ops ops = {
    .send = socket_send,
    .flush = socket_flush,
    .receive = socket_receive,
    .most = socket_most,
    .close = socket_close,
};

/* Without privileges the system grants a smaller buffer. Returns false without UDP_GRO: each call
 * then receives one datagram. */
static bool make_room(int fd)
{
    const int bytes = SOCKET_BYTES, one = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof one) == 0;
}

int wire_socket_room(struct wire_socket_room *out)
{
    int twice = 0;
    socklen_t size = sizeof twice;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    const bool many = make_room(fd);
    const int rc = getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &twice, &size) ? -errno : 0;
    close(fd);
    if (rc == 0)
        *out = (struct wire_socket_room){twice / 2, SOCKET_BYTES, many};
    return rc;
}

/* A connected socket gets no datagrams of other hosts. */
static int open_socket(struct wire_socket *w, const struct wire_options *o, uint32_t local)
{
    const struct sockaddr_in card = wire_name(o->card_ip, o->card_port);
    const int whole = IP_PMTUDISC_DO;
    socklen_t size = sizeof w->name;
    w->name = wire_name(local, 0);
    w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || setsockopt(w->fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole) ||
        bind(w->fd, (struct sockaddr *)&w->name, sizeof w->name) ||
        connect(w->fd, (const struct sockaddr *)&card, sizeof card) ||
        getsockname(w->fd, (struct sockaddr *)&w->name, &size))
        return -errno;
    (void)make_room(w->fd);
    return 0;
}

/* name: address to bind to, unless open() chooses it. */
static int open_wire(const struct wire_options *o, struct sockaddr_in name,
                     int (*open)(struct wire_socket *, const struct wire_options *, uint32_t local),
                     const struct wire_ops *by, struct wire *out)
{
    uint32_t local;
    TRY(wire_local(o->local, o->card_ip, o->card_port, &local));
    struct wire_socket *w = buf_alloc(sizeof *w);
    if (!w)
        return -ENOMEM;
    w->fd = -1;
    w->name = name;
    const int rc = open(w, o, local);
    if (rc)
        socket_close(w);
    else
        *out = wire_at(by, w, &w->name);
    return rc;
}

int wire_socket_open(const struct wire_options *o, struct wire *out, char why[WIRE_WHY_BYTES])
{
    const int rc = open_wire(o, (struct sockaddr_in){0}, open_socket, &ops, out);
    if (!rc)
        return 0;
    return wire_unbound(o, rc, why);
}

static int join_send(void *wire, const uint8_t *bytes, size_t n)
{
    (void)wire, (void)bytes, (void)n;
    return -ENOSYS;
}

static const struct wire_ops group_wire = {
    .send = join_send,
    .flush = socket_flush,
    .receive = socket_receive,
    .most = socket_most,
    .close = socket_close,
};

/* The host's ranks share the group's address. The socket is connected to ignore other hosts. */
static int join_group(struct wire_socket *w, const struct wire_options *o, uint32_t local)
{
    const struct sockaddr_in card = wire_name(o->card_ip, o->card_port);
    const struct ip_mreqn group = {.imr_multiaddr = w->name.sin_addr,
                                   .imr_address.s_addr = htonl(local)};
    const int one = 1, joined_alone = 0;
    w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || setsockopt(w->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
        setsockopt(w->fd, IPPROTO_IP, IP_MULTICAST_ALL, &joined_alone, sizeof joined_alone) ||
        bind(w->fd, (const struct sockaddr *)&w->name, sizeof w->name) ||
        setsockopt(w->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) ||
        connect(w->fd, (const struct sockaddr *)&card, sizeof card))
        return -errno;
    (void)make_room(w->fd);
    return 0;
}

int wire_socket_join(const struct wire_options *o, uint32_t group, uint16_t port, struct wire *out,
                     char why[WIRE_WHY_BYTES])
{
    const int rc = open_wire(o, wire_name(group, port), join_group, &group_wire, out);
    if (rc)
        snprintf(why, WIRE_WHY_BYTES, "cannot join: %s", strerror(-rc));
    return rc;
}
