/* connections.c : the sockets of those who control a card: accepted, read, written and closed
 * without ever blocking. */
#include "control/connections.h"
#include "base/err.h"
#include "base/inet.h"
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 }; /* of one peer in one turn */

void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip,
                      uint16_t port)
{
    *c = (struct connections){
        .control = control, .listener = listener, .owner = -1, .ip = ip, .port = port};
    for (int i = 0; i < CONTROL_PEERS; i++)
        c->fd[i] = -1;
}

void connections_fini(struct connections *c)
{
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (c->fd[i] >= 0)
            close(c->fd[i]);
}

/* Closes a peer's socket; its jobs are stopped. */
static int end(struct connections *c, int peer)
{
    close(c->fd[peer]);
    c->fd[peer] = -1;
    if (peer == c->owner)
        c->owner_left = true;
    return control_leave(c->control, peer);
}

/* What can be sent now. Returns 0, or 1 when the other end is gone. */
static int send_said(struct connections *c, int peer)
{
    size_t n;
    const uint8_t *said = control_said(c->control, peer, &n);
    const ssize_t sent = n ? send(c->fd[peer], said, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (sent < 0)
        return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    control_heard(c->control, peer, (size_t)sent);
    return 0;
}

/* A host that is cut off is gone within some 15 s. */
static void keep_alive(int fd)
{
    const int on = 1, idle_s = 5, between_s = 3, probes = 3, unread_ms = 15000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms, sizeof unread_ms);
}

static int join(struct connections *c, int fd, const char *name, uint32_t ip)
{
    const int peer = control_join(c->control, name, ip, c->port);
    if (peer >= 0)
        c->fd[peer] = fd;
    return peer;
}

int connections_adopt(struct connections *c, int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return ERR(-errno, "cannot use descriptor %d: %s", fd, strerror(errno));
    c->owner = join(c, fd, "the program that started the card", c->ip ? c->ip : INADDR_LOOPBACK);
    return c->owner < 0 ? ERR(-ENOMEM, "cannot take a connection: no memory") : 0;
}

static void refuse(int fd, const char *name)
{
    uint8_t bytes[SIMLINK_BYTES];
    ERR_STRANGER(0, "%s is refused: there are %d already", name, CONTROL_PEERS);
    simlink_put(
        (struct simlink){.kind = SIMLINK_HELLO, .status = SIMLINK_FULL, .a = SIMLINK_VERSION},
        bytes);
    (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void welcome(struct connections *c, double now)
{
    struct sockaddr_in from, here;
    socklen_t n = sizeof from, n_here = sizeof here;
    char name[64] = "a control connection from ", text[INET_TEXT];
    const int fd = accept4(c->listener, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            /* who comes stays, and would wake us again at once */
            c->deaf_until = now + CONNECTIONS_DEAF_S;
        return;
    }
    keep_alive(fd);
    strcat(name, inet_text(ntohl(from.sin_addr.s_addr), ntohs(from.sin_port), text));
    uint32_t ip = c->ip;
    if (!ip && !getsockname(fd, (struct sockaddr *)&here, &n_here))
        ip = ntohl(here.sin_addr.s_addr);
    const int peer = join(c, fd, name, ip);
    if (peer < 0)
        refuse(fd, name);
    else
        c->heard_at[peer] = now;
}

/* What has come from a peer. Only a whole message, which is answered, counts as asking: a byte now and
 * then does not keep a place. */
static int listen_to(struct connections *c, int peer, double now)
{
    uint8_t bytes[READ_BYTES];
    size_t before, after;
    const ssize_t n = recv(c->fd[peer], bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    (void)control_said(c->control, peer, &before);
    const int rc = n > 0 ? control_take(c->control, peer, bytes, (size_t)n) : 1;
    if (rc < 0)
        return rc;
    (void)control_said(c->control, peer, &after);
    if (after > before)
        c->heard_at[peer] = now;
    const int gone = send_said(c, peer);
    return rc || gone ? end(c, peer) : 0;
}

/* Would this peer be dropped for saying nothing? */
static bool is_idle(const struct connections *c, int peer)
{
    return c->fd[peer] >= 0 && peer != c->owner && !control_owns(c->control, peer);
}

double connections_due(const struct connections *c)
{
    double due = c->deaf_until > 0 ? c->deaf_until : INFINITY;
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (is_idle(c, i) && c->heard_at[i] + CONNECTIONS_IDLE_S < due)
            due = c->heard_at[i] + CONNECTIONS_IDLE_S;
    return due;
}

int connections_polls(const struct connections *c, double now, struct pollfd *polls)
{
    int n = 0;
    if (c->listener >= 0 && now >= c->deaf_until)
        polls[n++] = (struct pollfd){.fd = c->listener, .events = POLLIN};
    for (int i = 0; i < CONTROL_PEERS; i++) {
        size_t said = 0;
        if (c->fd[i] < 0)
            continue;
        (void)control_said(c->control, i, &said);
        polls[n++] =
            (struct pollfd){.fd = c->fd[i], .events = (short)(POLLIN | (said ? POLLOUT : 0))};
    }
    return n;
}

int connections_serve(struct connections *c, const struct pollfd *polls, int n, double now)
{
    if (now >= c->deaf_until)
        c->deaf_until = 0;
    for (int k = 0; k < n; k++) {
        int peer = 0;
        if (!polls[k].revents || polls[k].fd == c->listener)
            continue;
        while (peer < CONTROL_PEERS && c->fd[peer] != polls[k].fd)
            peer++;
        if (peer == CONTROL_PEERS)
            continue;
        if (polls[k].revents & POLLOUT && send_said(c, peer))
            TRY(end(c, peer));
        else if (polls[k].revents & ~POLLOUT)
            TRY(listen_to(c, peer, now));
    }
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (is_idle(c, i) && now >= c->heard_at[i] + CONNECTIONS_IDLE_S)
            TRY(end(c, i));
    for (int k = 0; k < n; k++)
        if (polls[k].revents && polls[k].fd == c->listener)
            welcome(c, now);
    return 0;
}
