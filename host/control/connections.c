/* connections.c : serves clients' sockets without blocking. */
#include "control/connections.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip,
                      uint16_t port)
{
    *c = (struct connections){.control = control,
                              .listener = listener,
                              .owner = -1,
                              .ip = ip,
                              .port = port,
                              .clock = clock_s};
    for (int i = 0; i < CONTROL_PEERS; i++)
        c->fd[i] = -1;
}

void connections_fini(struct connections *c)
{
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (c->fd[i] >= 0)
            close(c->fd[i]);
}

static int end(struct connections *c, int peer)
{
    close(c->fd[peer]);
    c->fd[peer] = -1;
    if (peer == c->owner)
        c->owner_left = true;
    return control_leave(c->control, peer);
}

/* Returns 1 if the other end has closed. */
static int send_said(struct connections *c, int peer)
{
    size_t n;
    const uint8_t *said = control_to_send(c->control, peer, &n);
    const ssize_t sent = n ? send(c->fd[peer], said, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
    if (sent < 0)
        return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    control_sent(c->control, peer, (size_t)sent);
    return 0;
}

/* A host that is cut off is noticed within about 15 s. */
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
    if (peer >= 0) {
        c->fd[peer] = fd;
        c->served[peer] = 0;
    }
    return peer;
}

int connections_adopt(struct connections *c, int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
        return ERR(-errno, "cannot use descriptor %d: %s", fd, strerror(errno));
    c->owner = join(c, fd, "the program that started the card", c->ip ? c->ip : INADDR_LOOPBACK);
    return c->owner < 0 ? ERR(-ENOMEM, "cannot accept a connection: no memory") : 0;
}

static void refuse(int fd, const char *name, int rc)
{
    uint8_t bytes[SIMLINK_BYTES];
    if (rc == -ENOMEM)
        err_stranger(0, "refused %s: no memory", name);
    else
        err_stranger(0, "refused %s: there are already %d connections", name, CONTROL_PEERS);
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
            /* the queued client would wake this loop again at once */
            c->rests_until = now + CONNECTIONS_REST_S;
        return;
    }
    keep_alive(fd);
    strcat(name, inet_text(ntohl(from.sin_addr.s_addr), ntohs(from.sin_port), text));
    uint32_t ip = c->ip;
    if (!ip && !getsockname(fd, (struct sockaddr *)&here, &n_here))
        ip = ntohl(here.sin_addr.s_addr);
    const int peer = join(c, fd, name, ip);
    if (peer < 0)
        refuse(fd, name, peer);
    else
        c->heard_at[peer] = now;
}

/* Only an answered message counts as a request: a peer that sends single bytes loses its place. */
static int listen_to(struct connections *c, int peer, double now)
{
    uint8_t bytes[SIMLINK_MAX];
    size_t before, after, want;
    ssize_t n;
    int rc;
    (void)control_to_send(c->control, peer, &before);
    do {
        want = control_wants(c->control, peer);
        n = recv(c->fd[peer], bytes, want, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return 0;
        rc = n > 0 ? control_take(c->control, peer, bytes, (size_t)n) : 1;
        if (rc < 0)
            return rc;
        (void)control_to_send(c->control, peer, &after);
    } while (!rc && after == before && n == (ssize_t)want);
    if (after > before)
        c->heard_at[peer] = now;
    const int gone = send_said(c, peer);
    return rc || gone ? end(c, peer) : 0;
}

static bool is_idle(const struct connections *c, int peer)
{
    return c->fd[peer] >= 0 && peer != c->owner && !control_owns(c->control, peer);
}

double connections_due(const struct connections *c)
{
    double due = c->rests_until > 0 ? c->rests_until : INFINITY;
    if (c->ration.rest_until > 0)
        due = fmin(due, c->ration.rest_until);
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (is_idle(c, i) && c->heard_at[i] + CONNECTIONS_IDLE_S < due)
            due = c->heard_at[i] + CONNECTIONS_IDLE_S;
    return due;
}

int connections_polls(struct connections *c, double now, struct pollfd *polls)
{
    const bool rests = ration_rests(&c->ration, now);
    int n = 0;
    if (c->listener >= 0 && now >= c->rests_until && !rests)
        polls[n++] = (struct pollfd){.fd = c->listener, .events = POLLIN};
    for (int i = 0; i < CONTROL_PEERS; i++) {
        size_t said = 0;
        if (c->fd[i] < 0 || (rests && i != c->owner))
            continue;
        (void)control_to_send(c->control, i, &said);
        polls[n++] =
            (struct pollfd){.fd = c->fd[i], .events = (short)(POLLIN | (said ? POLLOUT : 0))};
    }
    return n;
}

/* Returns the listener's events. */
static short sort_events(const struct connections *c, const struct pollfd *polls, int n,
                         short *ready)
{
    short come = 0;
    for (int k = 0; k < n; k++) {
        int peer = 0;
        if (!polls[k].revents)
            continue;
        while (peer < CONTROL_PEERS && c->fd[peer] != polls[k].fd)
            peer++;
        if (peer < CONTROL_PEERS)
            ready[peer] = polls[k].revents;
        else
            come = polls[k].revents;
    }
    return come;
}

static int serve_peer(struct connections *c, int peer, short ready, double now)
{
    if (ready & POLLOUT && send_said(c, peer))
        return end(c, peer);
    return ready & ~POLLOUT ? listen_to(c, peer, now) : 0;
}

static double start_of(const struct connections *c, int peer)
{
    return fmax(c->served[peer], c->served_to);
}

static bool is_before(const struct connections *c, int a, int b)
{
    const double at = start_of(c, a), other = start_of(c, b);
    return at < other || (at == other && c->served[a] < c->served[b]);
}

static int next_peer(const struct connections *c, const short *ready)
{
    int next = -1;
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (ready[i] && (next < 0 || is_before(c, i, next)))
            next = i;
    return next;
}

/* Peers that the ration excludes stay ready. */
static int serve_ration(struct connections *c, short *ready, double now)
{
    double before = c->clock(), after;
    for (int peer; (peer = next_peer(c, ready)) >= 0; before = after) {
        TRY(serve_peer(c, peer, ready[peer], now));
        ready[peer] = 0;
        after = c->clock();
        c->served_to = start_of(c, peer);
        c->served[peer] = c->served_to + ration_took(before, after);
        if (ration_is_spent(&c->ration, after))
            break;
    }
    return 0;
}

static int serve_strangers(struct connections *c, short *ready, bool come, double now)
{
    const bool any = come || next_peer(c, ready) >= 0;
    ration_begin(&c->ration, c->clock());
    TRY(serve_ration(c, ready, now));
    for (int i = 0; i < CONTROL_PEERS; i++)
        if (is_idle(c, i) && !ready[i] && now >= c->heard_at[i] + CONNECTIONS_IDLE_S)
            TRY(end(c, i));
    if (come)
        welcome(c, now);
    if (any)
        ration_end(&c->ration, c->clock());
    return 0;
}

int connections_serve(struct connections *c, const struct pollfd *polls, int n, double now)
{
    short ready[CONTROL_PEERS] = {0};
    const short come = sort_events(c, polls, n, ready);
    if (now >= c->rests_until)
        c->rests_until = 0;
    if (c->owner >= 0 && ready[c->owner]) {
        TRY(serve_peer(c, c->owner, ready[c->owner], now));
        ready[c->owner] = 0;
    }
    return c->ration.rest_until > 0 ? 0 : serve_strangers(c, ready, come, now);
}
